// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import "testing"

func TestAnchor_states(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"Ok, with a subnamespace that is made", `
			tree a
			anchor a/s
			see anchor a/s: Ok
			see finalizers anchor a/s: hnc.x-k8s.io
			see annotation ns s hnc.x-k8s.io/subnamespace-of: a
			see labels s: a=1 s=0
			see field hc s spec.parent: a
			see children a: s
			see problems s:
		`},
		{"Conflict, where a namespace of the name is no subnamespace", `
			tree a s
			past anchor a/s
			see anchor a/s: Conflict
			fence
			see labels s: s=0
			see children a:
		`},
		{"Missing, where the subnamespace cannot be made", `
			tree a
			past anchor a/name.with.dots
			see anchor a/name.with.dots: Missing
			past delete anchor a/name.with.dots
			see there anchor a/name.with.dots: no
		`},
	})
	runLong(t, []row{
		{"Ok again, when the subnamespace was there and the anchor comes back", `
			tree a s^a
			put cm s/x v=1
			past set anchor a/s {"metadata":{"finalizers":null}}
			past set anchor a/s {"status":{"status":"Conflict"}}
			see anchor a/s: Ok
			see finalizers anchor a/s: hnc.x-k8s.io
		`},
		{"Conflict, where it is one of another namespace", `
			tree a b s^a
			past anchor b/s
			see anchor b/s: Conflict
			see anchor a/s: Ok
			see labels s: a=1 s=0
		`},
		{"Ok after Conflict, in its own parent, when the namespace of the name goes", `
			tree a b s^a
			past anchor b/s
			see anchor b/s: Conflict
			delete anchor a/s
			see there anchor a/s: no
			see anchor b/s: Ok
			see labels s: b=1 s=0
		`},
		{"Forbidden, where the name is excluded", `
			tree a
			past anchor a/excluded
			see anchor a/excluded: Forbidden
			see finalizers anchor a/excluded:
			see there ns excluded: no
			past delete anchor a/excluded
			see there anchor a/excluded: no
		`},
		{"Ok after Conflict, when the namespace becomes a subnamespace", `
			tree a s
			past anchor a/s
			see anchor a/s: Conflict
			past set ns s {"metadata":{"annotations":{"hnc.x-k8s.io/subnamespace-of":"{a}"}}}
			see anchor a/s: Ok
			see labels s: a=1 s=0
		`},
		{"Missing for a moment, when the subnamespace goes by itself: it is made again", `
			tree a s^a
			put cm s/x v=1
			past delete ns s
			see copies cm x:
			see anchor a/s: Ok
			see labels s: a=1 s=0
		`},
	})
}

func TestAnchor_parents(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"the annotation is right, whatever the HierarchyConfiguration says", `
			tree a b s^a
			see field hc s spec.parent: a
			past parent s=b
			see field hc s spec.parent: a
			see labels s: a=1 s=0
		`},
		{"without the annotation it is a full namespace, where it was", `
			tree a s^a
			see field hc s spec.parent: a
			past set ns s {"metadata":{"annotations":{"hnc.x-k8s.io/subnamespace-of":null}}}
			see anchor a/s: Conflict
			see labels s: a=1 s=0
			parent s=
			see labels s: s=0
		`},
		{"subnamespaces can have subnamespaces and full children", `
			tree a s^a t^s c<s
			see labels t: a=2 s=1 t=0
			see labels c: a=2 c=0 s=1
			see children s: c t
		`},
		{"a subnamespace gets copies, and hands on its own", `
			tree a
			put role a/x
			tree s^a t^s
			put role s/y
			see copies role x: a s<a t<a
			see copies role y: s t<s
		`},
	})
	runLong(t, []row{
		{"the annotation moves a subnamespace", `
			tree a b s^a
			past set ns s {"metadata":{"annotations":{"hnc.x-k8s.io/subnamespace-of":"{b}"}}}
			see labels s: b=1 s=0
			see anchor a/s: Conflict
			see problems s: BadConfiguration/SubnamespaceAnchorMissing
			past anchor b/s
			see problems s:
			see anchor b/s: Ok
		`},
		{"a subnamespace whose parent does not exist is an orphan", `
			past set ns s {"metadata":{"annotations":{"hnc.x-k8s.io/subnamespace-of":"{z}"}}}
			see problems s: ActivitiesHalted/ParentMissing BadConfiguration/SubnamespaceAnchorMissing
			see labels s: s=0
		`},
	})
}

