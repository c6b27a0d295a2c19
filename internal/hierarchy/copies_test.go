// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"testing"

	"github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

func TestPropagation_copies(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"go to all descendants, change and go with their source", `
			tree a b<a c<b d
			put cm a/x v=1
			see copies cm x: a b<a c<a
			set cm a/x {"data":{"v":"2"}}
			see field cm b/x data.v: 2
			see field cm c/x data.v: 2
			delete cm a/x
			see copies cm x:
		`},
		{"of Roles and RoleBindings are made without being configured, whatever they grant", `
			tree a b<a
			put role a/x verb=*
			put rb a/x role=cluster-admin
			see copies role x: a b<a
			see copies rb x: a b<a
		`},
		{"say where they come from, and who keeps them", `
			tree a b<a c<b
			put cm a/x +app.kubernetes.io/managed-by=somebody
			see label cm b/x hnc.x-k8s.io/inherited-from: a
			see label cm c/x hnc.x-k8s.io/inherited-from: a
			see label cm c/x app.kubernetes.io/managed-by: hnc.x-k8s.io
			see label cm a/x app.kubernetes.io/managed-by: somebody
			see label cm a/x hnc.x-k8s.io/inherited-from: -
		`},
		{"have the labels and annotations of their source, but for some", `
			tree a b<a
			put cm a/x +mine=1 @mine=2 +example.com/stripped=1 @example.com/stripped=1 +hnc.x-k8s.io/x=1 @propagate.hnc.x-k8s.io/all=true @deployment.kubernetes.io/revision=3
			see label cm b/x mine: 1
			see annotation cm b/x mine: 2
			see label cm b/x example.com/stripped: -
			see annotation cm b/x example.com/stripped: -
			see label cm b/x hnc.x-k8s.io/x: -
			see annotation cm b/x propagate.hnc.x-k8s.io/all: -
			see annotation cm b/x deployment.kubernetes.io/revision: -
		`},
		{"have all of the content of a source, whatever it is called", `
			tree a b<a
			set cm a/x {"binaryData":{"bin":"AAEC"},"data":{"v":"1"},"immutable":false}
			see field cm b/x binaryData.bin: AAEC
			see field cm b/x immutable: false
			put secret a/x type=example.com/some key=value @propagate.hnc.x-k8s.io/all=true
			see field secret b/x type: example.com/some
			see field secret b/x data.key: dmFsdWU=
		`},
		{"come and go as a namespace moves", `
			tree a b c<a d<c
			put cm a/x v=1
			put cm b/y v=1
			see copies cm x: a c<a d<a
			parent c=b
			see copies cm x: a
			see copies cm y: b c<b d<b
			parent c=
			see copies cm y: b
		`},
		{"are not protected by what protects their source, and go when they should", `
			tree a b<a
			put rb a/x +holdfast.dev/deletion-protected=Always +resourcetemplate.karmada.io/deletion-protected=Always +app=x
			see label rb b/x app: x
			see label rb b/x holdfast.dev/deletion-protected: -
			see label rb b/x resourcetemplate.karmada.io/deletion-protected: -
			parent b=
			see copies rb x: a
			set rb a/x {"metadata":{"labels":null}}
		`},
		{"do not take the place of what is protected", `
			tree a b<a
			put cm b/x v=mine +holdfast.dev/deletion-protected=Always
			past put cm a/x v=2
			see events cm a/x: CannotPropagateObject
			see field cm b/x data.v: mine
			set cm b/x {"metadata":{"labels":null}}
			see field cm b/x data.v: 2
		`},
		{"of one name from several sources above: the top-most is copied", `
			tree a b<a c<b
			put cm b/x v=b
			see copies cm x: b c<b
			put cm a/y v=a
			see copies cm y: a b<a c<a
			past put cm a/x v=a
			see copies cm x: a b<a c<a
			see field cm b/x data.v: a
			see field cm c/x data.v: a
		`},
		{"a source that gives way is not there any more when the upper one goes", `
			tree a b<a
			put cm b/x v=b
			past put cm a/x v=a
			see copies cm x: a b<a
			delete cm a/x
			see copies cm x:
		`},
		{"keep finalizers and owners that others have put on them", `
			tree a b<a
			put cm a/x v=1
			put cm b/owner v=1
			see copies cm x: a b<a
			past set cm b/x {"metadata":{"finalizers":["example.com/held"]}}
			set cm a/x {"data":{"v":"2"}}
			see field cm b/x data.v: 2
			see finalizers cm b/x: example.com/held
			delete cm a/x
			see there cm b/x: going
			past set cm b/x {"metadata":{"finalizers":null}}
			see copies cm x:
		`},
		{"a source that is being deleted keeps its copies until it is gone", `
			tree a b<a
			put cm a/x v=1
			see copies cm x: a b<a
			set cm a/x {"metadata":{"finalizers":["example.com/held"]}}
			delete cm a/x
			see there cm a/x: going
			fence
			see copies cm x: a b<a
			set cm a/x {"metadata":{"finalizers":null}}
			see copies cm x:
		`},
		{"do not keep a subnamespace from ending", `
			tree a s^a
			put cm a/x v=1
			put role a/x
			put rb a/x
			see copies cm x: a s<a
			see copies rb x: a s<a
			delete anchor a/s
			see there ns s: no
			see there anchor a/s: no
			see copies cm x: a
			see copies rb x: a
		`},
	})
	runLong(t, []row{
		{"a source does not give way to one that is not copied to it", `
			tree a b<a c<b
			put cm b/x v=b
			past put cm a/x v=a @propagate.hnc.x-k8s.io/treeSelect=!{b}
			fence
			see copies cm x: a b c<b
			see field cm c/x data.v: b
		`},
		{"of the lower source where the upper one is not copied", `
			tree a b<a c<b
			put cm a/x v=a @propagate.hnc.x-k8s.io/none=true
			past put cm b/x v=b
			see copies cm x: a b c<b
		`},
		{"a namespace that brings a source of the same name gives way", `
			tree a b c<b
			put cm a/x v=a
			put cm b/x v=b
			see copies cm x: a b c<b
			past parent b=a
			see copies cm x: a b<a c<a
			see field cm c/x data.v: a
		`},
		{"with the labels of a copy, and no source, go", `
			tree a b<a
			past put cm b/x v=1 +hnc.x-k8s.io/inherited-from={a}
			see copies cm x:
		`},
		{"from a namespace that is not above become those of one that is", `
			tree a b<a d
			put cm a/x v=a
			see copies cm x: a b<a
			past set cm b/x {"metadata":{"labels":{"hnc.x-k8s.io/inherited-from":"{d}"}}}
			see copies cm x: a b<a
		`},
		{"a source with a finalizer keeps its copies, and they stay as they are", `
			tree a b<a c<a
			put cm a/x v=1
			see copies cm x: a b<a c<a
			set cm a/x {"metadata":{"finalizers":["example.com/held"]},"data":{"v":"2"}}
			fence
			see field cm b/x data.v: 1
			tree d<a
			see labels d: a=1 d=0
			fence
			see copies cm x: a b<a c<a
			set cm a/x {"metadata":{"finalizers":null}}
			see copies cm x: a b<a c<a d<a
			see field cm b/x data.v: 2
		`},
		{"do not keep a namespace from ending", `
			tree a b<a
			put cm a/x v=1
			put role a/x
			see copies cm x: a b<a
			past delete ns b
			see there ns b: no
			see copies cm x: a
			see children a:
		`},
	})
}

