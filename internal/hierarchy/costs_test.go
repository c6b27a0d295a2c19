// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// own is a rig on a cluster of the test's own, with what trees need, and without a
// manager.
func own(t testing.TB, o cluster.Options) *rig {
	t.Helper()
	// The test takes CRDs away, and they are to stay away until it brings them back.
	e := testkit.New(t, testkit.Options{NoManager: true, Cluster: o, ManagerArgs: []string{"--apply-crds=false"}})
	for _, path := range []string{"config/crd/hnc", "config/rbac/hierarchy.yaml"} {
		if _, err := manager.Kubectl(t.Context(), e.Cluster, "apply", "--server-side", "-f", path); err != nil {
			t.Fatal(err)
		}
	}
	return rigIn(t, e, "")
}

// ledger knows what Holdfast has written.
type ledger struct {
	*rig
	log *auditlog.Log
}

// events are the requests of Holdfast.
func (l *ledger) events() []auditv1.Event {
	l.t.Helper()
	events, err := l.log.Events()
	if err != nil {
		l.t.Fatal(err)
	}
	return events
}

// reads are the requests that read some resource.
func (l *ledger) reads(resource string) (n int) {
	l.t.Helper()
	for _, e := range l.events() {
		if o := e.ObjectRef; o != nil && o.Resource == resource && (e.Verb == "get" || e.Verb == "list") {
			n++
		}
	}
	return n
}

// writes are the requests of Holdfast that wrote anything but what is its own: the
// leader's lease, its status and what it has in the API server.
func (l *ledger) writes() (out []string) {
	l.t.Helper()
	for _, e := range l.events() {
		if o := e.ObjectRef; e.ResponseStatus.Code < 300 && o != nil && e.Verb != "get" && e.Verb != "list" && !its(o) {
			out = append(out, fmt.Sprintf("%s %s %s/%s", e.Verb, o.Resource+o.Subresource, o.Namespace, o.Name))
		}
	}
	return out
}

func its(o *auditv1.ObjectReference) bool {
	return o.Namespace == manager.Namespace || o.Name == "holdfast-anchor" || o.Resource == "events" && strings.HasPrefix(o.Name, "holdfast.") ||
		slices.Contains([]string{"admissionregistration.k8s.io", "holdfast.dev", "authentication.k8s.io", "authorization.k8s.io"}, o.APIGroup)
}

// decided is how many places for copies have been looked at since the start.
func (l *ledger) decided() float64 {
	l.t.Helper()
	return l.Metric(l.t, "holdfast_hierarchy_copies_decided_total")
}

// start starts a manager, and returns once it has looked at all copies.
func (l *ledger) start(args []string) {
	l.t.Helper()
	l.Manager = l.StartManager(l.whole, args...)
	l.Eventually(l.decided, patience, often).Should(gomega.BeNumerically(">=", copiesOfRoot))
	l.Eventually(l.quiet, patience, "300ms").Should(gomega.BeTrue())
}

// quiet says whether nothing has been looked at, or written, for a moment.
func (l *ledger) quiet() bool {
	before, wrote := l.decided(), len(l.writes())
	still := true
	l.Consistently(func() bool { still = still && l.decided() == before && len(l.writes()) == wrote; return true }, "1s", "250ms").Should(gomega.BeTrue())
	return still
}

// since are the writes that came after some.
func (l *ledger) since(before int) []string { return l.writes()[before:] }

// What a healthy cluster of HNC 1.1 costs when Holdfast takes it over, is restarted,
// has nothing to do, and has one more namespace to care for.
func TestCosts(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	log, options, err := auditlog.New(t.TempDir(), auditv1.PolicyRule{
		Level: auditv1.LevelMetadata, Users: []string{guard}, Verbs: []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"},
	})
	if err != nil {
		t.Fatal(err)
	}
	options.ControllerManagerArgs = []string{"--kube-api-qps=1000", "--kube-api-burst=1000"}
	l := &ledger{own(t, options), log}
	l.whole = t
	l.asHNCLeftIt()
	args := configurationOf(t, `hierarchy: {mode: Enforce, managedLabels: [team.example.com/.*], strippedAnnotations: [example.com/stripped]}`)

	t.Run("taking over what HNC left writes nothing", func(t *testing.T) {
		l.on(t).start(args)
		if wrote := l.writes(); len(wrote) > 0 {
			t.Errorf("%d writes, such as %v", len(wrote), wrote[:min(20, len(wrote))])
		}
	})
	t.Run("weak point 17: a start reads namespaces and CRDs in lists, and not one by one", func(t *testing.T) {
		l := l.on(t)
		for resource, most := range map[string]int{"namespaces": 20, "customresourcedefinitions": 20, "hierarchyconfigurations": 5, "subnamespaceanchors": 5} {
			if n := l.reads(resource); n > most {
				t.Errorf("%d reads of %s, want %d at most", n, resource, most)
			}
		}
		if l.reads("leases") == 0 {
			t.Error("reads are not in the log")
		}
	})
	t.Run("weak point 1: restarts delete and write nothing", func(t *testing.T) {
		for _, end := range []func(*manager.Process) error{(*manager.Process).Stop, (*manager.Process).Kill} {
			if err := end(l.Manager); err != nil {
				t.Fatal(err)
			}
			before := len(l.writes())
			l.on(t).start(args)
			if wrote := l.since(before); len(wrote) > 0 {
				t.Errorf("%d writes, such as %v", len(wrote), wrote[:min(20, len(wrote))])
			}
		}
	})
	t.Run("weak point 18: an idle cluster sees no write", func(t *testing.T) {
		l := l.on(t)
		before := len(l.writes())
		l.Consistently(func() []string { return l.since(before) }, "12s", "1s").Should(gomega.BeEmpty())
	})
	t.Run("weak point 13: changes that mean nothing are answered with no write", l.changesThatMeanNothing)
	t.Run("weak point 14: a new child costs its own copies, not those of the others", l.newChild)
	t.Run("weak points 20 and 21: a deep tree costs one namespace where one is added", l.deepTree)
}

