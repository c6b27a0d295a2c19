// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	r := NewRegistry()
	if _, known := r.Missing(); known || r.Complete() {
		t.Error("it knows who there is before anybody said so")
	}
	if diff := cmp.Diff([]string{"shop", "x"}, r.Set("a", Wants{Since: epoch, Declared: []string{"shop"}, Needed: []string{"shop", "x", object.SyncNamespace, ""}, Makes: true})); diff != "" {
		t.Error(diff)
	}
	r.Expect("a", "b")
	if missing, _ := r.Missing(); !cmp.Equal([]object.Sync{"b"}, missing) || r.Complete() {
		t.Errorf("missing %v", missing)
	}
	r.Set("b", Wants{Since: epoch, Needed: []string{"x"}})
	if !r.Complete() {
		t.Error("all have said what they want")
	}
	if diff := cmp.Diff(Stakes{"a": {How: Makes, Since: epoch}, "b": {How: Needs, Since: epoch}}, r.Stakes("x")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Stakes{"a": {How: Declares, Since: epoch}}, r.Stakes("shop")); diff != "" {
		t.Error(diff)
	}
	same := r.Set("a", Wants{Since: epoch, Declared: []string{"shop"}, Needed: []string{"x"}, Makes: true})
	less := r.Set("a", Wants{Since: epoch, Needed: []string{"shop", "x"}, Makes: true})
	gone := r.Forget("a")
	for i, got := range [][]string{same, less, gone} {
		if diff := cmp.Diff([][]string{nil, {"shop"}, {"shop", "x"}}[i], got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(Stakes(nil), r.Stakes("shop"), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"x"}, r.Of("b")); diff != "" {
		t.Error(diff)
	}
}

// An anchor would be refused where its namespace is there already, so who has it in its
// source waits for it.
func TestWantsOf_anAnchorMakesItsNamespace(t *testing.T) {
	t.Parallel()
	in := func(apiVersion, kind, namespace, name string) object.Declared {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		o.SetNamespace(namespace)
		o.SetName(name)
		return object.Declared{Object: o, Path: "x.yaml"}
	}
	r := NewRegistry()
	r.Set("a", WantsOf([]object.Declared{
		in("hnc.x-k8s.io/v1alpha2", "SubnamespaceAnchor", "shop", "shop-test"), in("v1", "ConfigMap", "shop-test", "x"),
	}, epoch, true))
	for name, want := range map[string]How{"shop": Makes, "shop-test": Needs} {
		if got := r.Stakes(name)["a"].How; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// Whoever waits for a RootSync that is gone would wait for ever.
func TestRegistry_forgetsWhoNeverSaid(t *testing.T) {
	t.Parallel()
	r := NewRegistry()
	r.Expect("a")
	r.Forget("a")
	if !r.Complete() {
		t.Error(fmt.Sprint(r.Missing()))
	}
}

// One that cannot say what it wants after a start keeps what it has claimed.
func TestRegistry_whoIsSilent(t *testing.T) {
	t.Parallel()
	r := NewRegistry()
	r.Set("x", Wants{Since: epoch, Needed: []string{"shop"}, Makes: true})
	r.Expect("a", "b", "x")
	r.Excuse("a")
	r.Expect() // nobody waits for b any longer
	r.Excuse("x")
	if diff := cmp.Diff(Stakes{"a": {How: Silent}, "b": {How: Silent}, "x": {How: Makes, Since: epoch}}, r.Stakes("shop")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"mine", "shop"}, r.Set("a", Wants{Since: epoch, Declared: []string{"mine"}})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"mine", "shop"}, r.Forget("b")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Stakes{"x": {How: Makes, Since: epoch}}, r.Stakes("shop")); diff != "" {
		t.Error(diff)
	}
}

func TestJudge_whoIsSilent(t *testing.T) {
	t.Parallel()
	o := namespace(t, "there declared-by a|declared a 1; implicit x 2")
	r, err := Judge(o, Stakes{"a": {How: Silent}, "x": {How: Makes, Since: epoch.AddDate(0, 0, 2)}}, Rights{}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if r.Owner != "a" || r.Write != nil || r.Of("x") != Use {
		t.Errorf("the owner is %q, %+v is written, x does %v", r.Owner, r.Write, r.Of("x"))
	}
	// It counts as a user of what it has claimed, and of nothing else.
	for name, want := range map[string]Fate{"there|declared a 1": HandOver, "there": Prune} {
		r, err := Judge(namespace(t, name), Stakes{"a": {How: Silent}}, Rights{}, epoch)
		if err != nil {
			t.Fatal(err)
		}
		if fate, _, _ := r.FateOf("y"); fate != want {
			t.Errorf("%s: %v, want %v", name, fate, want)
		}
	}
}

// One that is silent keeps others from taking away what it has something in.
func TestFateOf_whoIsSilentAndHasSomethingThere(t *testing.T) {
	t.Parallel()
	registry := NewRegistry()
	registry.Expect("b")
	registry.Excuse("b", "shop")
	if !registry.Spoken("b") || registry.Spoken("c") || !registry.Complete() {
		t.Error("it is waited for whoever was excused")
	}
	for name, want := range map[string]Fate{"shop": Keep, "other": Prune} {
		r, err := Judge(namespace(t, "declared-by a"), registry.Stakes(name), Rights{}, epoch)
		if err != nil {
			t.Fatal(err)
		}
		if fate, users, _ := r.FateOf("a"); fate != want {
			t.Errorf("%s: %d, used by %v", name, fate, users)
		}
	}
	if diff := cmp.Diff([]string{"x"}, registry.Set("b", Wants{Since: epoch, Needed: []string{"x"}})); diff != "" {
		t.Error(diff)
	}
	if stakes := registry.Stakes("shop"); len(stakes) > 0 {
		t.Errorf("it is still silent: %v", stakes)
	}
}