func TestAnchor_deletion(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"takes the subnamespace with it, and waits for it", `
			tree a s^a
			put cm s/x !example.com/held
			see children a: s
			delete anchor a/s
			see there ns s: going
			see there anchor a/s: going
			see anchor a/s: Ok
			set cm s/x {"metadata":{"finalizers":null}}
			see there ns s: no
			see there anchor a/s: no
			see children a:
		`},
		{"leaves a subnamespace that has children, without cascading", `
			tree a s^a t^s
			past delete anchor a/s
			see there anchor a/s: no
			see problems s: BadConfiguration/SubnamespaceAnchorMissing
			see message s SubnamespaceAnchorMissing: there is no anchor "s" in the parent "a"
			see labels t: a=2 s=1 t=0
			see there ns s: yes
		`},
		{"takes all subnamespaces with it, where cascading is allowed", `
			tree a s^a t^s
			cascade s
			see field hc s spec: map[allowCascadingDeletion:true parent:a]
			fence
			delete anchor a/s
			see there ns t: no
			see there ns s: no
			see there anchor a/s: no
		`},
		{"orphans full children, however much cascading is allowed", `
			tree a s^a t^s c<s d<t
			cascade s
			see children s: c t
			see children t: d
			fence
			delete anchor a/s
			see there ns t: no
			see there ns s: no
			see problems c: ActivitiesHalted/ParentMissing
			see problems d: ActivitiesHalted/ParentMissing
		`},
		{"of one in conflict leaves the namespace", `
			tree a s
			past anchor a/s
			see anchor a/s: Conflict
			delete anchor a/s
			see there anchor a/s: no
			fence
			see there ns s: yes
		`},
		{"by the deletion of its namespace takes a subtree with it, where cascading is allowed", `
			tree a s^a t^s
			cascade a
			see field hc a spec.allowCascadingDeletion: true
			fence
			delete ns a
			see there ns t: no
			see there ns s: no
			see there ns a: no
		`},
	})
	runLong(t, []row{
		{"leaves a subnamespace that has a full child, without cascading", `
			tree a s^a c<s
			see children s: c
			past delete anchor a/s
			see there anchor a/s: no
			see there ns s: yes
		`},
		{"takes all subnamespaces with it, where an ancestor allows cascading", `
			tree a b<a s^b t^s
			cascade a
			see field hc a spec.allowCascadingDeletion: true
			fence
			delete anchor b/s
			see there ns t: no
			see there ns s: no
			see there anchor b/s: no
			see there ns b: yes
		`},
		{"of one whose subnamespace has gone lets it go", `
			tree a s^a
			put cm s/x !example.com/held
			delete anchor a/s
			see there ns s: going
			set cm s/x {"metadata":{"finalizers":null}}
			see there anchor a/s: no
			see there ns s: no
		`},
		{"by the deletion of its namespace takes leaves with it", `
			tree a s^a
			past delete ns a
			see there ns a: no
			see there ns s: no
		`},
		{"by the deletion of its namespace leaves a subtree, without cascading", `
			tree a s^a t^s
			past delete ns a
			see there ns a: no
			see problems s: ActivitiesHalted/ParentMissing BadConfiguration/SubnamespaceAnchorMissing
			see problems t: ActivitiesHalted/AncestorHaltActivities
			see there ns t: yes
		`},
	})
}

func TestAnchor_finalizerOfTheHierarchyConfiguration(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"stands while there is an anchor", `
			tree a
			see there hc a: no
			tree s^a t^a
			see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
			delete anchor a/s
			see there anchor a/s: no
			see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
			delete anchor a/t
			see finalizers hc a:
		`},
		{"is put back", `
			tree a s^a
			see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
			past set hc a {"metadata":{"finalizers":null}}
			see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
		`},
		{"leaves those of others", `
			tree a
			set hc a {"metadata":{"finalizers":["example.com/mine"]}}
			tree s^a
			see finalizers hc a: example.com/mine hnc.x-k8s.io/hasSubnamespace
			delete anchor a/s
			see finalizers hc a: example.com/mine
		`},
	})
	runLong(t, []row{
		{"stands for an anchor in conflict too", `
			tree a s
			past anchor a/s
			see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
		`},
		{"does not keep one that is deleted by itself", `
			tree a s^a
			set hc a {"spec":{"allowCascadingDeletion":true}}
			see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
			past delete hc a
			see field hc a spec: -
			see finalizers hc a: hnc.x-k8s.io/hasSubnamespace
			see children a: s
		`},
	})
}
