// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// with adds annotations to the first object of a manifest of cm or ns.
func with(manifest string, annotations ...string) string {
	return strings.Replace(manifest, "metadata: {", "metadata: {annotations: {"+strings.Join(annotations, ", ")+"}, ", 1)
}

const (
	detach   = object.AnnotationDeletion + ": " + object.DeletionDetach
	ignore   = object.AnnotationMutation + ": " + object.MutationIgnore
	disabled = object.AnnotationManaged + ": " + object.ManagedDisabled
)

func role(namespace, name string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: " + name + ", namespace: \"{" + namespace + "}\"}\nrules: []\n---\n"
}

// free waits until an object is there and has nothing that is a RootSync's.
func (r *rig) free(kind, at string) {
	r.t.Helper()
	r.manager(kind, at, "")
	o := r.object(kind, at)
	for key := range o.GetAnnotations() {
		if object.IsStamp(false, key) {
			r.t.Errorf("%s %s has still the annotation %s", kind, at, key)
		}
	}
	for key := range o.GetLabels() {
		if object.IsStamp(true, key) {
			r.t.Errorf("%s %s has still the label %s", kind, at, key)
		}
	}
}

func TestDetach_whatIsDeclaredNoLongerStaysAndIsNobodys(t *testing.T) {
	t.Parallel()
	r := shared(t)
	all := with(ns("n"), detach) + with(cm("n", "one", "1"), detach) + with(role("n", "r"), detach)
	r.syncOf("a", ns("m")+all)
	r.synced("a", r.commit("a", "x.yaml", ns("m")))
	for kind, at := range map[string]string{"ns": "n", "cm": "n/one", "role": "n/r"} {
		r.free(kind, at)
		r.Expect(r.object(kind, at).GetAnnotations()).To(gomega.HaveKeyWithValue(object.AnnotationDeletion, object.DeletionDetach))
	}
	r.synced("a", r.commit("a", "x.yaml", ns("m")+ns("n")+cm("n", "one", "1")+role("n", "r")))
	r.manager("cm", "n/one", "a")
	r.Expect(r.object("cm", "n/one").GetAnnotations()).NotTo(gomega.HaveKey(object.AnnotationDeletion))
	r.synced("a", r.commit("a", "x.yaml", ns("m")))
	for kind, at := range map[string]string{"ns": "n", "cm": "n/one", "role": "n/r"} {
		r.manager(kind, at, "-")
	}
}

// The namespaces that the cluster needs can be declared like any other, and are let go of
// when they are not.
func TestSpecialNamespaces_stay(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	special := []string{"default", "kube-system", "kube-public", "kube-node-lease", "gatekeeper-system"}
	text := ""
	for _, name := range special {
		text += "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + ", labels: {\"" + r.prefix + "\": x}}\n---\n"
	}
	r.syncOf("a", ns("m")+text)
	for _, name := range special {
		r.manager("ns", "/"+name, "a")
	}
	r.synced("a", r.commit("a", "x.yaml", ns("m")))
	for _, name := range special {
		r.free("ns", "/"+name)
		r.Expect(r.object("ns", "/"+name).GetDeletionTimestamp()).To(gomega.BeNil(), name)
	}
	r.delete("ns", "/gatekeeper-system") // the cluster had none
}

func TestManagedDisabled(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "one", "1"))
	r.synced("a", r.commit("a", "x.yaml", ns("n")+with(cm("n", "one", "2"), disabled)))
	r.free("cm", "n/one")
	r.value("n/one", "1")
	r.patch("cm", "n/one", `{"data":{"v":"mine"}}`)
	r.Expect(r.inventory("a")).To(gomega.HaveLen(1))

	// A namespace that is not managed has nothing in it that is.
	r.commit("a", "x.yaml", with(ns("n"), disabled)+cm("n", "one", "1"))
	r.says("a", `KNV1056: The Namespace "{n}" is declared as not managed`)
	r.synced("a", r.commit("a", "x.yaml", ns("m")+with(ns("n"), disabled)+with(cm("n", "one", "1"), disabled)))
	r.free("ns", "n")
	r.value("n/one", "mine")
	r.synced("a", r.commit("a", "x.yaml", ns("m")+ns("n")+cm("n", "one", "3")))
	r.manager("cm", "n/one", "a")
	r.value("n/one", "3")
}

func TestMutationIgnore_theContentIsMadeOnceAndLeft(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+with(cm("n", "one", "1"), ignore))
	r.patch("cm", "n/one", `{"data":{"v":"mine"}}`)
	// What comes after it in the same pass shows that it was left.
	r.synced("a", r.commit("a", "x.yaml", ns("n")+with(cm("n", "one", "2"), ignore)+cm("n", "two", "2")))
	r.value("n/two", "2")
	r.value("n/one", "mine")
	r.patch("cm", "n/one", `{"metadata":{"annotations":{"`+object.AnnotationManager+`":"x"},"labels":{"`+object.LabelPartOf+`":null}}}`)
	r.manager("cm", "n/one", "a")
	r.Eventually(func() string { return r.object("cm", "n/one").GetLabels()[object.LabelPartOf] }, within, often).Should(gomega.Equal(object.Sync(r.name("a")).ApplySet()))
	r.value("n/one", "mine")
	r.delete("cm", "n/one")
	r.value("n/one", "2")

	// Whether it is left stands on the object, for those who look at it: as declared, and not as a hand has written it.
	stands := func(name, want string) {
		t.Helper()
		r.Eventually(func() string { return r.object("cm", "n/"+name).GetAnnotations()[object.AnnotationMutation] }, within, often).Should(gomega.Equal(want), name)
	}
	r.patch("cm", "n/one", `{"metadata":{"annotations":{"`+object.AnnotationMutation+`":null}}}`)
	stands("one", object.MutationIgnore)
	r.synced("a", r.commit("a", "x.yaml", ns("n")+cm("n", "one", "3")+with(cm("n", "two", "3"), ignore)))
	r.value("n/one", "3")
	stands("one", "")
	r.value("n/two", "2")
	stands("two", object.MutationIgnore)
	r.patch("cm", "n/one", `{"metadata":{"annotations":{"`+object.AnnotationMutation+`":"ignore"}},"data":{"v":"mine"}}`)
	r.value("n/one", "3")
	stands("one", "")
	r.synced("a", r.commit("a", "x.yaml", ns("n")))
	r.manager("cm", "n/one", "-")
}

