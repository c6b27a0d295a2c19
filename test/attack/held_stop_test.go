// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// stops are the attempts that need an installation of their own, one after the other: they restart it, change its configuration
// or stop it. A manager that they start ends with the whole test.
func stops(whole *testing.T) []scenario {
	return []scenario{
		{62, "the configuration changed, deleted, and given an owner that does not exist", changedConfiguration},
		{58, "a binding deleted, and what it protects at once", deletedBinding},
		{43, "a definition whose stored version is removed, after a restart", func(r *rig) { removedVersion(whole, r) }},
		{78, "a Secret over a protected one of the child", func(r *rig) { secretOverProtected(whole, r) }},
		{86, "repo file:///etc", fileAsSource},
		{88, "no roleRefs where they are required", withoutRoles},
		{111, "stopped while the controller manager is frozen", func(r *rig) {
			resume, err := r.PauseControllerManager()
			if err != nil {
				r.T.Fatal(err)
			}
			defer func() {
				if err := resume(); err != nil {
					r.T.Error(err)
				}
			}()
			r.stop("")
		}},
		{115, "installed again", reinstalled},
		{113, "stopped in the foreground", func(r *rig) { r.stop("--cascade=foreground") }},
		{115, "installed again, with a finalizer on the anchor", func(r *rig) {
			r.makeAnchor("finalizers: [example.com/never]")
			r.enforced()
		}},
		{114, "stopped with a finalizer on the anchor", func(r *rig) {
			r.stop("--wait=false")
			if !r.state("clusterrole " + v1alpha1.AnchorName).Terminating {
				r.T.Error("the anchor is not being deleted")
			}
			r.do("", "patch clusterrole "+v1alpha1.AnchorName+` --type=merge -p {"metadata":{"finalizers":null}}`, "")
		}},
		{115, "installed again, after that", reinstalled},
	}
}

func TestHeld_stops(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{
		Manifests:   []string{"config/crd/hnc", "config/rbac/hierarchy.yaml"},
		ManagerArgs: []string{"--leader-elect=false"},
	})
	r := &rig{story.On(t, e, e.Namespace(t))}
	r.cast("nsadmin", "wide", "crdop", "exown", "sysed")
	r.configure("hierarchy: {mode: Enforce, brake: {percent: 100}}")
	r.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: "{shop}", labels: {` + protected + `}}}`)
	e.StartSync(t, "--config", bounded(t), "--leader-elect=false")
	for _, s := range stops(t) {
		t.Run(fmt.Sprintf("%d %s", s.number, s.name), func(t *testing.T) { s.try(r.in(t)) })
	}
}

func (r *rig) configure(text string) {
	r.T.Helper()
	r.do("", "apply --server-side --force-conflicts -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: holdfast, namespace: holdfast-system}\ndata:\n  config.yaml: |\n    "+
		"apiVersion: config.holdfast.dev/v1alpha1\n    kind: HoldfastConfiguration\n    "+text+"\n")
}

// stop does what the runbook says, and returns when nothing is in force or left.
func (r *rig) stop(how string) {
	r.T.Helper()
	r.do("", "annotate clusterrole "+v1alpha1.AnchorName+" "+v1alpha1.StopAnnotation+"="+v1alpha1.AnchorName, "")
	r.Expect(r.as("", "delete clusterrole "+v1alpha1.AnchorName+" "+how, "").Stderr).To(gomega.BeEmpty())
	if err := r.WaitNotEnforced(r.T.Context()); err != nil {
		r.T.Error(err)
	}
	r.See("validatingadmissionpolicies,validatingadmissionpolicybindings,validatingwebhookconfigurations,mutatingwebhookconfigurations -l app.kubernetes.io/managed-by=holdfast -o name", "")
	r.do("wide", "delete cm kept -n {shop} --dry-run=server", "")
}

func (r *rig) makeAnchor(meta string) {
	r.T.Helper()
	r.do("", "create -f -", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: `+v1alpha1.AnchorName+`, `+meta+`}, rules: []}`)
}

func reinstalled(r *rig) {
	r.makeAnchor("")
	r.enforced()
}

