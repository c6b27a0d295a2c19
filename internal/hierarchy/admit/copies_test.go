// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Copies of some kinds, as bodies of objects.
const (
	roleCopy       = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {labels: {hnc.x-k8s.io/inherited-from: src, app: web}, annotations: {note: a}}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`
	deploymentCopy = `{apiVersion: apps/v1, kind: Deployment, metadata: {labels: {hnc.x-k8s.io/inherited-from: src}}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`
	widgetCopy     = `{apiVersion: example.com/v1, kind: Widget, metadata: {labels: {hnc.x-k8s.io/inherited-from: src}}, spec: {replicas: 1, a: {b: [1, {c: d}]}}, more: [1.5, x]}`
	gadgetCopy     = `{apiVersion: example.com/v1, kind: Gadget, metadata: {labels: {hnc.x-k8s.io/inherited-from: src}}, spec: {a: 1}, status: {a: 1}}`
	podCopy        = `{apiVersion: v1, kind: Pod, metadata: {labels: {hnc.x-k8s.io/inherited-from: src}}, spec: {containers: [{name: c, image: i}]}}`
	secretSource   = `{apiVersion: v1, kind: Secret, metadata: {labels: {app: web}}, data: {}}`
)

const (
	change = `403 this is a copy; change what it was copied from, in the namespace "src"`
	remove = `403 this is a copy; delete what it was copied from, in the namespace "src"`
	label  = "403 the label hnc.x-k8s.io/inherited-from cannot be changed"
	byHand = "403 the label hnc.x-k8s.io/inherited-from cannot be set: it is of copies only"
)

func metaPatch(field, key, value string) string {
	return fmt.Sprintf(`{"metadata":{%q:{%q:%s}}}`, field, key, value)
}

// testCopies holds every way to write to a copy against the policy.
func testCopies(t *testing.T, s *server) {
	app, note := metaPatch("labels", "app", `"other"`), metaPatch("annotations", "note", `"b"`)
	ofCluster := metaPatch("annotations", "deployment.kubernetes.io/revision", `"2"`)
	owner := `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1"}]}}`
	tests := []struct {
		name, object, user string
		subresource, patch string // a delete if both are empty
		want               string
	}{
		{"a delete", roleCopy, "ann", "", "", remove},
		{"a delete by Holdfast", roleCopy, "holdfast", "", "", "ok"},
		{"a delete by who empties namespaces", roleCopy, "namespace-controller", "", "", "ok"},
		{"a delete by the garbage collector", roleCopy, "generic-garbage-collector", "", "", "ok"},
		{"a delete by another controller", roleCopy, "deployment-controller", "", "", remove},
		{"content", roleCopy, "ann", "", `{"rules":[]}`, change},
		{"content by Holdfast", roleCopy, "holdfast", "", `{"rules":[]}`, "ok"},
		{"content by a controller", roleCopy, "deployment-controller", "", `{"rules":[]}`, change},
		{"content by another account in Holdfast's namespace", roleCopy, "system:serviceaccount:holdfast-system:default", "", `{"rules":[]}`, change},
		{"content that was not there", roleCopy, "ann", "", `{"rules":null}`, change},
		{"nothing", roleCopy, "ann", "", `{}`, "ok"},
		{"a label", roleCopy, "ann", "", app, change},
		{"a label by a controller", roleCopy, "deployment-controller", "", app, change},
		{"a label less", roleCopy, "ann", "", metaPatch("labels", "app", "null"), change},
		{"an annotation", roleCopy, "ann", "", note, change},
		{"an annotation less", roleCopy, "ann", "", metaPatch("annotations", "note", "null"), change},
		{"an annotation by a controller", roleCopy, "deployment-controller", "", note, change},
		{"an annotation of the cluster", roleCopy, "ann", "", ofCluster, change},
		{"an annotation of the cluster by a controller", roleCopy, "deployment-controller", "", ofCluster, "ok"},
		{"an annotation of the cluster by the controller manager", roleCopy, "system:kube-controller-manager", "", ofCluster, "ok"},
		{"an annotation of the cluster by the scheduler", roleCopy, "system:kube-scheduler", "", ofCluster, "ok"},
		{"an annotation of the cluster by a node", roleCopy, "system:node:n1", "", ofCluster, "ok"},
		{"an annotation of the cluster by an account elsewhere", roleCopy, "system:serviceaccount:team:kube-system", "", ofCluster, change},
		{"an annotation of kubectl by a controller", roleCopy, "deployment-controller", "", metaPatch("annotations", "kubectl.kubernetes.io/restartedAt", `"now"`), change},
		{"an annotation that only looks like the cluster's", roleCopy, "deployment-controller", "", metaPatch("annotations", "notkubernetes.io/a", `"b"`), change},
		{"the source's namespace", roleCopy, "ann", "", metaPatch("labels", "hnc.x-k8s.io/inherited-from", `"other"`), label},
		{"no source any more", roleCopy, "ann", "", metaPatch("labels", "hnc.x-k8s.io/inherited-from", "null"), label},
		{"no source any more, by a controller", roleCopy, "deployment-controller", "", metaPatch("labels", "hnc.x-k8s.io/inherited-from", "null"), label},
		{"no labels any more", roleCopy, "ann", "", `{"metadata":{"labels":null}}`, label},
		{"a source that becomes a copy", secretSource, "ann", "", metaPatch("labels", "hnc.x-k8s.io/inherited-from", `"a"`), label},
		{"a source that becomes one by Holdfast", secretSource, "holdfast", "", metaPatch("labels", "hnc.x-k8s.io/inherited-from", `"a"`), "ok"},
		{"an owner", roleCopy, "ann", "", owner, change},
		{"an owner by a controller", roleCopy, "deployment-controller", "", owner, "ok"},
		{"a finalizer", roleCopy, "ann", "", `{"metadata":{"finalizers":["example.com/hold"]}}`, "ok"},
		{"the content of a Deployment", deploymentCopy, "ann", "", `{"spec":{"paused":true}}`, change},
		{"the status of a Deployment", deploymentCopy, "ann", "status", `{"status":{"observedGeneration":7}}`, "ok"},
		{"a label through a status that writes none", deploymentCopy, "ann", "status", metaPatch("labels", "hnc.x-k8s.io/inherited-from", "null"), "ok"},
		{"a label through the status", podCopy, "ann", "status", app, change},
		{"the source's namespace through the status", podCopy, "ann", "status", metaPatch("labels", "hnc.x-k8s.io/inherited-from", "null"), label},
		{"an annotation of a custom resource through the status", widgetCopy, "ann", "status", note, "ok"}, // writes none
		{"an annotation through the status", deploymentCopy, "ann", "status", note, change},
		{"an annotation of the cluster through the status", deploymentCopy, "deployment-controller", "status", ofCluster, "ok"},
		{"the scale of a Deployment, which is put back", deploymentCopy, "ann", "scale", `{"spec":{"replicas":0}}`, "ok"},
		{"the content of a custom resource", widgetCopy, "ann", "", `{"spec":{"a":{"b":[1,{"c":"e"}]}}}`, change},
		{"a field of a custom resource beside its spec", widgetCopy, "ann", "", `{"more":[2.5,"x"]}`, change},
		{"a new field of a custom resource", widgetCopy, "ann", "", `{"other":null,"new":{}}`, change},
		{"a field less of a custom resource", widgetCopy, "ann", "", `{"more":null}`, change},
		{"the status of a custom resource", widgetCopy, "ann", "status", `{"status":{"replicas":1}}`, "ok"},
		{"the scale of a custom resource, which is put back", widgetCopy, "ann", "scale", `{"spec":{"replicas":2}}`, "ok"},
		{"the status of a custom resource without a subresource", gadgetCopy, "ann", "", `{"status":{"a":2}}`, "ok"},
		{"the content of a custom resource without a subresource", gadgetCopy, "ann", "", `{"spec":{"a":2},"status":{"a":2}}`, change},
		{"the status of a Pod by its node", podCopy, "system:node:n1", "status", `{"status":{"phase":"Running"}}`, "ok"},
		{"the content of a Pod", podCopy, "ann", "", `{"spec":{"activeDeadlineSeconds":5}}`, change},
	}
	namespace := s.Namespace(t)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := parse(t, tt.object)
			o.SetNamespace(namespace)
			o.SetName(fmt.Sprintf("copy-%d", i))
			if err := s.as(t, "holdfast").Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			said(t, tt.name, write(t, s.as(t, tt.user), o.DeepCopy(), tt.subresource, tt.patch), tt.want)
			now := o.DeepCopy()
			if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(o), now); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			if !maps.Equal(now.GetLabels(), o.GetLabels()) && tt.user != "holdfast" {
				t.Errorf("the labels are %v, and were %v", now.GetLabels(), o.GetLabels())
			}
		})
	}
}

