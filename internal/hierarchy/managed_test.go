// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import "testing"

// Labels and annotations below team.example.com are managed in the shared cluster.
func TestManaged_labelsAndAnnotations(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"are set for a namespace and all below it", `
			tree a b<a c<b
			set hc a {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}],"annotations":[{"key":"team.example.com/note","value":"n"}]}}
			see label ns a team.example.com/colour: red
			see label ns b team.example.com/colour: red
			see label ns c team.example.com/colour: red
			see annotation ns a team.example.com/note: n
			see annotation ns c team.example.com/note: n
		`},
		{"change and go with what sets them", `
			tree a b<a
			set hc a {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}],"annotations":[{"key":"team.example.com/note","value":"n"}]}}
			see label ns b team.example.com/colour: red
			see annotation ns b team.example.com/note: n
			set hc a {"spec":{"labels":[{"key":"team.example.com/colour","value":"blue"}]}}
			see label ns b team.example.com/colour: blue
			set hc a {"spec":{"labels":null,"annotations":null}}
			see label ns b team.example.com/colour: -
			see label ns a team.example.com/colour: -
			see annotation ns b team.example.com/note: -
		`},
		{"of an ancestor win", `
			tree a b<a c<b
			set hc b {"spec":{"labels":[{"key":"team.example.com/colour","value":"blue"},{"key":"team.example.com/shape","value":"round"}]}}
			see label ns c team.example.com/colour: blue
			set hc a {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}]}}
			see label ns b team.example.com/colour: red
			see label ns c team.example.com/colour: red
			see label ns c team.example.com/shape: round
			set hc a {"spec":{"labels":null}}
			see label ns b team.example.com/colour: blue
			see label ns c team.example.com/colour: blue
		`},
		{"that nothing sets are taken away", `
			tree a
			set ns a {"metadata":{"labels":{"team.example.com/colour":"red"},"annotations":{"team.example.com/note":"n","other.example.com/note":"n"}}}
			see label ns a team.example.com/colour: -
			see annotation ns a team.example.com/note: -
			see annotation ns a other.example.com/note: n
		`},
		{"are put back", `
			tree a b<a
			set hc a {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}]}}
			see label ns b team.example.com/colour: red
			set ns b {"metadata":{"labels":{"team.example.com/colour":"blue"}}}
			see label ns b team.example.com/colour: red
			set ns b {"metadata":{"labels":{"team.example.com/colour":null}}}
			see label ns b team.example.com/colour: red
		`},
		{"of a subnamespace are those of its anchor", `
			tree a s^a t^s
			set anchor a/s {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}],"annotations":[{"key":"team.example.com/note","value":"n"}]}}
			see label ns s team.example.com/colour: red
			see label ns t team.example.com/colour: red
			see annotation ns t team.example.com/note: n
			see field hc s spec.labels: [map[key:team.example.com/colour value:red]]
			set anchor a/s {"spec":{"labels":null}}
			see label ns t team.example.com/colour: -
			see field hc s spec.labels: -
		`},
		{"whose keys may not be managed are not set, and a condition says so", `
			tree a b<a
			past set hc a {"spec":{"labels":[{"key":"other.example.com/x","value":"1"},{"key":"team.example.com/colour","value":"red"}],"annotations":[{"key":"other.example.com/y","value":"1"}]}}
			see problems a: BadConfiguration/IllegalManagedAnnotation BadConfiguration/IllegalManagedLabel
			see message a IllegalManagedLabel: the configuration does not let these labels be managed: other.example.com/x
			see message a IllegalManagedAnnotation: the configuration does not let these annotations be managed: other.example.com/y
			see label ns b team.example.com/colour: red
			see label ns b other.example.com/x: -
			see annotation ns b other.example.com/y: -
			see problems b:
			set hc a {"spec":{"labels":null,"annotations":null}}
			see problems a:
		`},
		{"of Holdfast's own domain are never managed", `
			tree a b<a
			past set hc a {"spec":{"labels":[{"key":"hnc.x-k8s.io/excluded-namespace","value":"true"}]}}
			see problems a: BadConfiguration/IllegalManagedLabel
			see label ns b hnc.x-k8s.io/excluded-namespace: -
		`},
		{"select where copies go", `
			tree a b<a c<a
			set hc b {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}]}}
			put cm a/x @propagate.hnc.x-k8s.io/select=team.example.com/colour=red
			see copies cm x: a b<a
			set hc b {"spec":{"labels":null}}
			see copies cm x: a
			set hc c {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}]}}
			see copies cm x: a c<a
		`},
	})
	runLong(t, []row{
		{"come and go when a namespace moves", `
			tree a b c<a
			set hc a {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}]}}
			set hc b {"spec":{"annotations":[{"key":"team.example.com/note","value":"n"}]}}
			see label ns c team.example.com/colour: red
			parent c=b
			see label ns c team.example.com/colour: -
			see annotation ns c team.example.com/note: n
		`},
		{"that the HierarchyConfiguration of a subnamespace says give way to those of its anchor", `
			tree a s^a
			set anchor a/s {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}]}}
			see label ns s team.example.com/colour: red
			set hc s {"spec":{"labels":[{"key":"team.example.com/colour","value":"blue"},{"key":"team.example.com/shape","value":"round"}]}}
			see field hc s spec.labels: [map[key:team.example.com/colour value:red]]
			see label ns s team.example.com/colour: red
			see label ns s team.example.com/shape: -
		`},
		{"whose keys in an anchor may not be managed make a condition of the subnamespace", `
			tree a s^a
			past set anchor a/s {"spec":{"labels":[{"key":"other.example.com/x","value":"1"}]}}
			see problems s: BadConfiguration/IllegalManagedLabel
			see label ns s other.example.com/x: -
		`},
		{"above an orphan do not reach it", `
			tree a b<a c<b
			set hc a {"spec":{"labels":[{"key":"team.example.com/colour","value":"red"}]}}
			see label ns c team.example.com/colour: red
			past parent b=z
			see problems b: ActivitiesHalted/ParentMissing
			see label ns b team.example.com/colour: -
			see label ns c team.example.com/colour: -
		`},
	})
}