// enforced waits until all rules are in force again.
func (r *rig) enforced() {
	r.T.Helper()
	if err := r.WaitEnforced(r.T.Context()); err != nil {
		r.T.Error(err)
	}
	before := r.state("cm kept -n {shop}")
	for _, line := range []string{"delete cm kept -n {shop}", "label cm kept -n {shop} holdfast.dev/deletion-protected-"} {
		r.Expect(r.as("wide", line, "").Code).NotTo(gomega.BeZero(), line)
	}
	r.same("cm kept -n {shop}", before)
}

// restart ends the manager and starts it again, and returns when it has marked something new.
func (r *rig) restart(whole *testing.T, between func()) {
	r.T.Helper()
	if err := r.Manager.Kill(); err != nil {
		r.T.Fatal(err)
	}
	between()
	r.Manager = r.StartManager(whole)
	fresh := r.Namespace(r.T)
	r.do("", "create -f -", `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: `+fresh+`, labels: {`+protected+`}}}`)
	r.See("ns "+fresh+` -o jsonpath={.metadata.labels.holdfast\.dev/holds-protected}`, "true")
}

// changedConfiguration is by sysed, who may edit in holdfast-system.
func changedConfiguration(r *rig) {
	const configuration = "cm holdfast -n holdfast-system"
	before := r.state(configuration)
	data := r.get(configuration + " -o jsonpath={.data}")
	for _, line := range []string{
		`patch cm holdfast -n holdfast-system --type=merge -p {"data":{"config.yaml":"{\"apiVersion\":\"config.holdfast.dev/v1alpha1\",\"kind\":\"HoldfastConfiguration\",\"deletion\":{\"mode\":\"Off\"}}"}}`, "delete cm holdfast -n holdfast-system",
		"delete --raw /api/v1/namespaces/holdfast-system/configmaps?fieldSelector=metadata.name%3Dholdfast",
	} {
		r.Expect(r.as("sysed", line, "").Stderr).To(gomega.ContainSubstring("can turn every protection off"), line)
	}
	owner := ` --type=merge -p {"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"` + anotherUID + `"}]}}`
	r.as("sysed", "patch cm holdfast -n holdfast-system"+owner, "") // refused or not
	// The garbage collector looks at those with an owner that does not exist.
	r.do("", "create cm canary -n holdfast-system", "")
	r.do("", "patch cm canary -n holdfast-system"+owner, "")
	r.See("cm canary -n holdfast-system -o name", "")
	after := r.state(configuration)
	if after.UID != before.UID || after.Terminating {
		r.T.Errorf("the configuration was %+v, and is %+v", before, after)
	}
	r.Expect(r.get(configuration + " -o jsonpath={.data}")).To(gomega.Equal(data))
	r.do("", `patch cm holdfast -n holdfast-system --type=merge -p {"metadata":{"ownerReferences":null}}`, "")
}

// deletedBinding deletes a binding, which no rule of the API prevents: Holdfast restores it. The API server reads its bindings once
// a second, so that some deletions may pass before.
func deletedBinding(r *rig) {
	const binding = "validatingadmissionpolicybinding holdfast-deletion-holdfast"
	before, c, passed := r.state(binding), r.As(r.T, r.user("wide")), 0
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Long("{shop}"), Name: "kept"}}
	r.do("wide", "delete "+binding, "")
	r.Eventually(func() (string, error) {
		for range 50 {
			err := c.Delete(r.T.Context(), kept.DeepCopy(), client.DryRunAll)
			if err == nil {
				passed++
			} else if !apierrors.IsForbidden(err) {
				return "", err
			}
		}
		return r.get(binding + " -o jsonpath={.metadata.uid}"), nil
	}, story.Patience, "1ms").ShouldNot(gomega.Or(gomega.BeEmpty(), gomega.Equal(string(before.UID))))
	r.T.Logf("%d dry runs of a deletion passed", passed)
	r.enforced()
}