// on is the same ledger for a part of the test.
func (l *ledger) on(t *testing.T) *ledger {
	on, with := *l.rig, *l
	on.t, on.WithT = t, gomega.NewWithT(t)
	with.rig = &on
	t.Cleanup(func() { l.Manager = on.Manager })
	return &with
}

func (l *ledger) changesThatMeanNothing(t *testing.T) {
	l = l.on(t)
	before := len(l.writes())
	l.run(`
		set ns root {"metadata":{"annotations":{"note":"1"}}}
		set ns child-000 {"metadata":{"annotations":{"note":"1"}}}
		set hc root {"metadata":{"annotations":{"note":"1"}}}
		set hc child-000 {"metadata":{"labels":{"note":"1"}}}
		set anchor root/sub-1 {"metadata":{"labels":{"note":"1"}}}
		set hnc config {"metadata":{"labels":{"note":"1"}}}
		set cm root/config-0 {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/select":"gets in (yes)"}}}
		set cm child-000/config-0 {"metadata":{"finalizers":["example.com/held"]}}
		set crd hierarchyconfigurations.hnc.x-k8s.io {"metadata":{"annotations":{"note":"1"}}}
	`)
	l.Eventually(l.quiet, patience, "300ms").Should(gomega.BeTrue())
	if diff := gocmp.Diff([]string(nil), l.since(before)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	// It was looked at: what means something is written.
	l.run(`
		set cm root/config-0 {"data":{"v":"new"}}
		see field cm child-000/config-0 data.v: new
		set cm child-000/config-0 {"metadata":{"finalizers":null}}
	`)
	l.Eventually(l.quiet, patience, "300ms").Should(gomega.BeTrue())
}

// HNC would look at each copy of each source in each descendant: 50,000 here.
func (l *ledger) newChild(t *testing.T) {
	l = l.on(t)
	before, decided := len(l.writes()), l.decided()
	l.run(`
		set ns late {"metadata":{"labels":{"gets":"yes"}}}
		parent late=root
		see complete late: True Copied
	`)
	l.Eventually(l.quiet, patience, "300ms").Should(gomega.BeTrue())
	made, other := 0, []string(nil)
	for _, w := range l.since(before) {
		if verb, at, _ := strings.Cut(w, " late/"); at != "" && slices.Contains([]string{"create roles", "create rolebindings", "create configmaps"}, verb) {
			made++
		} else {
			other = append(other, w)
		}
	}
	if made != sourcesOfRoot {
		t.Errorf("%d copies were made, want %d", made, sourcesOfRoot)
	}
	// Its labels (once as a root), those of its HierarchyConfiguration and the parent's,
	// its condition, and what is counted.
	if len(other) > 7 {
		t.Errorf("%d other writes: %v", len(other), other)
	}
	if looked := l.decided() - decided; looked > 2*sourcesOfRoot+20 {
		t.Errorf("%v places for copies were looked at for %d copies", looked, sourcesOfRoot)
	}
}

func (l *ledger) deepTree(t *testing.T) {
	l = l.on(t)
	const deep = 40
	l.run("tree deep-0")
	for i := 1; i < deep; i++ {
		l.run(fmt.Sprintf("tree deep-%d<deep-%d", i, i-1))
	}
	l.see(fmt.Sprintf("label ns deep-%d deep-0.tree.hnc.x-k8s.io/depth", deep-1), fmt.Sprint(deep-1))
	l.see(fmt.Sprintf("complete deep-%d", deep-1), "True Copied")
	l.Eventually(l.quiet, patience, "300ms").Should(gomega.BeTrue())
	before := len(l.writes())
	l.run(fmt.Sprintf("tree deep-%d<deep-%d\nsee complete deep-%d: True Copied", deep, deep-1, deep))
	l.Eventually(l.quiet, patience, "300ms").Should(gomega.BeTrue())
	if wrote := l.since(before); len(wrote) > 7 {
		t.Errorf("%d writes for one more namespace: %v", len(wrote), wrote)
	}
}
