// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// leaderless starts at once after a crash, which otherwise takes as long as the lease.
const leaderless = "--leader-elect=false"

// ledger is a rig on a cluster of its own that keeps account of what the sync writes.
type ledger struct {
	*rig
	log   *auditlog.Log // nil where nobody keeps account
	whole *testing.T
}

func (l *ledger) on(t *testing.T) *ledger {
	r := *l.rig
	r.t, r.WithT = t, gomega.NewWithT(t)
	return &ledger{&r, l.log, l.whole}
}

// start starts the sync again; it ends with the whole test.
func (l *ledger) start(args ...string) { l.Sync = l.StartSync(l.whole, args...) }

// writes are those of the sync, whoever it acts as, but for its lease and what it tells
// of that.
func (l *ledger) writes() (out []string) {
	l.t.Helper()
	if l.log == nil {
		return nil // nobody keeps account
	}
	events, err := l.log.Events()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range events {
		if o := e.ObjectRef; o != nil && o.Namespace != manager.Namespace && !strings.HasPrefix(o.APIGroup, "auth") {
			what := fmt.Sprintf("%s %s %s/%s %d", e.Verb, strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"), o.Namespace, o.Name, e.ResponseStatus.Code)
			if strings.Contains(e.RequestURI, "dryRun=All") {
				what += dry
			}
			out = append(out, what)
		}
	}
	return out
}

// dry is said of requests that would write, and do not.
const dry = " (dry run)"

func isDry(write string) bool { return strings.HasSuffix(write, dry) }

// calm waits until nothing is written for a while, and returns how much was until then.
func (l *ledger) calm() int {
	l.t.Helper()
	if l.log == nil {
		return 0
	}
	before := -1
	l.Eventually(func() bool {
		now := len(l.writes())
		same := now == before
		before = now
		return same
	}, within, "4s").Should(gomega.BeTrue(), "something is written again and again")
	return before
}

// What the configuration says of RootSyncs, while the sync runs and from a start on.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	l := &ledger{newRig(t, testkit.New(t, testkit.Options{NoManager: true})), nil, t}
	l.start(leaderless)
	t.Run("who would be cluster-admin is refused where it says so", func(t *testing.T) { l.on(t).mustNameRoles() })
	t.Run("a scope that shrinks and grows", func(t *testing.T) { l.on(t).bounded() })
	t.Run("one that is deleted while the sync does not run leaves what others declare and use", func(t *testing.T) { l.on(t).removedAtAStart() })
}