// removedVersion has an object that nobody can read any more.
func removedVersion(whole *testing.T, r *rig) {
	crd := r.Long("widgets.{shop}.ex.io")
	v1, v2 := version("v1", "storage: true"), version("v2", "storage: true")
	r.Apply(heldWidgets(v1))
	r.do("exown", "create -f -", heldWidget)
	r.See("crd "+crd+` -o jsonpath={.metadata.labels.holdfast\.dev/holds-protected}`, "true")
	before := r.state("crd " + crd)
	for _, step := range []struct{ line, input string }{
		{"apply --server-side --force-conflicts -f -", heldWidgets(version("v1", "storage: false") + ", " + v2)},
		{"patch crd " + crd + ` --subresource=status --type=merge -p {"status":{"storedVersions":["v2"]}}`, ""},
		{"apply --server-side --force-conflicts -f -", heldWidgets(v2)},
	} {
		r.as("crdop", step.line, step.input) // refused or not
	}
	r.restart(whole, func() {})
	r.as("crdop", "annotate crd "+crd+" "+v1alpha1.DeleteUncheckedAnnotation+"="+crd, "") // refused or not
	r.Expect(r.as("crdop", "delete crd "+crd+" --wait=false", "").Code).NotTo(gomega.BeZero())
	after := r.state("crd " + crd)
	if after.UID != before.UID || after.Terminating || after.Labels[v1alpha1.HoldsProtectedMark] != "true" {
		r.T.Errorf("the definition was %+v and is %+v", before, after)
	}
	r.do("", "apply --server-side --force-conflicts -f -", heldWidgets(version("v1", "storage: false")+", "+v2))
	r.See("widgets.v1.{shop}.ex.io one -n {shop} -o jsonpath={.metadata.name}", "one")
}

// secretOverProtected has Secrets copied down a tree, to a namespace that has a protected one of the name.
func secretOverProtected(whole *testing.T, r *rig) {
	const kept = "secret keep -n {child}"
	r.Apply(`{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HNCConfiguration, metadata: {name: config}, spec: {resources: [{resource: secrets, mode: Propagate}]}}` + "\n---\n" +
		namespace("{child}") + hierarchy("{child}", "{shop}") +
		`{apiVersion: v1, kind: Secret, metadata: {name: keep, namespace: "{child}", labels: {` + protected + "}}, stringData: {of: child}}\n---\n")
	r.copied("before")
	before := r.state(kept)
	secret := `{apiVersion: v1, kind: Secret, metadata: {name: keep, namespace: "{shop}"}, stringData: {of: parent}}`
	try := func() string {
		return r.as("nsadmin", "create -f -", secret).Stderr
	}
	if said := try(); !strings.Contains(said, "would take the place of others") {
		r.T.Errorf("it is not refused: %s", said)
	}
	r.restart(whole, func() {
		if said := try(); said != "" {
			r.T.Errorf("while no replica answers, a webhook that fails open refuses: %s", said)
		}
	})
	r.copied("after")
	r.same(kept, before)
	r.Expect(r.get(kept + " -o jsonpath={.data.of}")).To(gomega.Equal(base64.StdEncoding.EncodeToString([]byte("child"))))
}

// copied waits until a new Secret of shop is in child.
func (r *rig) copied(name string) {
	r.T.Helper()
	r.Apply(`{apiVersion: v1, kind: Secret, metadata: {name: ` + name + `, namespace: "{shop}"}}`)
	r.See("secret "+name+" -n {child} -o name", "secret/"+name+"\n")
}

func fileAsSource(r *rig) {
	r.rootSync("file", story.Syncs, "repo: file:///etc", edits("{shop}"))
	r.Eventually(func() string { return r.State("file") }, story.Patience, story.Often).Should(gomega.ContainSubstring("a folder of the machine that Holdfast runs on is no source"))
}

func withoutRoles(r *rig) {
	repo := gitserver.Start(r.T, gitserver.Options{}).Repo(r.T, "r")
	repo.Commit(r.T, map[string]string{"x.yaml": r.Long(cm("{shop}", "unbounded"))})
	r.rootSync("unbounded", story.Syncs, "repo: "+repo.URL(), noRoles)
	r.Eventually(func() string { return r.State("unbounded") }, story.Patience, story.Often).Should(gomega.ContainSubstring("must name their roles in spec.override.roleRefs"))
	r.See("cm unbounded -n {shop} -o name", "")
}

// bounded is the configuration of the sync.
func bounded(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\nrootSync: {requireRoleRefs: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
