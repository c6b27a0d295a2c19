// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// say writes the part about trees of the configuration that Holdfast reads live.
func (r *rig) say(hierarchy string) {
	r.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: manager.Namespace, Name: "holdfast"}}
	cm.Data = map[string]string{config.DataKey: config.Empty + "\nhierarchy: {" + r.long(hierarchy) + "}\n"}
	if err := r.Client.Update(r.t.Context(), cm); err != nil {
		r.t.Fatal(err)
	}
}

// TestLive is one thing after the other on a cluster that the test may break: what
// changes for all, restarts, and CRDs that go.
func TestLive(t *testing.T) {
	t.Parallel()
	var log *auditlog.Log
	var options cluster.Options
	if !testing.Short() { // one of the long parts reads it
		var err error
		if log, options, err = auditlog.New(t.TempDir(), auditv1.PolicyRule{Level: auditv1.LevelMetadata, Users: []string{guard}, Verbs: []string{"watch"}}); err != nil {
			t.Fatal(err)
		}
	}
	r := own(t, options)
	r.say("mode: Enforce")
	r.list(hncv1alpha2.ResourceSpec{Resource: "configmaps"}, hncv1alpha2.ResourceSpec{Resource: "secrets", Mode: hncv1alpha2.ModeAllowPropagate},
		hncv1alpha2.ResourceSpec{Resource: "limitranges"}, hncv1alpha2.ResourceSpec{Resource: "resourcequotas", Mode: hncv1alpha2.ModeIgnore})
	r.Grant(t, "", guard, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"limitranges", "resourcequotas"}, Verbs: []string{"*"}})
	r.Grant(t, "", guard, rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"*"}})
	r.list(hncv1alpha2.ResourceSpec{Group: "apps", Resource: "deployments"})
	r.Manager = r.StartManager(t)
	for i, part := range []struct {
		name string
		do   func(*rig)
		long bool
	}{
		{name: "settings change while Holdfast runs", do: (*rig).settingsChange},
		{name: "standing by and off, nothing is written", do: (*rig).standsBy},
		{name: "what happened while Holdfast was down is made good", do: (*rig).whileDown, long: true},
		{name: "weak point 8: without the webhooks' configurations all is copied, and they come back", do: (*rig).withoutWebhooks},
		{name: "weak point 9: many kinds come and go at once", do: (*rig).manyKinds, long: true},
		{name: "weak point 19: kinds that are not copied are not watched", do: func(r *rig) { r.watches(log) }, long: true},
		{name: "a CRD of anchors that goes deletes no subnamespace", do: (*rig).anchorsGo, long: true},
		{name: "a CRD of HierarchyConfigurations that goes changes nothing", do: (*rig).hierarchyGoes, long: true},
		{name: "all CRDs that go change nothing", do: (*rig).allGo},
		{name: "weak point 2: who does not know the trees is not ready", do: (*rig).notReady},
	} {
		t.Run(part.name, func(t *testing.T) {
			if part.long {
				testkit.Long(t)
			}
			on := *r
			on.whole = r.t
			on.t, on.WithT, on.prefix, on.fences = t, gomega.NewWithT(t), fmt.Sprintf("p%d", i), 0
			part.do(&on)
			r.Manager = on.Manager
		})
	}
}

func (r *rig) settingsChange() {
	r.run(`
		tree a b<a c<a
		put cm a/x +mine=1
		see copies cm x: a b<a c<a
		exclude c
		see labels c:
	`)
	r.say("mode: Enforce, excludedNamespaces: [{b}]")
	r.run(`
		see labels b:
		see labels c:
		set cm a/x {"data":{"v":"2"}}
		fence
		see field cm b/x data.v: -
		include c
		see labels c: a=1 c=0
		see field cm c/x data.v: 2
		see labels b:
	`)
	r.say("mode: Enforce, strippedLabels: [mine]")
	r.run(`
		see labels b: a=1 b=0
		see field cm b/x data.v: 2
		see label cm b/x mine: -
		see label cm c/x mine: -
		past set hc a {"spec":{"labels":[{"key":"team/colour","value":"red"}]}}
		see problems a: BadConfiguration/IllegalManagedLabel
		see label ns b team/colour: -
	`)
	counted := func() float64 {
		return r.Metric(r.t, "hnc_namespace_conditions", testkit.Label("Condition", "BadConfiguration"), testkit.Label("Reason", "IllegalManagedLabel"))
	}
	r.Eventually(counted, patience, often).Should(gomega.BeEquivalentTo(1))
	r.Expect(r.Metric(r.t, "workqueue_adds_total", testkit.Label("name", "hierarchy"))).To(gomega.BeNumerically(">", 0))
	r.say("mode: Enforce, managedLabels: ['team/.*']")
	r.run(`
		see problems a:
		see label ns b team/colour: red
		see label cm b/x mine: 1
	`)
	r.Eventually(counted, patience, often).Should(gomega.BeZero())
	r.say("mode: Enforce, includedNamespaces: '{a}|{b}|.*fence.*'")
	r.run(`
		see labels c:
		see labels b: a=1 b=0
	`)
	r.say("mode: Enforce")
	r.run("see labels c: a=1 c=0")
}