func TestDrift_ofEveryKind(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	commit := r.syncOf("a", ns("n")+cm("n", "one", "1"))
	applySet := object.Sync(r.name("a")).ApplySet()
	for _, kind := range []struct{ what, at, body string }{
		{"cm", "n/one", `{"data":{"v":null}}`},
		{"cm", "n/one", `{"data":null}`},
		{"cm", "n/one", `{"metadata":{"labels":{"` + object.LabelPartOf + `":null}}}`},
		{"cm", "n/one", `{"metadata":{"labels":{"` + object.LabelPartOf + `":"other"}}}`},
		{"cm", "n/one", `{"metadata":{"labels":null,"annotations":null}}`},
		{"cm", "n/one", `{"metadata":{"annotations":{"` + object.AnnotationManager + `":":root_other"}}}`},
		{"ns", "n", `{"metadata":{"labels":{"` + object.LabelPartOf + `":null}}}`},
		{"ns", "n", `{"metadata":{"annotations":{"` + object.AnnotationManaged + `":"disabled"}}}`},
	} {
		r.patch(kind.what, kind.at, kind.body)
		r.Eventually(func() bool {
			o := r.object(kind.what, kind.at)
			v, _, _ := unstructuredString(o, "data", "v")
			return o != nil && (v == "1" || kind.what == "ns") && o.GetLabels()[object.LabelPartOf] == applySet &&
				object.Managed(o, object.IDOf(o)) == object.Sync(r.name("a")).Manager()
		}, within, often).Should(gomega.BeTrue(), kind.body)
	}
	r.synced("a", commit)
}

// What a hand has made and looks like a RootSync's object goes only if all of it does.
func TestDrift_whatIsMadeByHandWithOurMetadata(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.syncOf("a", ns("n")+cm("n", "real", "1"))
	a := object.Sync(r.name("a"))
	made := func(name, managed, id, manager, applySet string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  namespace: \"{n}\"\n  labels: {\"" + object.LabelPartOf + "\": \"" + applySet + "\"}\n" +
			"  annotations: {\"" + object.AnnotationManaged + "\": \"" + managed + "\", \"" + object.AnnotationResourceID + "\": \"" + id + "\", \"" + object.AnnotationManager + "\": \"" + manager + "\"}\n---\n"
	}
	id := func(name string) string { return "_configmap_" + r.name("n") + "_" + name }
	r.Apply(t, "", r.long(made("managed", "", id("managed"), a.Manager(), a.ApplySet())+
		made("id", "enabled", id("other"), a.Manager(), a.ApplySet())+
		made("manager", "enabled", id("manager"), ":root_other", a.ApplySet())+
		made("applyset", "enabled", id("applyset"), a.Manager(), "other")+
		made("all", "enabled", id("all"), a.Manager(), a.ApplySet())))
	r.manager("cm", "n/all", "-")
	for _, name := range []string{"managed", "id", "manager", "applyset"} {
		if r.object("cm", "n/"+name) == nil {
			t.Errorf("%s has gone", name)
		}
	}
}

func TestFight_isToldAndEnds(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	commit := r.syncOf("a", ns("n")+cm("n", "one", "1")+cm("n", "two", "1"))
	r.Eventually(func() string {
		r.patch("cm", "n/one", `{"data":{"v":"mine"}}`)
		return r.status("a")
	}, within, "250ms").Should(gomega.ContainSubstring("KNV2005: detected excessive object updates, approximately "))
	// The others are cared for meanwhile.
	r.delete("cm", "n/two")
	r.value("n/two", "1")
	r.Eventually(func() string { return r.status("a") }, "240s", often).Should(gomega.Equal("synced " + commit))
	r.value("n/one", "1")
}

func TestNames(t *testing.T) {
	t.Parallel()
	r := shared(t)
	long := strings.Repeat("x", 38-len(r.prefix))
	r.sync(long)
	r.says(long, "stalled: KNV1061: maximum length of RootSync name is 38, but found 39")
	r.Apply(t, "", r.long(ns("n")))
	text := r.rootSyncText("a", "git: {repo: \"https://example.com/x\", auth: none}")
	r.Apply(t, "", strings.Replace(text, "namespace: "+object.SyncNamespace, "namespace: "+r.name("n"), 1))
	r.Eventually(func() string {
		rs := &configsyncv1beta1.RootSync{}
		r.Expect(r.Client.Get(t.Context(), client.ObjectKey{Namespace: r.name("n"), Name: r.name("a")}, rs)).To(gomega.Succeed())
		for _, c := range rs.Status.Conditions {
			if c.Type == configsyncv1beta1.ConditionStalled {
				return c.Message
			}
		}
		return ""
	}, within, often).Should(gomega.ContainSubstring("RootSync objects are only allowed in the config-management-system namespace, not in " + r.name("n")))
}
