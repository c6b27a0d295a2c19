// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import "testing"

func TestTree_parents(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"labels say where a namespace stands", `
			tree a b<a c<b d
			see labels a: a=0
			see labels b: a=1 b=0
			see labels c: a=2 b=1 c=0
			see labels d: d=0
			see children a: b
			see label ns d hnc.x-k8s.io/included-namespace: true
		`},
		{"children stand in the order of their names", `
			tree a c<a b<a d<a
			see children a: b c d
		`},
		{"a namespace that is in no tree has no HierarchyConfiguration", `
			tree a b
			fence
			see labels a: a=0
			see there hc a: no
		`},
		{"a root with children has one", `
			tree a b<a
			see there hc a: yes
			see field hc a spec: -
		`},
		{"a namespace gets another parent, with all below it", `
			tree a b c<a d<c
			see labels d: a=2 c=1 d=0
			parent c=b
			see labels d: b=2 c=1 d=0
			see labels c: b=1 c=0
			see children a:
			see children b: c
		`},
		{"a tree can be as deep as a label allows", `
			tree a b<a c<b d<c e<d f<e g<f h<g i<h j<i k<j l<k
			see labels l: a=11 b=10 c=9 d=8 e=7 f=6 g=5 h=4 i=3 j=2 k=1 l=0
			past parent a=l
			see problems l: ActivitiesHalted/InCycle
		`},
	})
	runLong(t, []row{
		{"a namespace becomes a root", `
			tree a b<a c<b
			see labels c: a=2 b=1 c=0
			parent b=
			see labels c: b=1 c=0
			see labels b: b=0
			see children a:
		`},
		{"a HierarchyConfiguration that goes takes its parent away", `
			tree a b<a c<b
			see labels c: a=2 b=1 c=0
			past delete hc b
			see labels c: b=1 c=0
			see labels b: b=0
			see children b: c
		`},
	})
}

func TestTree_labelsArePutBack(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"one that is changed", `
			tree a b<a
			see labels b: a=1 b=0
			past set ns b {"metadata":{"labels":{"{a}.tree.hnc.x-k8s.io/depth":"7"}}}
			see labels b: a=1 b=0
		`},
		{"one that is taken away", `
			tree a b<a
			see labels b: a=1 b=0
			past set ns b {"metadata":{"labels":{"{a}.tree.hnc.x-k8s.io/depth":null,"{b}.tree.hnc.x-k8s.io/depth":null}}}
			see labels b: a=1 b=0
		`},
		{"the label of managed namespaces, when it is taken away", `
			tree a
			see label ns a hnc.x-k8s.io/included-namespace: true
			past set ns a {"metadata":{"labels":{"hnc.x-k8s.io/included-namespace":null}}}
			see label ns a hnc.x-k8s.io/included-namespace: true
		`},
		{"the label of excluded namespaces counts for nothing elsewhere, and goes", `
			tree a b<a
			put role a/x
			see copies role x: a b<a
			past set ns b {"metadata":{"labels":{"hnc.x-k8s.io/excluded-namespace":"true"}}}
			see label ns b hnc.x-k8s.io/excluded-namespace: -
			see labels b: a=1 b=0
			see copies role x: a b<a
		`},
		{"the children in a status", `
			tree a b<a
			see children a: b
			past set hc a {"status":{"children":["x","y"]}}
			see children a: b
		`},
		{"other labels stay", `
			tree a b<a
			set ns b {"metadata":{"labels":{"mine":"1","hnc.x-k8s.io/testNamespace":"true"}}}
			see labels b: a=1 b=0
			parent b=
			see labels b: b=0
			see label ns b mine: 1
			see label ns b hnc.x-k8s.io/testNamespace: true
		`},
	})
	runLong(t, []row{
		{"one that lies is taken away", `
			tree a b
			see labels b: b=0
			past set ns b {"metadata":{"labels":{"{a}.tree.hnc.x-k8s.io/depth":"1"}}}
			see labels b: b=0
		`},
		{"the label of managed namespaces, when it says something else", `
			tree a
			see label ns a hnc.x-k8s.io/included-namespace: true
			past set ns a {"metadata":{"labels":{"hnc.x-k8s.io/included-namespace":"no"}}}
			see label ns a hnc.x-k8s.io/included-namespace: true
		`},
	})
}