func (r *rig) standsBy() {
	r.run(`
		tree a b<a
		put cm a/x v=1
		see copies cm x: a b<a
		fence
	`)
	for _, still := range []string{"mode: Enforce, standBy: true", "mode: 'Off'"} {
		r.say(still)
		// Whether anything is refused tells that it was taken up.
		r.Eventually(func() string { return r.refusal("cm", "b/x") }, patience, often).Should(gomega.BeEmpty(), still)
		// Its policies have gone when it writes nothing any more but its lease.
		before := -1.0
		r.Eventually(func() float64 {
			last := before
			before = r.Writes(r.t)
			return before - last
		}, patience, "1s").Should(gomega.BeNumerically("<=", 2), still)
		r.run(`
			past set cm b/x {"data":{"v":"mine"}}
			set cm a/y {"data":{"v":"2"}}
			past set ns b {"metadata":{"labels":{"{a}.tree.hnc.x-k8s.io/depth":"7"}}}
			anchor a/s
		`)
		r.Consistently(func() string { return field(r.get("cm", "b/x"), "data.v") }, "3s", "300ms").Should(gomega.Equal("mine"), still)
		r.Expect(r.Writes(r.t)).To(gomega.BeNumerically("<=", before+10), still) // the lease, and its own status
		r.run(`
			see anchor a/s: -
			see labels b: a=7 b=0
			see there ns s: no
		`)
		r.say("mode: Enforce")
		r.run(`
			see field cm b/x data.v: 1
			see copies cm y: a b<a s<a
			see labels b: a=1 b=0
			see anchor a/s: Ok
			delete cm a/y
			see copies cm y:
			delete anchor a/s
			see there ns s: no
		`)
	}
}

func (r *rig) whileDown() {
	const sources = 200
	r.say("mode: Enforce, brake: {percent: 100}") // a quarter of all copies is about to go
	r.run("tree a b<a c<a d s^a\nput cm a/gone v=1\nput cm a/x v=1")
	for i := range sources {
		r.put(r.Client, "cm", fmt.Sprintf("a/many%d", i), nil)
	}
	r.run("see complete b: True Copied\nsee copies cm x: a b<a c<a s<a\nfence")
	// In the middle of copying to a new namespace.
	r.run("anchor a/late")
	r.Eventually(func() int { return len(r.all("cm", "")) }, patience, "10ms").Should(gomega.BeNumerically(">", 4*sources+20))
	if err := r.Manager.Kill(); err != nil {
		r.t.Fatal(err)
	}
	r.run(`
		past set cm b/x {"data":{"v":"mine"}}
		past delete cm c/x
		delete cm a/gone
		past set ns b {"metadata":{"labels":{"{a}.tree.hnc.x-k8s.io/depth":"7"}}}
		past set ns new {"metadata":{"labels":{"holdfast.dev/testkit":"made"}}}
		past parent new=a
		past parent c=d
		past anchor d/t
		past set hc a {"metadata":{"finalizers":null}}
		past put cm d/y v=1
	`)
	r.restart()
	r.run(fmt.Sprintf(`
		see complete late: True Copied
		see there cm late/many%d: yes
		see complete new: True Copied
		see field cm new/many0 metadata.namespace: new
		see field cm b/x data.v: 1
		see copies cm gone:
		see copies cm x: a b<a late<a new<a s<a
		see copies cm y: c<d d t<d
		see labels b: a=1 b=0
		see labels c: c=0 d=1
		see complete c: True Copied
		see anchor d/t: Ok
		see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
	`, sources-1))
	r.Expect(r.copies("cm", "many7")).To(gomega.ConsistOf("a", "b<a", "late<a", "new<a", "s<a"))
	r.say("mode: Enforce")
}

// restart starts a manager after another one, and waits until the API server asks it.
func (r *rig) restart() {
	r.t.Helper()
	r.Manager = r.StartManager(r.whole)
	r.patch(r.Client, "ns", "asked", `{}`)
	r.Eventually(func() error {
		hc := r.object("hc", "asked")
		return r.Client.Create(r.t.Context(), hc, client.DryRunAll)
	}, patience, often).Should(gomega.Succeed())
}