// write deletes an object, or patches it.
func write(t testing.TB, c client.Client, o *unstructured.Unstructured, subresource, patch string) error {
	t.Helper()
	p := client.RawPatch(types.MergePatchType, []byte(patch))
	switch {
	case patch == "":
		return c.Delete(t.Context(), o)
	case subresource != "":
		return c.SubResource(subresource).Patch(t.Context(), o, p)
	}
	return c.Patch(t.Context(), o, p)
}

// testNewCopies tests that copies which users create become ordinary objects, as after a restore.
func testNewCopies(t *testing.T, s *server) {
	namespace := s.Namespace(t)
	created, restored := [2]string{"src", ""}, [2]string{"", "src"}
	for _, tt := range []struct {
		name, object, user, in string
		want                   [2]string // what it is a copy of, and was
	}{
		{"by hand", roleCopy, "ann", namespace, restored},
		{"by a controller", deploymentCopy, "deployment-controller", namespace, restored},
		{"by Holdfast", roleCopy, "holdfast", namespace, created},
		{"of a custom resource", widgetCopy, "ann", namespace, restored},
		{"of a kind that is not copied", `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {hnc.x-k8s.io/inherited-from: src}}}`, "ann", namespace, created},
		{"in an excluded namespace", roleCopy, "ann", "kube-system", created},
		{"in an excluded namespace that does not say so", roleCopy, "ann", "excluded", created},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := parse(t, tt.object)
			o.SetNamespace(tt.in)
			o.SetGenerateName("new-")
			generated := o.DeepCopy()
			said(t, "create", s.as(t, tt.user).Create(t.Context(), generated, client.DryRunAll), "ok")
			o.SetGenerateName("")
			o.SetName("applied")
			said(t, "apply", s.as(t, tt.user).Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.DryRunAll, client.FieldOwner("test")), "ok")
			for _, u := range []*unstructured.Unstructured{generated, o} {
				from := [2]string{u.GetLabels()[hncv1alpha2.LabelInheritedFrom], u.GetAnnotations()[v1alpha1.RestoredCopyAnnotation]}
				if from != tt.want {
					t.Errorf("%s: it is a copy of %q and was one of %q, want %q", u.GetName(), from[0], from[1], tt.want)
				}
			}
		})
	}
	t.Run("by a binding, whose labels land on the pod", func(t *testing.T) {
		t.Parallel()
		pod := parse(t, strings.Replace(podCopy, "{hnc.x-k8s.io/inherited-from: src}", "{a: b}", 1))
		pod.SetNamespace(namespace)
		pod.SetName("bound")
		if err := s.Client.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		binding := parse(t, `{apiVersion: v1, kind: Binding, metadata: {labels: {hnc.x-k8s.io/inherited-from: a}}, target: {kind: Node, name: n1}}`)
		said(t, "bind", s.as(t, "system:kube-scheduler").SubResource("binding").Create(t.Context(), pod, binding), byHand)
		binding.SetLabels(nil)
		said(t, "bind without labels", s.as(t, "system:kube-scheduler").SubResource("binding").Create(t.Context(), pod, binding), "ok")
	})
	t.Run("deleted as a collection", func(t *testing.T) {
		t.Parallel()
		in := s.Namespace(t)
		o := parse(t, roleCopy)
		o.SetNamespace(in)
		o.SetName("x")
		if err := s.as(t, "holdfast").Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		said(t, "deletecollection", s.as(t, "ann").DeleteAllOf(t.Context(), o, client.InNamespace(in)), remove)
	})
	t.Run("deleted in a namespace that ends", func(t *testing.T) {
		t.Parallel()
		in := s.Namespace(t)
		o := s.create(t, in, strings.Replace(roleCopy, "{labels", "{name: x, finalizers: [example.com/hold], labels", 1))
		ann := s.as(t, "ann")
		said(t, "before", ann.Delete(t.Context(), o.DeepCopy()), remove)
		ending := parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+in+"}}")
		said(t, "the namespace", ann.Delete(t.Context(), ending), "ok")
		gomega.NewWithT(t).Eventually(func() error { return ann.Delete(t.Context(), o.DeepCopy()) }, "180s", "100ms").Should(gomega.Succeed())
		said(t, "the content of it", write(t, ann, o.DeepCopy(), "", `{"rules":[]}`), change)
		said(t, "let it go", write(t, ann, o.DeepCopy(), "", `{"metadata":{"finalizers":null}}`), "ok")
		gone(t, s, ending)
	})
}

