// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"testing"

	"github.com/onsi/gomega"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"of a source with finalizers", `
			tree a b<a
			see children a: b
			put cm a/x !example.com/held
			see events cm a/x: CannotPropagateObject
		`},
		{"of a source whose exceptions cannot be read", `
			tree a b<a
			see children a: b
			past put cm a/x @propagate.hnc.x-k8s.io/select==(
			past put cm a/y @propagate.hnc.x-k8s.io/treeSelect={b},
			past put cm a/z @propagate.hnc.x-k8s.io/none=maybe
			see events cm a/x: CannotParseSelector
			see events cm a/y: CannotParseSelector
			see events cm a/z: CannotParseSelector
		`},
		{"of a source that is copied: none", `
			tree a b<a
			put cm a/x v=1
			see copies cm x: a b<a
			fence
			see events cm a/x:
			see events cm b/x:
		`},
		{"of a source that cannot be copied to a namespace", `
			tree a b<a
			put quota b/stop v=1
			set quota b/stop {"spec":{"hard":{"count/configmaps":"0"}}}
			see field quota b/stop status.hard: map[count/configmaps:0 pods:10]
			put cm a/x v=1
			see events cm a/x: CannotPropagateObject
			see complete b: False CannotCopy
			delete quota b/stop
			see copies cm x: a b<a
			see complete b: True Copied
		`},
		{"of an anchor whose subnamespace cannot be made", `
			tree a
			past anchor a/name.with.dots
			see events anchor a/name.with.dots: CannotUpdateObject
		`},
	})
	runLong(t, []row{
		{"of a source with finalizers that gets somebody below it", `
			tree a b
			put cm a/x !example.com/held
			fence
			see events cm a/x:
			parent b=a
			see events cm a/x: CannotPropagateObject
		`},
	})
}

// What something in the API server changes on the way is told, and not written over
// and over.
func TestEvents_ofACopyThatIsChangedOnTheWay(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.run("tree a b<a")
	r.Apply(t, "", r.long(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: "{.}", labels: {holdfast.dev/testkit: made}}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "{b}"}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{annotations: {"changed": "yes"}}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: "{.}", labels: {holdfast.dev/testkit: made}}
spec: {policyName: "{.}"}
`))
	r.Eventually(func() string {
		r.put(r.Client, "cm", "b/probe", nil)
		return text(r.get("cm", "b/probe").GetAnnotations(), "changed")
	}, patience, often).Should(gomega.Equal("yes"))
	r.run(`
		put cm a/x v=1
		see annotation cm b/x changed: yes
		see events cm a/x: CannotUpdateObject
		fence
	`)
	version := r.get("cm", "b/x").GetResourceVersion()
	r.run("fence")
	if now := r.get("cm", "b/x").GetResourceVersion(); now != version {
		t.Errorf("the copy was written again: %s, before %s", now, version)
	}
	r.run("set cm a/x {\"data\":{\"v\":\"2\"}}\nsee field cm b/x data.v: 2")
	r.Kubectl(t, "delete", "mutatingadmissionpolicies,mutatingadmissionpolicybindings", r.prefix)
}