func (r *rig) anchorsGo() {
	r.run(`
		tree a s^a t^s b<a
		put cm a/x v=1
		see copies cm x: a b<a s<a t<a
		cascade a
		fence
		past delete crd subnamespaceanchors.hnc.x-k8s.io
		see there crd subnamespaceanchors.hnc.x-k8s.io: no
		put cm a/y v=1
		see copies cm y: a b<a s<a t<a
		see there ns s: yes
		see there ns t: yes
		see problems s: BadConfiguration/SubnamespaceAnchorMissing
		see labels t: a=2 s=1 t=0
	`)
	r.applyCRDs()
	r.run(`
		past anchor a/s
		past anchor s/t
		see anchor a/s: Ok
		see anchor s/t: Ok
		see problems s:
		see copies cm x: a b<a s<a t<a
	`)
}

func (r *rig) hierarchyGoes() {
	r.run(`
		tree a s^a b<a c<b
		put cm a/x v=1
		put cm a/gone v=1
		see copies cm x: a b<a c<a s<a
		see copies cm gone: a b<a c<a s<a
		see labels c: a=2 b=1 c=0
		see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
		set hc c {"metadata":{"finalizers":["example.com/held"]}}
		fence
		past delete crd hierarchyconfigurations.hnc.x-k8s.io
		see there hc b: no
		see problems c: ActivitiesHalted/DeletingCRD
		see there crd hierarchyconfigurations.hnc.x-k8s.io: going
		past set hc c {"metadata":{"finalizers":null}}
		see there crd hierarchyconfigurations.hnc.x-k8s.io: no
		delete cm a/gone
		set cm a/x {"data":{"v":"2"}}
		put cm a/new v=1
		past delete cm b/x
		see complete c: False Halted
		see copies cm x: a c<a s<a
		see copies cm gone: b<a c<a s<a
		see copies cm new: a
		see field cm c/x data.v: 1
		see labels c: a=2 b=1 c=0
		see labels b: a=1 b=0
		see there ns s: yes
		see anchor a/s: Ok
	`)
	r.Eventually(r.unseen, patience, often).Should(gomega.ContainSubstring("hierarchyconfigurations.hnc.x-k8s.io: "))
	before := r.Writes(r.t)
	r.Consistently(func() float64 { return r.Writes(r.t) }, "5s", "500ms").Should(gomega.BeNumerically("<=", before+5), "it tries to write what it cannot")
	r.applyCRDs()
	// What the objects said is lost; the annotation of a subnamespace is not.
	r.run(`
		see labels s: a=1 s=0
		see copies cm new: a s<a
		see labels b: b=0
		parent b=a
		parent c=b
		see copies cm new: a b<a c<a s<a
		see field cm c/x data.v: 2
		see labels c: a=2 b=1 c=0
	`)
}

func (r *rig) allGo() {
	r.run(`
		tree a s^a t^s b<a
		cascade a
		put cm a/x v=1
		see copies cm x: a b<a s<a t<a
		fence
	`)
	// One after the other: each is gone before the next one goes.
	for _, crd := range []string{"hierarchyconfigurations", "subnamespaceanchors", "hncconfigurations"} {
		out := r.Kubectl(r.t, "delete", "--timeout=180s", "crd", crd+".hnc.x-k8s.io")
		r.Expect(out.Code).To(gomega.Equal(0), out.Stderr)
		r.Eventually(r.unseen, patience, often).Should(gomega.ContainSubstring(crd + ".hnc.x-k8s.io: "))
	}
	r.Consistently(func() []string { return append(r.copies("cm", "x"), r.state("labels t"), r.state("there ns t")) }, "5s", "500ms").
		Should(gomega.Equal([]string{"a", "b<a", "s<a", "t<a", "a=2 s=1 t=0", "yes"}))
}

// unseen is what Holdfast says that it cannot see of the trees.
func (r *rig) unseen() string {
	h := &v1alpha1.Holdfast{}
	r.Expect(r.Client.Get(r.t.Context(), client.ObjectKey{Name: v1alpha1.HoldfastName}, h)).To(gomega.Succeed())
	if c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionHierarchyKnown); c != nil && c.Status != metav1.ConditionTrue {
		return c.Message
	}
	return none
}

// state is what is seen now.
func (r *rig) state(what string) string {
	words := strings.Fields(what)
	return r.short(sights[words[0]](r, words[1:]))
}

// applyCRDs brings those of the trees back, and returns once they are served.
func (r *rig) applyCRDs() {
	r.t.Helper()
	if _, err := manager.Kubectl(r.t.Context(), r.Cluster, "apply", "--server-side", "-f", "config/crd/hnc"); err != nil {
		r.t.Fatal(err)
	}
	for _, kind := range []string{"hc", "anchor", "hnc"} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(r.gvk(kind))
		r.Eventually(func() error { return r.Client.List(r.t.Context(), list) }, patience, often).Should(gomega.Succeed(), kind)
	}
}