// testQuotas holds that quotas of trees are refused, and can go. HNC's were not enforced
// while it was down, and could be overrun by two at once.
func testQuotas(t *testing.T, s *server) {
	namespace := s.Namespace(t)
	const refusal = "403 Holdfast does not enforce quotas"
	old := parse(t, oldQuota)
	said(t, "change one that was there before", write(t, s.as(t, "ann"), old.DeepCopy(), "", `{"spec":{"hard":{"pods":2}}}`), refusal)
	said(t, "change its status", write(t, s.as(t, "ann"), old.DeepCopy(), "status", `{"status":{"used":{"pods":2}}}`), refusal)
	said(t, "delete it", s.as(t, "ann").Delete(t.Context(), old.DeepCopy()), "ok")
	said(t, "let it go", write(t, s.as(t, "ann"), old.DeepCopy(), "", `{"metadata":{"finalizers":null}}`), "ok")
	gone(t, s, old)
	o := parse(t, "{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchicalResourceQuota, metadata: {name: q, finalizers: [example.com/hold]}, spec: {hard: {pods: 1}}}")
	o.SetNamespace(namespace)
	for _, user := range []string{"ann", "holdfast"} {
		said(t, "create by "+user, s.as(t, user).Create(t.Context(), o.DeepCopy()), refusal)
	}
}

