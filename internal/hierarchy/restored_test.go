// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import "testing"

func TestRestored(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"a namespace with the labels of a tree stands where its hierarchy says", `
			tree a
			set ns b {"metadata":{"labels":{"{a}.tree.hnc.x-k8s.io/depth":"1","{b}.tree.hnc.x-k8s.io/depth":"0","{c}.tree.hnc.x-k8s.io/depth":"2","holdfast.dev/has-subnamespaces":"true"}}}
			see labels b: b=0
			see label ns b holdfast.dev/has-subnamespaces: -
			set hc b {"spec":{"parent":"{a}"}}
			see labels b: a=1 b=0
		`},
		{"a subnamespace is there before its anchor", `
			tree a
			put cm a/x v=1
			set ns s {"metadata":{"annotations":{"hnc.x-k8s.io/subnamespace-of":"{a}"},"labels":{"{a}.tree.hnc.x-k8s.io/depth":"1"}}}
			anchor a/s
			see anchor a/s: Ok
			see copies cm x: a s<a
		`},
		{"a copy is one again when its namespace is in the tree", `
			tree a b
			put cm a/x v=1
			put cm b/x v=old +hnc.x-k8s.io/inherited-from={a} +velero.io/restore-name=r
			see label cm b/x hnc.x-k8s.io/inherited-from: -
			see annotation cm b/x holdfast.dev/restored-copy-of: a
			parent b=a
			see copies cm x: a b<a
			see annotation cm b/x holdfast.dev/restored-copy-of: -
			see label cm b/x velero.io/restore-name: -
			see field cm b/x data.v: 1
		`},
		{"copies are restored before what they were copied from", `
			tree a b<a c<b
			put cm b/x v=1 +hnc.x-k8s.io/inherited-from={a}
			put cm c/x v=1 +hnc.x-k8s.io/inherited-from={a}
			fence
			see copies cm x: b c
			put cm a/x v=1
			see copies cm x: a b<a c<a
		`},
		{"a copy whose source is not restored is its owner's, and is not copied", `
			tree a b<a c<b
			put cm b/x v=1 +hnc.x-k8s.io/inherited-from={a}
			fence
			see copies cm x: b
			set cm b/x {"data":{"v":"2"}}
			set cm b/x {"metadata":{"annotations":{"holdfast.dev/restored-copy-of":null}}}
			see copies cm x: b c<b
		`},
	})
}