func TestOwnCluster(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	log, options, err := auditlog.New(t.TempDir(), auditv1.PolicyRule{
		Level: auditv1.LevelMetadata, Users: []string{"system:serviceaccount:" + manager.Namespace + ":holdfast-sync"},
		Verbs: []string{"create", "update", "patch", "delete", "deletecollection"},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := testkit.New(t, testkit.Options{Cluster: options})
	l := &ledger{newRig(t, e), log, t}
	l.served = true
	l.start(leaderless)
	t.Run("killed at random during many commits nothing is lost and nothing is left", func(t *testing.T) { l.on(t).crashes() })
	t.Run("three that come in any order while it is down", func(t *testing.T) { l.on(t).arrive() })
	t.Run("two that declare one namespace, and a start", func(t *testing.T) { l.on(t).contests() })
	t.Run("namespaces do not all go at once, and a restart does not change that", func(t *testing.T) { l.on(t).empties() })
	t.Run("who cannot say what it wants after a start keeps its namespaces", func(t *testing.T) { l.on(t).silent() })
	t.Run("who has something in a namespace keeps it from going, though nobody knows what it wants", func(t *testing.T) { l.on(t).silentUser() })
	t.Run("what Config Sync has left is taken over and not written", func(t *testing.T) { l.on(t).takesOver() })
	t.Run("an API whose server comes later, and goes", func(t *testing.T) { l.on(t).aggregates() })
	t.Run("who gets no answer from its source after a start keeps its objects", func(t *testing.T) { l.on(t).hanging() })
	t.Run("rights are asked for only where RootSyncs contend", func(t *testing.T) { l.on(t).reviewed() })
	t.Run("a scope that shrinks and grows", func(t *testing.T) { l.on(t).bounded() })
	t.Run("claims that are switched off", func(t *testing.T) { l.on(t).unclaimed() })
	t.Run("Config Sync that comes to run beside it ends it", func(t *testing.T) { l.on(t).beside() })
	t.Run("a start while another holds the lease", func(t *testing.T) { l.on(t).leases() })
	// From here on each start has a hundred more to look at, so what they are not for comes before.
	t.Run("a hundred in the same namespaces do not fight", func(t *testing.T) { l.on(t).hundred() })
	t.Run("a restart of those who have nothing to do writes nothing", func(t *testing.T) {
		l := l.on(t)
		// The watch of a kind that comes later ends with the process too.
		l.syncOf("w", ns("w")+strings.ReplaceAll(l.crd()+l.widget("w", "one"), l.prefix+".example", l.prefix+".w.example"))
		for _, end := range []func(*manager.Process) error{(*manager.Process).Stop, (*manager.Process).Kill} {
			before, all := l.calm(), len(l.managed())
			l.Expect(end(l.Sync)).To(gomega.Succeed())
			l.start(leaderless)
			// Each object is looked at by a dry run, and then by nothing.
			l.Eventually(func() int { return len(l.writes()) - before }, within, "1s").Should(gomega.BeNumerically(">=", all))
			l.calm()
			if wrote := slices.DeleteFunc(l.writes()[before:], isDry); len(wrote) > 0 {
				t.Errorf("%d writes, such as\n%s", len(wrote), strings.Join(wrote[:min(len(wrote), 20)], "\n"))
			}
		}
	})
	t.Run("a restart of those who have errors writes nothing", func(t *testing.T) { l.on(t).wrongAgain() })
}

// empties has a source lose all of its namespaces.
func (l *ledger) empties() {
	safety := ns("safety")
	l.syncOf("g", ns("g1")+ns("g2")+safety+cm("g1", "one", "1"))
	for range 2 {
		l.commit("g", "none.txt", "")
		l.says("g", "KNV2006: New commit would delete all Namespaces [{g1} {g2} {safety}]. If this is not a mistake")
		l.Expect(l.Sync.Kill()).To(gomega.Succeed())
		l.start(leaderless)
	}
	l.says("g", "KNV2006: ")
	// What is there is cared for meanwhile.
	for _, name := range []string{"g1", "g2", "safety"} {
		l.manager("ns", name, "g")
	}
	l.manager("cm", "g1/one", "g")
	l.synced("g", l.commit("g", "x.yaml", safety))
	l.manager("ns", "g1", "-")
	l.manager("ns", "g2", "-")
	l.synced("g", l.commit("g", "none.txt", ""))
	l.manager("ns", "safety", "-")
}

// silent has the branch of one that declares a namespace be gone when the sync starts.
func (l *ledger) silent() {
	declared := l.syncOf("d", ns("q")+cm("q", "of-d", "1"))
	used := l.syncOf("u", cm("q", "of-u", "1"))
	l.manager("ns", "q", "d")
	before := l.calm()
	version := l.object("ns", "q").GetResourceVersion()
	l.repo("d").Drop(l.t)
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless)
	l.says("d", "KNV2004: ")
	// The other goes on, and nobody takes the namespace.
	l.Eventually(func() int { return len(l.writes()) - before }, within, "1s").Should(gomega.BeNumerically(">", 1))
	l.synced("u", used)
	l.delete("cm", "q/of-u")
	l.manager("cm", "q/of-u", "u")
	l.calm()
	l.Expect(l.object("ns", "q").GetResourceVersion()).To(gomega.Equal(version))
	l.repo("d").Reset(l.t, declared)
	l.synced("d", declared)
	l.Expect(l.object("ns", "q").GetResourceVersion()).To(gomega.Equal(version))
}

// silentUser has the branch of one that claims nothing, and uses a namespace, be gone
// when the sync starts.
func (l *ledger) silentUser() {
	l.syncOf("de", ns("k"))
	used := l.syncOf("us", cm("k", "of-us", "1"), "  override: {namespaceStrategy: explicit}")
	l.repo("us").Drop(l.t)
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.start(leaderless)
	l.says("us", "KNV2004: ")
	l.commit("de", "none.txt", "")
	l.says("de", "namespace still in use: {k}, by RootSync {us}")
	l.manager("cm", "k/of-us", "us")
	l.repo("us").Reset(l.t, used)
	l.synced("us", used)
	l.synced("de", l.commit("de", "x.yaml", ns("k")))
}

// removedAtAStart deletes a RootSync with what it has while the sync does not run. Another declares one of its objects, and has
// an object of a kind that it defines.
func (l *ledger) removedAtAStart() {
	l.syncOf("rd", ns("rs")+l.crd()+cm("rs", "both", "1")+cm("rs", "own", "1"))
	l.commit("ru", "x.yaml", cm("rs", "both", "1")+l.widget("rs", "one"))
	l.sync("ru")
	l.says("ru", "KNV1060: ")
	l.Eventually(l.widgets, within, often).ShouldNot(gomega.BeEmpty())
	both, widgets := l.object("cm", "rs/both").GetUID(), l.widgets()
	l.annotate("rd", foreground)
	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	l.Expect(l.Client.Delete(l.t.Context(), l.rootSync("rd"))).To(gomega.Succeed())
	l.start(leaderless)
	l.manager("cm", "rs/both", "ru")
	l.manager("cm", "rs/own", "-")
	l.failing("rd", "kind still in use: widgets."+l.prefix+".example.com, by RootSync {ru}")
	l.Expect(l.object("cm", "rs/both").GetUID()).To(gomega.Equal(both))
	l.Expect(l.widgets()).To(gomega.Equal(widgets))
	l.annotate("ru", foreground)
	l.deleted("ru")
	l.gone("rd")
}

// hanging has the source of the older of two that declare an object answer nothing when the
// sync starts: the younger one goes on after a while, and takes nothing.
func (l *ledger) hanging() {
	slow := *l.rig
	slow.git, slow.served = gitserver.Start(l.t, gitserver.Options{}), true
	older := slow.commit("ho", "x.yaml", ns("hh")+cm("hh", "one", "older"))
	slow.sync("ho")
	l.synced("ho", older)
	l.commit("hy", "x.yaml", cm("hh", "one", "younger")+cm("hh", "two", "1"))
	l.sync("hy")
	l.says("hy", "KNV1060: ")
	l.value("hh/two", "1")
	l.calm()
	version := l.object("cm", "hh/one").GetResourceVersion()

	l.Expect(l.Sync.Kill()).To(gomega.Succeed())
	slow.git.SetFault(gitserver.Fault{Stall: true})
	l.commit("hy", "x.yaml", cm("hh", "one", "younger")+cm("hh", "two", "2"))
	l.start(leaderless)
	l.value("hh/two", "2")
	l.says("hy", "KNV1060: ")
	l.Expect(l.object("cm", "hh/one").GetResourceVersion()).To(gomega.Equal(version))

	slow.git.SetFault(gitserver.Fault{})
	l.synced("ho", slow.commit("ho", "x.yaml", ns("hh")+cm("hh", "one", "newer")))
	l.value("hh/one", "newer")
	l.manager("cm", "hh/one", "ho")
	// What comes later has no conflict to look at, and no repository that is not served.
	l.synced("hy", l.commit("hy", "x.yaml", cm("hh", "two", "2")))
	l.deleted("ho")
}

// share is what RootSync i of a hundred has: objects in namespaces that others use too.
func share(i int) string {
	text := cm(fmt.Sprintf("s%d", i%10), fmt.Sprintf("x%d", i), "1") + cm(fmt.Sprintf("s%d", (i*7+3)%10), fmt.Sprintf("y%d", i), "1")
	if i%20 == 0 {
		text += ns(fmt.Sprintf("s%d", i/20)) // half of the namespaces are declared by somebody
	}
	return text
}

// hundredPeriod is how often they ask for it.
const hundredPeriod = 2 * time.Second

// hundred makes 100 RootSyncs of one repository.
func (l *ledger) hundred() {
	const many = 100
	files := map[string]string{}
	for i := range many {
		files[fmt.Sprintf("%d/x.yaml", i)] = l.long(share(i))
	}
	commit := l.repo("hundred").Commit(l.t, files)
	for i := range many {
		rs := &configsyncv1beta1.RootSync{ObjectMeta: metav1.ObjectMeta{Namespace: object.SyncNamespace, Name: l.name(fmt.Sprintf("h%d", i))}}
		rs.Spec = configsyncv1beta1.RootSyncSpec{SourceFormat: "unstructured", Git: &configsyncv1beta1.Git{
			Repo: l.repo("hundred").URL(), Branch: "main", Auth: configsyncv1beta1.AuthNone, Period: hundredPeriod.String(), Dir: fmt.Sprint(i),
		}}
		if i%3 == 1 {
			rs.Spec.Override = &configsyncv1beta1.Override{NamespaceStrategy: configsyncv1beta1.NamespacesExplicit}
		}
		l.Expect(l.Client.Create(l.t.Context(), rs)).To(gomega.Succeed())
	}
	// Whoever waits for the first of them waits for most of what there is to do for all.
	l.Eventually(func() int { return l.countSynced(commit) }, "300s", "1s").Should(gomega.Equal(many))
	for i := range many {
		l.synced(fmt.Sprintf("h%d", i), commit)
	}
	before := l.calm()
	versions, looks, began := l.versions(), l.repo("hundred").Counts().Lists, time.Now()
	l.Consistently(func() []string { return l.writes()[before:] }, "6s", "1s").Should(gomega.BeEmpty())
	l.Expect(l.versions()).To(gomega.Equal(versions))
	// Each period has one look for all: on a slow machine there were more than three periods.
	if n, most := l.repo("hundred").Counts().Lists-looks, int(time.Since(began)/hundredPeriod)+2; n < 1 || n > most {
		l.t.Errorf("the repository was asked %d times, and not %d", n, most)
	}
	// What is none of theirs is left, and costs nothing.
	l.patch("cm", "s0/x0", `{"data":{"w":"mine"},"metadata":{"labels":{"mine":"x"}}}`)
	l.patch("ns", "s0", `{"metadata":{"labels":{"mine":"x"}}}`)
	l.Consistently(func() []string { return l.writes()[before:] }, "3s", "1s").Should(gomega.BeEmpty())
	for i := range 5 {
		l.manager("ns", fmt.Sprintf("s%d", i), fmt.Sprintf("h%d", i*20))
	}
}

// countSynced is how many RootSyncs have synced a commit.
func (l *ledger) countSynced(commit string) (n int) {
	var all configsyncv1beta1.RootSyncList
	l.Expect(l.Client.List(l.t.Context(), &all, client.InNamespace(object.SyncNamespace))).To(gomega.Succeed())
	for i := range all.Items {
		if all.Items[i].Status.LastSyncedCommit == commit {
			n++
		}
	}
	return n
}

// versions are those of all objects of RootSyncs.
func (l *ledger) versions() map[string]string {
	out := map[string]string{}
	for at, o := range l.managed() {
		out[at] = o.identity()
	}
	return out
}

// kept is an object as the cluster has it.
type kept struct {
	metav1.PartialObjectMetadata
	id object.ID
}

func (k kept) identity() string { return string(k.UID) + " " + k.ResourceVersion }

// managed are the objects that any RootSync of the test manages, by what they are.
func (l *ledger) managed() map[string]kept {
	l.t.Helper()
	out := map[string]kept{}
	for _, kind := range []string{"cm", "ns", "role"} {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(kinds[kind])
		if err := l.Client.List(l.t.Context(), &list, client.HasLabels{object.LabelPartOf}); err != nil {
			l.t.Fatal(err)
		}
		for _, o := range list.Items {
			id := object.ID{Group: kinds[kind].Group, Kind: kinds[kind].Kind, Namespace: o.Namespace, Name: o.Name}
			out[id.String()] = kept{o, id}
		}
	}
	return out
}
