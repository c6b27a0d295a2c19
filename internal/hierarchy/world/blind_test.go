// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// While nobody can see how trees change nothing that cannot be undone follows from
// what they were, and it is said.
func TestBlind(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	declared := 0
	r.o.Declared = func() { declared++ }
	r.tell("ns a\nns b\nparent b=a\nrole a/x\ncopy b/x<a")
	r.tell("delete a/x")
	at := Ref{"a", "s"}
	anchor := &hncv1alpha2.SubnamespaceAnchor{}
	anchor.Namespace, anchor.Name, anchor.DeletionTimestamp = at.Namespace, at.Name, &metav1.Time{}
	r.do(func(s *state, b *batch) { s.seen(anchors, anchor, b) })
	h := &session{world: r.World, ctx: t.Context()}
	told := func() {
		t.Helper()
		r.dirty = Dirty{}
		r.take(t.Context())
	}
	see := func(when string, blind bool) {
		t.Helper()
		if r.plan("b/x").Explained == blind {
			t.Errorf("%s: explained: %t", when, !blind)
		}
		if (r.Anchor(at) == nil) != blind {
			t.Errorf("%s: the anchor is %+v", when, r.Anchor(at))
		}
		if says := r.Blind(); (says != "") != blind {
			t.Errorf("%s: it is said: %q", when, says)
		}
	}
	see("at first", false)

	for _, why := range []string{"first", "second"} {
		h.Failed(r.source(), errors.New(why))
		told()
	}
	see("the objects of a kind cannot be seen", false)
	if says := r.Config().Resources[1].Failing; says != "first" || r.dirty.Config {
		t.Errorf("of the kind it is said: %q, and again: %t", says, r.dirty.Config)
	}

	declared = 0
	for _, why := range []string{"first", "second"} {
		h.Failed(configs, errors.New(why))
		told()
	}
	see("hierarchies cannot be seen", true)
	if declared != 1 || !strings.Contains(r.Blind(), "first") {
		t.Errorf("it is told %d times, and said: %q", declared, r.Blind())
	}

	// Their CRD goes after that of hierarchies, as where both are uninstalled.
	r.do(func(s *state, b *batch) { s.goneDefinition(anchorCRD, b) })
	if p := r.Anchor(at); p == nil || p.DeletesSubnamespace || !r.dirty.Anchors.Has(at) {
		t.Errorf("the CRD of anchors goes: the anchor is %+v, and to be looked at: %+v", p, r.dirty.Anchors)
	}
	r.do(func(s *state, _ *batch) { s.definitions[anchorCRD] = definition{uid: "new"} })

	h.Works(configs)
	told()
	see("they can again", false)
	if declared != 2 || !r.dirty.Anchors.Has(at) {
		t.Errorf("it is told %d times, and to be looked at: %+v", declared, r.dirty.Anchors)
	}
}