func TestPropagation_driftIsPutBack(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"content", `
			tree a b<a
			put cm a/x v=1
			see copies cm x: a b<a
			past set cm b/x {"data":{"v":"mine","w":"more"}}
			see field cm b/x data: map[v:1]
		`},
		{"labels and annotations", `
			tree a b<a
			put cm a/x +mine=1
			see copies cm x: a b<a
			past set cm b/x {"metadata":{"labels":{"mine":"2","more":"1"},"annotations":{"more":"1"}}}
			see label cm b/x mine: 1
			see label cm b/x more: -
			see annotation cm b/x more: -
		`},
		{"a copy that is deleted", `
			tree a b<a
			put cm a/x v=1
			put rb a/x
			see copies cm x: a b<a
			see copies rb x: a b<a
			past delete cm b/x
			past delete rb b/x
			see copies cm x: a b<a
			see copies rb x: a b<a
		`},
		{"a scale", `
			tree a b<a
			put deploy a/x
			see copies deploy x: a b<a
			scale deploy b/x 3
			see field deploy b/x spec.replicas: 0
		`},
		{"nothing of what the cluster's own controllers write on a copy", `
			tree a b<a
			put deploy a/x
			see copies deploy x: a b<a
			see annotation deploy b/x deployment.kubernetes.io/revision: 1
			see field deploy b/x status.observedGeneration: 1
			set deploy a/x {"metadata":{"labels":{"mine":"1"}}}
			see label deploy b/x mine: 1
			see annotation deploy b/x deployment.kubernetes.io/revision: 1
			see field deploy b/x status.observedGeneration: 1
			set deploy a/x {"spec":{"template":{"metadata":{"labels":{"more":"1"}}}}}
			see annotation deploy a/x deployment.kubernetes.io/revision: 2
			see annotation deploy b/x deployment.kubernetes.io/revision: 2
			see field deploy b/x status.observedGeneration: 2
		`},
	})
	runLong(t, []row{
		{"a copy that pretends to be none", `
			tree a b<a
			put cm a/x v=1
			see copies cm x: a b<a
			past set cm b/x {"metadata":{"labels":{"hnc.x-k8s.io/inherited-from":null}}}
			see copies cm x: a b<a
		`},
	})
}