// testLarge holds that the expressions come to an end on objects as large as can be:
// they may cost only so much, and then refuse everything.
func testLarge(t *testing.T, s *server) {
	namespace := s.Namespace(t)
	u := parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: large, labels: {hnc.x-k8s.io/inherited-from: src}}}")
	u.SetNamespace(namespace)
	data, annotations := map[string]any{}, map[string]string{}
	for i := range 4000 {
		data[fmt.Sprintf("key-%d", i)] = strings.Repeat("YWFh", 50)
		annotations[fmt.Sprintf("a%d.kubernetes.io/some-annotation", i)] = "some value"
	}
	u.Object["data"] = data
	u.SetAnnotations(annotations)
	if err := s.as(t, "holdfast").Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	said(t, "a finalizer", write(t, s.as(t, "ann"), u.DeepCopy(), "", `{"metadata":{"finalizers":["example.com/hold"]}}`), "ok")
	said(t, "content", write(t, s.as(t, "ann"), u.DeepCopy(), "", `{"stringData":{"key-7":"b"}}`), change)
	said(t, "an annotation of the cluster by a controller", write(t, s.as(t, "deployment-controller"), u.DeepCopy(), "", metaPatch("annotations", "a.kubernetes.io/b", `"c"`)), "ok")

	labels := []string{"app: x"}
	for i := range 500 { // a namespace deep down
		labels = append(labels, fmt.Sprintf("ancestor-%d.tree.hnc.x-k8s.io/depth: '%d'", i, i+1))
	}
	deep := s.namespace(t, "labels: {"+strings.Join(labels, ", ")+"}")
	said(t, "a label", write(t, s.as(t, "ann"), deep.DeepCopy(), "", metaPatch("labels", "app", `"y"`)), "ok")
	said(t, "a tree label", write(t, s.as(t, "ann"), deep.DeepCopy(), "", metaPatch("labels", "ancestor-7.tree.hnc.x-k8s.io/depth", "null")), "403 cannot be changed: ancestor-7.tree")
	said(t, "external", write(t, s.as(t, "ann"), deep.DeepCopy(), "", metaPatch("annotations", "hnc.x-k8s.io/managed-by", `"somebody"`)), `403 has the parent "ancestor-0"`)
}
