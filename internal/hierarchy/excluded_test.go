// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import "testing"

func TestExcluded(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"namespaces of the configuration are left alone, whatever somebody makes in them", `
			see label ns kube-public hnc.x-k8s.io/included-namespace: -
			past set ns kube-public {"metadata":{"labels":{"hnc.x-k8s.io/included-namespace":"true","kube-public.tree.hnc.x-k8s.io/depth":"0"}}}
			see label ns kube-public hnc.x-k8s.io/included-namespace: -
			see label ns kube-public kube-public.tree.hnc.x-k8s.io/depth: -
			past set ns kube-public {"metadata":{"labels":{"hnc.x-k8s.io/excluded-namespace":"true"}}}
			fence
			see label ns kube-public hnc.x-k8s.io/excluded-namespace: true
		`},
		{"Holdfast's own namespace says so from the start, and is left alone without being listed", `
			fence
			see label ns holdfast-system hnc.x-k8s.io/excluded-namespace: true
			see label ns holdfast-system hnc.x-k8s.io/included-namespace: -
			see labels holdfast-system:
		`},
		{"a namespace that leaves while Holdfast runs loses its labels, and keeps what is in it", `
			tree a b<a c<b
			put cm a/x v=1
			put cm b/own v=1
			see copies cm x: a b<a c<a
			see labels b: a=1 b=0
			exclude b
			see labels b:
			see label ns b hnc.x-k8s.io/included-namespace: -
			see children a:
			fence
			set cm a/x {"data":{"v":"2"}}
			fence
			see field cm b/x data.v: 1
			see field hc b spec.parent: a
			include b
			see labels b: a=1 b=0
			see label ns b hnc.x-k8s.io/included-namespace: true
			see children a: b
			see field cm b/x data.v: 2
			see field cm c/x data.v: 2
			see problems c:
		`},
		{"a root that leaves keeps what its HierarchyConfiguration says, without finalizer and status", `
			tree a s^a
			cascade a
			see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
			see children a: s
			exclude a
			see finalizers hc a:
			see children a:
			see field hc a spec.allowCascadingDeletion: true
			see problems s: ActivitiesHalted/IllegalParent BadConfiguration/SubnamespaceAnchorMissing
			see finalizers anchor a/s:
			see anchor a/s: Forbidden
			see there ns s: yes
			include a
			see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
			see children a: s
			see anchor a/s: Ok
			see finalizers anchor a/s: hnc.x-k8s.io
			see problems s:
			see labels s: a=1 s=0
		`},
		{"a subnamespace that leaves is kept, and its anchor is forbidden until it comes back", `
			tree a s^a
			exclude s
			see anchor a/s: Forbidden
			see finalizers anchor a/s:
			see labels s:
			see there ns s: yes
			include s
			see anchor a/s: Ok
			see finalizers anchor a/s: hnc.x-k8s.io
			see labels s: a=1 s=0
		`},
	})
	runLong(t, []row{
		{"those below one that leaves are halted until it comes back", `
			tree a b<a c<b
			put cm a/x v=1
			see copies cm x: a b<a c<a
			exclude b
			see problems c: ActivitiesHalted/IllegalParent
			see labels c: c=0
			delete cm a/x
			fence
			see copies cm x: b<a c<a
			include b
			see problems c:
			see labels c: a=2 b=1 c=0
			see copies cm x:
		`},
		{"an anchor in one that has left goes alone", `
			tree a s^a
			exclude a
			see anchor a/s: Forbidden
			past delete anchor a/s
			see there anchor a/s: no
			fence
			see there ns s: yes
			include a
			see problems s: BadConfiguration/SubnamespaceAnchorMissing
		`},
		{"the label of excluded namespaces stays on one that has left, and goes when it comes back", `
			tree a
			see labels a: a=0
			exclude a
			see labels a:
			past set ns a {"metadata":{"labels":{"hnc.x-k8s.io/excluded-namespace":"true"}}}
			fence
			see label ns a hnc.x-k8s.io/excluded-namespace: true
			include a
			see label ns a hnc.x-k8s.io/excluded-namespace: -
			see labels a: a=0
		`},
		{"the sources of one that has left are not copied, and its objects do not count", `
			tree a b<a
			kind thing
			put thing a/x v=1
			mode things Propagate
			see counts things: Propagate, 1 copies, 1 sources
			exclude a
			see problems b: ActivitiesHalted/IllegalParent
			see counts things: Propagate, 1 copies, 0 sources
			put cm a/y v=1
			fence
			see copies cm y: a
			include a
			see copies cm y: a b<a
			see counts things: Propagate, 1 copies, 1 sources
		`},
		{"managed labels of one that has left stay as they are", `
			tree a b<a
			set hc a {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}]}}
			see label ns b team.example.com/colour: red
			exclude b
			see labels b:
			see label ns b team.example.com/colour: red
			set ns b {"metadata":{"labels":{"team.example.com/colour":"blue"}}}
			fence
			see label ns b team.example.com/colour: blue
			include b
			see label ns b team.example.com/colour: red
		`},
	})
}