func TestPropagation_whatCannotBeChangedIsReplaced(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"the role of a RoleBinding that is made anew at once", `
			tree a b<a
			put rb a/x role=view
			see copies rb x: a b<a
			past parent a=z
			see problems b: ActivitiesHalted/AncestorHaltActivities
			delete rb a/x
			put rb a/x role=edit
			fence
			see field rb b/x roleRef.name: view
			parent a=
			see field rb b/x roleRef.name: edit
		`},
		{"a Secret that is immutable, and the type of one", `
			tree a b<a
			set secret a/x {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/all":"true"}},"type":"example.com/one","data":{"v":"MQ=="},"immutable":true}
			see field secret b/x immutable: true
			past parent a=z
			see problems b: ActivitiesHalted/AncestorHaltActivities
			delete secret a/x
			set secret a/x {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/all":"true"}},"type":"example.com/two","data":{"v":"Mg=="}}
			parent a=
			see field secret b/x type: example.com/two
			see field secret b/x data.v: Mg==
		`},
		{"somebody's own object is not: the source says so, and the namespace is not complete", `
			tree a b<a
			put rb b/x role=edit
			past put rb a/x role=view
			see complete b: False CannotCopy
			see events rb a/x: CannotPropagateObject
			see field rb b/x roleRef.name: edit
			delete rb b/x
			see copies rb x: a b<a
			see complete b: True Copied
		`},
	})
	runLong(t, []row{
		{"the role of a RoleBinding", `
			tree a b<a c<b
			put rb a/x role=view
			see copies rb x: a b<a c<a
			delete rb a/x
			see copies rb x:
			put rb a/x role=edit
			see field rb c/x roleRef.name: edit
		`},
		{"a ConfigMap that is immutable", `
			tree a b<a
			set cm a/x {"data":{"v":"1"},"immutable":true}
			see field cm b/x immutable: true
			past parent a=z
			see problems b: ActivitiesHalted/AncestorHaltActivities
			delete cm a/x
			set cm a/x {"data":{"v":"2"}}
			parent a=
			see field cm b/x data.v: 2
			see field cm b/x immutable: -
		`},
	})
}

// Some serve a kind of Kubernetes as a custom resource, of which there is no protobuf: here one
// that the clients of Kubernetes know, and the API server does not serve itself.
func TestPropagation_aKindOfKubernetesThatIsServedAsACustomResource(t *testing.T) {
	t.Parallel()
	r := shared(t)
	kind := schema.GroupVersionKind{Group: "lifecycle.k8s.io", Version: "v1alpha1", Kind: "EvictionRequest"}
	r.kinds["request"] = kind
	r.patch(r.Client, "crd", "evictionrequests.lifecycle.k8s.io", `{"metadata":{"annotations":{"api-approved.kubernetes.io":"unapproved, for a test"}},
		"spec":{"group":"lifecycle.k8s.io","scope":"Namespaced",
		"names":{"plural":"evictionrequests","singular":"evictionrequest","kind":"EvictionRequest","listKind":"EvictionRequestList"},
		"versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
	r.see("field crd evictionrequests.lifecycle.k8s.io status.acceptedNames.kind", "EvictionRequest")
	r.Grant(t, "", guard, rbacv1.PolicyRule{APIGroups: []string{kind.Group}, Resources: []string{"evictionrequests"}, Verbs: []string{"*"}})
	r.list(hncv1alpha2.ResourceSpec{Group: kind.Group, Resource: "evictionrequests", Mode: hncv1alpha2.ModePropagate})
	r.Eventually(func() error {
		_, err := r.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		return err
	}, patience, often).Should(gomega.Succeed())
	r.run(`
		tree a b<a
		set request a/x {"spec":{"requester":"some"}}
		see field request b/x spec.requester: some
	`)
}
