// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import "testing"

func TestPropagation_roleBindingsGrantWhatTheirSourceGrants(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"they come with their Role, and go with it", `
			tree a b<a c<b
			put role a/x
			put rb a/y kind=Role role=x
			see copies rb y: a b<a c<a
			set role a/x {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/treeSelect":"!{c}"}}}
			see copies rb y: a b<a
			see copies role x: a b<a
			see events rb a/y: CannotPropagateObject
			delete role a/x
			see copies rb y: a
			see copies role x:
			put role a/x
			see copies rb y: a b<a c<a
		`},
		{"a descendant has another Role of the name", `
			tree a b<a
			put role b/x verb=*
			put role a/x @propagate.hnc.x-k8s.io/none=true
			put rb a/y kind=Role role=x
			see events rb a/y: CannotPropagateObject
			see copies rb y: a
			delete role b/x
			set role a/x {"metadata":{"annotations":null}}
			see copies rb y: a b<a
		`},
		{"a descendant keeps another Role, which is protected", `
			tree a b<a
			put role b/x verb=* +holdfast.dev/deletion-protected=Always
			past put role a/x
			put rb a/y kind=Role role=x
			see events role a/x: CannotPropagateObject
			see events rb a/y: CannotPropagateObject
			see copies rb y: a
			set role b/x {"metadata":{"labels":null}}
			see copies rb y: a b<a
		`},
		{"they refer to a Role that is a copy", `
			tree a b<a c<b
			put role a/x
			see copies role x: a b<a c<a
			put rb b/y kind=Role role=x
			see copies rb y: b c<b
			set role a/x {"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}]}
			see field role c/x rules: [map[apiGroups:[] resources:[pods] verbs:[list]]]
			see copies rb y: b c<b
		`},
	})
	runLong(t, []row{
		{"an older version copied one without its Role", `
			tree a b<a
			put role b/x verb=*
			put rb a/y kind=Role role=x
			see events rb a/y: CannotPropagateObject
			past put rb b/y kind=Role role=x +hnc.x-k8s.io/inherited-from={a} +app.kubernetes.io/managed-by=hnc.x-k8s.io
			see copies rb y: a
		`},
		{"a namespace moves below one with another Role", `
			tree a b<a d
			put role a/x
			put role d/x verb=*
			put rb a/y kind=Role role=x
			see copies rb y: a b<a
			parent b=d
			see copies role x: a b<d d
			see copies rb y: a
		`},
	})
}

func TestManaged_podSecurityOfSubnamespaces(t *testing.T) {
	t.Parallel()
	const key = "pod-security.kubernetes.io/enforce"
	set := func(ns, value string) string {
		return "set ns " + ns + ` {"metadata":{"labels":{"` + key + `":` + value + `}}}` + "\n"
	}
	see := func(ns, value string) string { return "see label ns " + ns + " " + key + ": " + value + "\n" }
	run(t, []row{
		{"is that of the parent, and follows it", "tree a s^a t^s\n" +
			set("a", `"restricted"`) + see("s", "restricted") + see("t", "restricted") +
			set("s", `null`) + see("s", "restricted") +
			set("a", `null`) + see("t", "-")},
		{"is what an administrator sets", "tree a s^a t^s\n" + set("a", `"restricted"`) + see("t", "restricted") +
			set("s", `"privileged"`) + see("t", "privileged") +
			set("a", `"baseline"`) + "fence\n" + see("s", "privileged") +
			set("s", `null`) + see("t", "baseline")},
	})
	runLong(t, []row{
		{"is not given to a full namespace", "tree a b<a\n" + set("a", `"restricted"`) + "fence\n" + see("b", "-")},
		{"of one that HNC created stays, until the annotation has it follow", `
			tree a
			` + set("a", `"restricted"`) + `
			past set ns s {"metadata":{"annotations":{"hnc.x-k8s.io/subnamespace-of":"{a}"}}}
			anchor a/s
			see anchor a/s: Ok
			fence
			` + see("s", "-") + `
			set ns s {"metadata":{"annotations":{"holdfast.dev/inherited-pod-security":""}}}
			` + see("s", "restricted")},
	})
}