func TestTree_orphans(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"a parent that does not exist", `
			tree b
			past parent b=z
			see problems b: ActivitiesHalted/ParentMissing
			see message b ParentMissing: the parent "z" does not exist
			see labels b: b=0
		`},
		{"who is below an orphan is halted too", `
			tree b c<b d<c
			past parent b=z
			see problems c: ActivitiesHalted/AncestorHaltActivities
			see problems d: ActivitiesHalted/AncestorHaltActivities
			see field hc c status.conditions: [map[lastTransitionTime:1970-01-01T00:00:00Z message:nothing is propagated here while the ancestor "b" is halted reason:AncestorHaltActivities status:True type:ActivitiesHalted]]
			see labels d: b=2 c=1 d=0
		`},
		{"a parent that goes leaves orphans, with their copies", `
			tree a b<a
			put cm a/x v=1
			put cm a/held v=1
			see copies cm x: a b<a
			see copies cm held: a b<a
			set cm a/held {"metadata":{"finalizers":["example.com/held"]}}
			past delete ns a
			see copies cm x: b<a
			fence
			see copies cm x: b<a
			set cm a/held {"metadata":{"finalizers":null}}
			see there ns a: no
			see problems b: ActivitiesHalted/ParentMissing
			see labels b: b=0
			fence
			see copies cm x: b<a
			see copies cm held: b<a
		`},
		{"a parent that comes makes it good", `
			tree b c<b
			past parent b=a
			see problems c: ActivitiesHalted/AncestorHaltActivities
			tree a
			see problems b:
			see problems c:
			see labels c: a=2 b=1 c=0
		`},
		{"an orphan is set free", `
			tree b
			past parent b=z
			see problems b: ActivitiesHalted/ParentMissing
			parent b=
			see problems b:
		`},
	})
	runLong(t, []row{
		{"an orphan that is set free loses what it had from above", `
			tree a b<a
			put cm a/x v=1
			see copies cm x: a b<a
			past delete ns a
			see problems b: ActivitiesHalted/ParentMissing
			see copies cm x: b<a
			parent b=
			see copies cm x:
		`},
		{"a parent that is not managed", `
			tree b c<b
			past parent b=kube-public
			see problems b: ActivitiesHalted/IllegalParent
			see message b IllegalParent: the parent "kube-public" is not managed
			see problems c: ActivitiesHalted/AncestorHaltActivities
			parent b=
			see problems b:
			see problems c:
		`},
	})
}

func TestTree_cycles(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"of three say who is in it, from the name that comes first", `
			tree a c<a b<c
			past parent a=b
			see problems a: ActivitiesHalted/InCycle
			see message a InCycle: the namespace is its own ancestor: a <- c <- b <- a
			see message b InCycle: the namespace is its own ancestor: a <- c <- b <- a
			see message c InCycle: the namespace is its own ancestor: a <- c <- b <- a
			see labels b: b=0
			see labels c: c=0
		`},
		{"halt what is below them", `
			tree a b<a c<b d<c
			past parent a=b
			see problems c: ActivitiesHalted/AncestorHaltActivities
			see problems d: ActivitiesHalted/AncestorHaltActivities
			see labels d: b=2 c=1 d=0
		`},
		{"end when somebody gives up a parent", `
			tree a b<a c<b
			past parent a=c
			see problems b: ActivitiesHalted/InCycle
			parent b=
			see problems a:
			see problems b:
			see problems c:
			see labels a: a=0 b=2 c=1
			see labels c: b=1 c=0
		`},
	})
	runLong(t, []row{
		{"of one", `
			tree a
			past parent a=a
			see problems a: ActivitiesHalted/InCycle
			see message a InCycle: the namespace is its own ancestor: a <- a
		`},
		{"end when a member goes, and leave an orphan", `
			tree a b<a
			past parent a=b
			see problems b: ActivitiesHalted/InCycle
			past delete ns a
			see problems b: ActivitiesHalted/ParentMissing
		`},
	})
}

func TestTree_externalNamespaces(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"keep their tree labels, and hand them down with one step more", `
			past set ns e {"metadata":{"annotations":{"hnc.x-k8s.io/managed-by":"somebody"},"labels":{"top.tree.hnc.x-k8s.io/depth":"2","mid.tree.hnc.x-k8s.io/depth":"1"}}}
			tree c<e d<c
			see labels e: e=0 mid=1 top=2
			see labels d: c=1 d=0 e=2 mid=3 top=4
		`},
		{"have no parent, whatever they say", `
			past set ns e {"metadata":{"annotations":{"hnc.x-k8s.io/managed-by":"somebody"}}}
			tree a
			past parent e=a
			fence
			see labels e: e=0
			see children a:
			see problems e:
		`},
		{"keep labels that are managed, and hand them down", `
			past set ns e {"metadata":{"annotations":{"hnc.x-k8s.io/managed-by":"somebody","team.example.com/note":"n"},"labels":{"team.example.com/colour":"red"}}}
			tree c<e
			see label ns c team.example.com/colour: red
			see annotation ns c team.example.com/note: n
			see label ns e team.example.com/colour: red
			see annotation ns e team.example.com/note: n
		`},
		{"are not made by Holdfast's own name", `
			past set ns e {"metadata":{"annotations":{"hnc.x-k8s.io/managed-by":"hnc.x-k8s.io"},"labels":{"top.tree.hnc.x-k8s.io/depth":"2"}}}
			tree a
			parent e=a
			see labels e: a=1 e=0
		`},
	})
	runLong(t, []row{
		{"hand down copies as others do", `
			past set ns e {"metadata":{"annotations":{"hnc.x-k8s.io/managed-by":"somebody"}}}
			tree c<e
			put cm e/x v=1
			see copies cm x: c<e e
		`},
		{"become ordinary ones when nobody manages them any more", `
			past set ns e {"metadata":{"annotations":{"hnc.x-k8s.io/managed-by":"somebody"},"labels":{"top.tree.hnc.x-k8s.io/depth":"2","team.example.com/colour":"red"}}}
			tree c<e
			see labels c: c=0 e=1 top=3
			past set ns e {"metadata":{"annotations":{"hnc.x-k8s.io/managed-by":null}}}
			see labels e: e=0
			see labels c: c=0 e=1
			see label ns c team.example.com/colour: -
			see label ns e team.example.com/colour: -
		`},
	})
}
