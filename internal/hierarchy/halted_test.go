// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import "testing"

func TestHalted_copiesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"none is made, and those that were to be made come when it is over", `
			tree a b<a c<b
			past parent a=z
			see problems c: ActivitiesHalted/AncestorHaltActivities
			put cm a/x v=1
			put cm b/y v=1
			fence
			see copies cm x: a
			see copies cm y: b
			parent a=
			see copies cm x: a b<a c<a
			see copies cm y: b c<b
		`},
		{"none is taken away, and those without a source go when it is over", `
			tree a b<a c<b
			put cm a/x v=1
			see copies cm x: a b<a c<a
			past parent a=z
			see problems c: ActivitiesHalted/AncestorHaltActivities
			delete cm a/x
			fence
			see copies cm x: b<a c<a
			parent a=
			see copies cm x:
		`},
		{"a part of a tree can be halted while the rest goes on", `
			tree a b<a c<a d<c
			put cm a/x v=1
			see copies cm x: a b<a c<a d<a
			past parent c=z
			see problems d: ActivitiesHalted/AncestorHaltActivities
			set cm a/x {"data":{"v":"2"}}
			see field cm b/x data.v: 2
			fence
			see field cm d/x data.v: 1
			see problems b:
			parent c=a
			see field cm d/x data.v: 2
			see problems d:
		`},
		{"a subnamespace in a halted tree is made, and gets its copies when it is over", `
			tree a
			put cm a/x v=1
			past parent a=z
			see problems a: ActivitiesHalted/ParentMissing
			past anchor a/s
			see anchor a/s: Ok
			see problems s: ActivitiesHalted/AncestorHaltActivities
			fence
			see copies cm x: a
			parent a=
			see copies cm x: a s<a
		`},
		{"the condition of a namespace says that nothing comes", `
			tree a b<a
			see complete b: True Copied
			past parent a=z
			see complete b: False Halted
			parent a=
			see complete b: True Copied
		`},
	})
	runLong(t, []row{
		{"none is changed, and what changed meanwhile comes when it is over", `
			tree a b<a c<b
			put cm a/x v=1
			see copies cm x: a b<a c<a
			past parent a=z
			see problems c: ActivitiesHalted/AncestorHaltActivities
			set cm a/x {"data":{"v":"2"}}
			fence
			see field cm b/x data.v: 1
			see field cm c/x data.v: 1
			parent a=
			see field cm b/x data.v: 2
			see field cm c/x data.v: 2
		`},
		{"what somebody does to a copy stays, until it is over", `
			tree a b<a c<b
			put cm a/x v=1
			put cm a/y v=1
			see copies cm x: a b<a c<a
			see copies cm y: a b<a c<a
			past parent a=z
			see problems c: ActivitiesHalted/AncestorHaltActivities
			past delete cm c/x
			past set cm c/y {"data":{"v":"mine"}}
			fence
			see copies cm x: a b<a
			see field cm c/y data.v: mine
			parent a=
			see copies cm x: a b<a c<a
			see field cm c/y data.v: 1
		`},
		{"in a cycle too", `
			tree a b<a c<b
			put cm a/x v=1
			see copies cm x: a b<a c<a
			past parent a=b
			see problems c: ActivitiesHalted/AncestorHaltActivities
			set cm a/x {"data":{"v":"2"}}
			fence
			see field cm b/x data.v: 1
			see field cm c/x data.v: 1
			parent a=
			see field cm b/x data.v: 2
			see field cm c/x data.v: 2
		`},
		{"a namespace that joins a halted tree keeps what it has", `
			tree a b c<b
			put cm b/x v=1
			see copies cm x: b c<b
			past parent a=z
			see problems a: ActivitiesHalted/ParentMissing
			past parent c=a
			see problems c: ActivitiesHalted/AncestorHaltActivities
			fence
			see copies cm x: b c<b
			parent a=
			see copies cm x: b
		`},
	})
}
