// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"strings"
	"testing"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

const (
	sel     = "@" + hncv1alpha2.AnnotationSelect + "="
	treeSel = "@" + hncv1alpha2.AnnotationTreeSelect + "="
	noneAt  = "@" + hncv1alpha2.AnnotationNone + "="
	allAt   = "@" + hncv1alpha2.AnnotationAll + "="
)

// The sources of all rows are in a, above b, c and d, and d above e; b and e have
// the label side=left.
func TestPropagation_exceptions(t *testing.T) {
	t.Parallel()
	const everywhere = "a b<a c<a d<a e<a"
	tests := []struct {
		name string
		kind string // cm is copied, secret if it asks for it
		with string
		want string
	}{
		{"nothing said", "cm", "", everywhere},
		{"nothing said, where it must be", "secret", "", "a"},

		{"select", "cm", sel + "side=left", "a b<a e<a"},
		{"select, where it must be said", "secret", sel + "side=left", "a b<a e<a"},
		{"select with not", "cm", sel + "!side", "a c<a d<a"},
		{"select with a set", "cm", sel + "side_in_(left,right)", "a b<a e<a"},
		{"select by the tree", "cm", sel + "{d}.tree.hnc.x-k8s.io/depth", "a d<a e<a"},
		{"select by the depth", "cm", sel + "{a}.tree.hnc.x-k8s.io/depth=1", "a b<a c<a d<a"},
		{"select by the name", "cm", sel + "kubernetes.io/metadata.name={c}", "a c<a"},
		{"select that matches nothing", "cm", sel + "side=up", "a"},
		{"select that cannot be read", "cm", sel + "side=(left", "a"},
		{"select that is empty is none", "cm", sel, everywhere},
		{"select that is empty asks for nothing", "secret", sel, "a"},

		{"treeSelect", "cm", treeSel + "{d}", "a d<a e<a"},
		{"treeSelect, where it must be said", "secret", treeSel + "{d}", "a d<a e<a"},
		{"treeSelect of the own namespace", "cm", treeSel + "{a}", everywhere},
		{"treeSelect with not", "cm", treeSel + "!{d}", "a b<a c<a"},
		{"treeSelect with several not", "cm", treeSel + "!{b},_!{d}", "a c<a"},
		{"treeSelect with one and one not", "cm", treeSel + "{d},!{e}", "a d<a"},
		{"treeSelect of two", "cm", treeSel + "{b},{d}", "a"},
		{"treeSelect that ends in a comma, which ended HNC", "cm", treeSel + "{d},", "a"},
		{"treeSelect of a blank, which ended HNC", "cm", treeSel + "_", "a"},
		{"treeSelect of what is no name", "cm", treeSel + "UPPER", "a"},

		{"none", "cm", noneAt + "true", "a"},
		{"none, as ParseBool reads it", "cm", noneAt + "T", "a"},
		{"none that is false", "cm", noneAt + "false", everywhere},
		{"none that is false asks for nothing", "secret", noneAt + "false", "a"},
		{"none that cannot be read", "cm", noneAt + "maybe", "a"},
		{"all", "secret", allAt + "true", everywhere},
		{"all where it need not be said", "cm", allAt + "true", everywhere},
		{"all that is false asks for nothing", "secret", allAt + "0", "a"},
		{"all that cannot be read", "cm", allAt + "maybe", "a"},

		{"select and treeSelect: both must match", "cm", sel + "side=left " + treeSel + "{d}", "a e<a"},
		{"select and none: none wins", "cm", sel + "side=left " + noneAt + "true", "a"},
		{"all and none: none wins", "secret", allAt + "true " + noneAt + "true", "a"},

		{"Secrets of service accounts", "secret", allAt + "true type=kubernetes.io/service-account-token @kubernetes.io/service-account.name=default", "a"},
		{"Secrets of Helm's releases", "secret", allAt + "true type=helm.sh/release.v1", "a"},
		{"Secrets of another type", "secret", allAt + "true type=example.com/other", everywhere},
		{"what OpenShift puts into each of its projects", "cm", "@openshift.io/description=x", "a"},
		{"what carries a label that is not copied", "cm", "+cattle.io/creator=norman", "a"},
		{"what carries the label with another value", "cm", "+cattle.io/creator=somebody", everywhere},
		{"what carries a finalizer", "cm", "!example.com/held", "a"},
	}
	r := shared(t)
	r.run(`
		tree a b<a c<a d<a e<d
		set ns b {"metadata":{"labels":{"side":"left"}}}
		set ns e {"metadata":{"labels":{"side":"left"}}}
		see labels e: a=2 d=1 e=0
	`)
	for i, tt := range tests {
		var words []string
		for w := range strings.FieldsSeq(tt.with) {
			words = append(words, strings.ReplaceAll(w, "_", " "))
		}
		r.put(r.past, tt.kind, fmt.Sprintf("a/x%d", i), words)
	}
	// Where nothing is to come, nothing came before all of this.
	r.fence()
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			on := *r
			on.t = t
			on.see(fmt.Sprintf("copies %s x%d", tt.kind, i), tt.want)
		})
	}
}

func TestPropagation_exceptionsChange(t *testing.T) {
	t.Parallel()
	run(t, []row{
		{"when the annotation does", `
			tree a b<a c<a
			put cm a/x v=1
			see copies cm x: a b<a c<a
			set cm a/x {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/treeSelect":"!{b}"}}}
			see copies cm x: a c<a
			set cm a/x {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/treeSelect":null,"propagate.hnc.x-k8s.io/none":"true"}}}
			see copies cm x: a
			set cm a/x {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/none":null}}}
			see copies cm x: a b<a c<a
		`},
		{"when the labels of a namespace do", `
			tree a b<a c<a
			put cm a/x @propagate.hnc.x-k8s.io/select=side=left
			fence
			see copies cm x: a
			set ns b {"metadata":{"labels":{"side":"left"}}}
			see copies cm x: a b<a
			set ns b {"metadata":{"labels":{"side":"right"}}}
			see copies cm x: a
		`},
		{"when the place of a namespace does", `
			tree a b<a c<a d<b
			put cm a/x @propagate.hnc.x-k8s.io/treeSelect={b}
			see copies cm x: a b<a d<a
			parent d=c
			see copies cm x: a b<a
			parent c=b
			see copies cm x: a b<a c<a d<a
		`},
		{"one that cannot be read any more takes the copies away, and one that can brings them back", `
			tree a b<a
			put cm a/x @propagate.hnc.x-k8s.io/select=!side
			see copies cm x: a b<a
			past set cm a/x {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/select":"=("}}}
			see copies cm x: a
			set cm a/x {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/select":null}}}
			see copies cm x: a b<a
		`},
	})
}
