// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	me    = object.Sync("shop")
	other = object.Sync("root-sync")
)

var id = object.ID{Kind: "ConfigMap", Namespace: "a", Name: "x"}

// as is an object of ours that is as it should be, and what we know and want of it.
func as(change func(f *Facts, w *Want)) (Facts, Want) {
	f := Facts{
		ID: id, Sync: me, Standing: object.Standing{Owner: me}, Known: true,
		Seen: &live.Seen{
			UID: "u", ResourceVersion: "20", Owned: "o", Manager: me.Manager(), Named: me.Manager(), ApplySet: me.ApplySet(),
			Inventory: me.Inventory(), Stamped: true, Stamps: "s", Version: object.Version{Commit: "c1"},
		},
		Wrote: &Wrote{Digest: "d", UID: "u", ResourceVersion: "10", Owned: "o"},
	}
	w := Want{Digest: "d", Stamps: "s", Version: object.Version{Commit: "c2"}}
	change(&f, &w)
	return f, w
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	const conflictText = `The ":root_shop" reconciler detected a management conflict with the ":root" reconciler. ` +
		`Remove the object from one of the sources of truth so that the object is only managed by one reconciler.`
	tests := []struct {
		name   string
		change func(f *Facts, w *Want)
		want   Action
		drift  bool
		code   knv.Code
		why    string
	}{
		{name: "as it should be, for an older commit", change: func(*Facts, *Want) {}, want: Nothing},
		{name: "the commit has to be exact", change: func(_ *Facts, w *Want) { w.Exact = true }, want: Apply},
		{name: "the commit is exact", change: func(_ *Facts, w *Want) { w.Exact, w.Version.Commit = true, "c1" }, want: Nothing},
		{name: "declared otherwise", change: func(_ *Facts, w *Want) { w.Digest = "e" }, want: Apply},
		{name: "a field of ours changed", change: func(f *Facts, _ *Want) { f.Seen.Owned = "p" }, want: Apply, drift: true},
		{name: "deleted and made by somebody", change: func(f *Facts, _ *Want) { f.Seen.UID = "v" }, want: Apply, drift: true},
		{name: "the watch is behind our last write", change: func(f *Facts, _ *Want) { f.Seen.Owned, f.Seen.ResourceVersion = "p", "9" }, want: Nothing},

		{name: "the kind is not watched yet", change: func(f *Facts, _ *Want) { f.Known, f.Seen = false, nil }, want: Wait},
		{name: "the kind cannot be watched, and we have looked", change: func(f *Facts, _ *Want) { f.Known, f.Looked, f.Seen, f.Wrote = false, true, nil, nil }, want: Apply},
		{name: "not there", change: func(f *Facts, _ *Want) { f.Seen, f.Wrote = nil, nil }, want: Apply},
		{name: "not seen, where there may be a copy", change: func(f *Facts, _ *Want) { f.Seen, f.Wrote, f.MayBeCopy = nil, nil, true }, want: Look},
		{name: "gone, and there may be a copy in its place", change: func(f *Facts, _ *Want) { f.Seen, f.MayBeCopy = nil, true }, want: Look},
		{name: "not there, where there might have been a copy", change: func(f *Facts, _ *Want) { f.Seen, f.Wrote, f.Looked = nil, nil, true }, want: Apply},
		{name: "made a moment ago, and the watch has told nothing", change: func(f *Facts, _ *Want) { f.Seen, f.Lagging = nil, true }, want: Nothing},
		{name: "deleted, or its label taken off", change: func(f *Facts, _ *Want) { f.Seen = nil }, want: Apply, drift: true},
		{name: "being deleted", change: func(f *Facts, _ *Want) { f.Seen.Deleting = true }, want: Wait},

		{name: "ours, after a restart", change: func(f *Facts, _ *Want) { f.Wrote = nil }, want: DryRunFirst},
		{name: "ours, after a restart, and the commit has to be exact", change: func(f *Facts, w *Want) { f.Wrote, w.Exact = nil, true }, want: Apply},
		{name: "unmanaged, with our label", change: func(f *Facts, _ *Want) { f.Wrote, f.Seen.Manager, f.Seen.Named = nil, "", "" }, want: Apply},
		{name: "with the annotations of another object", change: func(f *Facts, _ *Want) { f.Wrote, f.Seen.Manager, f.Seen.Named = nil, "", other.Manager() }, want: Apply},
		{name: "our annotations were taken off", change: func(f *Facts, _ *Want) { f.Seen.Manager, f.Seen.Owned = "", "p" }, want: Apply, drift: true},

		{name: "another RootSync may have it", change: func(f *Facts, _ *Want) { f.Owner = other }, want: Conflict, code: knv.ManagementConflict, why: conflictText},
		{name: "another RootSync may have it, and it is not there", change: func(f *Facts, _ *Want) { f.Owner, f.Seen, f.Wrote = other, nil, nil }, want: Conflict, code: knv.ManagementConflict, why: conflictText},
		{name: "another RootSync has it that we know nothing of", change: func(f *Facts, _ *Want) { f.Owner, f.Seen.Manager = "", other.Manager() }, want: Conflict, code: knv.ManagementConflict, why: conflictText},
		{name: "another RootSync has it that may not", change: func(f *Facts, _ *Want) { f.Seen.Manager, f.Wrote = other.Manager(), nil }, want: Apply},
		{name: "another RootSync has taken it and may not", change: func(f *Facts, _ *Want) { f.Seen.Manager, f.Seen.Owned = other.Manager(), "p" }, want: Apply, drift: true},
		{name: "a RepoSync has it", change: func(f *Facts, _ *Want) { f.Owner, f.Wrote, f.Seen.Manager = "", nil, "a" }, want: Apply},

		{
			name: "another RootSync owns it, since this one may not write it", change: func(f *Facts, _ *Want) { f.Owner, f.Lacks, f.Seen.Manager = other, true, other.Manager() },
			want: Conflict, code: knv.InsufficientRights,
			why: "failed to apply ConfigMap, a/x: system:serviceaccount:config-management-system:root-reconciler-shop may not write it, so that this RootSync has no claim on it, " +
				"and RootSync root-sync owns it: give that account a role that may, by spec.override.roleRefs, or remove the object from the source",
		},
		{
			name: "no RootSync that declares it may write it", change: func(f *Facts, _ *Want) { f.Standing, f.Seen = object.Standing{Lacks: true}, nil }, want: Conflict, code: knv.InsufficientRights,
			why: "failed to apply ConfigMap, a/x: system:serviceaccount:config-management-system:root-reconciler-shop may not write it, so that this RootSync has no claim on it: " +
				"give that account a role that may, by spec.override.roleRefs, or remove the object from the source",
		},
		{name: "it may not write any more what it has, and it stays in the inventory", change: func(f *Facts, _ *Want) { f.Owner, f.Lacks = other, true }, want: Keep, code: knv.InsufficientRights},
		{name: "it may not write what others declare, and declares it as not managed", change: func(f *Facts, w *Want) { f.Lacks, w.Disabled = true, true }, want: Abandon},
		{name: "who may write it is not known, and it is another's", change: func(f *Facts, _ *Want) { f.Standing, f.Seen.Manager = object.Standing{Open: true}, other.Manager() }, want: Ask},
		{name: "who may write it is not known, and it is not there", change: func(f *Facts, _ *Want) { f.Standing, f.Seen, f.Wrote = object.Standing{Open: true}, nil, nil }, want: Ask},
		{name: "who may write it is not known, and what it has is put back", change: func(f *Facts, _ *Want) { f.Standing, f.Seen.Owned = object.Standing{Open: true}, "p" }, want: Apply, drift: true},
		{
			name: "a copy of the hierarchy", change: func(f *Facts, _ *Want) { f.Wrote, f.Seen.Manager, f.CopyOf = nil, "", "root" }, want: Conflict, code: knv.Applier,
			why: "failed to apply ConfigMap, a/x: it is a copy, which the hierarchy keeps as it is in the namespace root: change it there, or keep it from being copied",
		},
		{name: "the label of a copy, and no namespace of that name above", change: func(f *Facts, _ *Want) { f.Seen.InheritedFrom, f.Seen.Owned = "root", "p" }, want: Apply, drift: true},

		{name: "only metadata, and it is as it should be", change: func(f *Facts, w *Want) {
			w.OnlyMetadata, f.Seen.Ignored, w.Digest, f.Seen.Owned, f.Wrote = true, true, "e", "p", nil
		}, want: Nothing},
		{name: "only metadata, and the object does not say so", change: func(f *Facts, w *Want) { w.OnlyMetadata, f.Wrote = true, nil }, want: ApplyMetadata},
		{name: "somebody has put on it that its content is left", change: func(f *Facts, _ *Want) { f.Seen.Ignored = true }, want: ApplyMetadata, drift: true},
		{name: "unmanaged, and says that its content is left", change: func(f *Facts, _ *Want) { f.Wrote, f.Seen.Manager, f.Seen.Ignored = nil, "", true }, want: ApplyMetadata},
		{name: "another RootSync's, and says that its content is left", change: func(f *Facts, _ *Want) { f.Owner, f.Seen.Manager, f.Seen.Ignored = "", other.Manager(), true }, want: Conflict, code: knv.ManagementConflict},
		{name: "only metadata, and it is not ours", change: func(f *Facts, w *Want) { w.OnlyMetadata, f.Wrote, f.Seen.Stamps = true, nil, "" }, want: ApplyMetadata},
		{name: "only metadata, and somebody changed that", change: func(f *Facts, w *Want) { w.OnlyMetadata, f.Seen.Stamps = true, "" }, want: ApplyMetadata, drift: true},
		{name: "only metadata, and the commit has to be exact", change: func(_ *Facts, w *Want) { w.OnlyMetadata, w.Exact = true, true }, want: ApplyMetadata},
		{name: "only metadata, and it was not seen", change: func(f *Facts, w *Want) { w.OnlyMetadata, f.Seen = true, nil }, want: Look},
		{name: "only metadata, and it is not there", change: func(f *Facts, w *Want) { w.OnlyMetadata, f.Seen, f.Wrote, f.Looked = true, nil, nil, true }, want: Apply},

		{
			name: "out of scope", change: func(f *Facts, _ *Want) { f.OutOfScope = true }, want: Keep, code: knv.Applier,
			why: "skipped apply of ConfigMap, a/x: the namespace a is not in the scope of Holdfast's configuration, so it is left as it is",
		},
		{name: "out of scope, and not there", change: func(f *Facts, _ *Want) { f.OutOfScope, f.Seen, f.Wrote = true, nil, nil }, want: Keep, code: knv.Applier},
		{name: "out of scope, and of a kind that is not watched yet", change: func(f *Facts, _ *Want) { f.OutOfScope, f.Known, f.Seen = true, false, nil }, want: Keep, code: knv.Applier},
		{name: "out of scope, declared as not managed, and ours", change: func(f *Facts, w *Want) { f.OutOfScope, w.Disabled = true, true }, want: Keep, code: knv.Applier},
		{name: "out of scope, declared as not managed, and another's", change: func(f *Facts, w *Want) { f.OutOfScope, w.Disabled, f.Seen.Manager = true, true, other.Manager() }, want: Gone},

		{name: "declared as not managed, and ours", change: func(_ *Facts, w *Want) { w.Disabled = true }, want: Abandon},
		{name: "declared as not managed, and another's", change: func(f *Facts, w *Want) { w.Disabled, f.Seen.Manager = true, other.Manager() }, want: Gone},
		{name: "declared as not managed, and not there", change: func(f *Facts, w *Want) { w.Disabled, f.Seen = true, nil }, want: Gone},
		{name: "declared as not managed, of a kind that is not watched yet", change: func(f *Facts, w *Want) { w.Disabled, f.Known, f.Seen = true, false, nil }, want: Wait},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Declared(as(tt.change))
			if got.Action != tt.want || got.Drift != tt.drift || got.Code != tt.code || got.Why == "" {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
			if tt.why != "" {
				if diff := cmp.Diff(tt.why, got.Why); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestUndeclared(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(f *Facts, g *Going)
		want   Action
		why    string
	}{
		{name: "ours", change: func(*Facts, *Going) {}, want: Delete},
		{name: "ours, after a restart", change: func(f *Facts, _ *Going) { f.Wrote = nil }, want: Delete},
		{name: "not in the inventory, with all that is ours", change: func(_ *Facts, g *Going) { g.Inventoried = false }, want: Delete},
		{name: "not in the inventory, without our apply set", change: func(f *Facts, g *Going) { g.Inventoried, f.Seen.ApplySet = false, "set" }, want: Gone},
		{name: "not in the inventory, and not there", change: func(f *Facts, g *Going) { g.Inventoried, f.Seen = false, nil }, want: Gone},
		{
			name: "another RootSync may have it, and has not taken it over yet", change: func(f *Facts, _ *Going) { f.Owner = other }, want: HandOver,
			why: "skipped delete of ConfigMap, a/x: RootSync root-sync may have it and has yet to take it over",
		},
		{name: "another RootSync has taken it over", change: func(f *Facts, _ *Going) { f.Owner, f.Seen.Manager = other, other.Manager() }, want: Gone},
		{name: "another RootSync may have it, and the sync goes and its objects stay", change: func(f *Facts, g *Going) { f.Owner, g.Orphan = other, true }, want: Gone},
		{name: "another RootSync may have it, and it is not there", change: func(f *Facts, _ *Going) { f.Owner, f.Seen = other, nil }, want: Gone},
		{name: "another RootSync may have it, and nobody knows yet whether it is there", change: func(f *Facts, _ *Going) { f.Owner, f.Known, f.Seen = other, false, nil }, want: Wait},
		{name: "another RootSync has it", change: func(f *Facts, _ *Going) { f.Owner, f.Seen.Manager = "", other.Manager() }, want: Gone},
		{name: "another RootSync declares it, and may not write it", change: func(f *Facts, _ *Going) { f.Owner = "" }, want: Delete},
		{name: "another RootSync declares it, and it is not known whether it may write it", change: func(f *Facts, _ *Going) { f.Standing = object.Standing{Open: true} }, want: Ask},
		{name: "the same, and the sync goes and its objects stay", change: func(f *Facts, g *Going) { f.Standing, g.Orphan = object.Standing{Open: true}, true }, want: Ask},
		{name: "the same, of what is another's", change: func(f *Facts, _ *Going) { f.Standing, f.Seen.Manager = object.Standing{Open: true}, other.Manager() }, want: Gone},
		{name: "a RepoSync has it", change: func(f *Facts, _ *Going) { f.Seen.Manager = "a" }, want: Gone},
		{name: "somebody has taken off what says that it is ours", change: func(f *Facts, _ *Going) { f.Seen.Manager = "" }, want: Gone},
		{name: "it belongs to another object", change: func(f *Facts, _ *Going) { f.Seen.HasOwner = true }, want: Gone},
		{name: "a copy of the hierarchy", change: func(f *Facts, _ *Going) { f.CopyOf = "root" }, want: Gone},
		{name: "the label of a copy, and no namespace of that name above", change: func(f *Facts, _ *Going) { f.Seen.InheritedFrom = "root" }, want: Delete},

		{name: "not seen", change: func(f *Facts, _ *Going) { f.Seen = nil }, want: Look},
		{name: "not there", change: func(f *Facts, _ *Going) { f.Seen, f.Looked = nil, true }, want: Gone},
		{name: "deleted and gone", change: func(f *Facts, g *Going) { f.Seen, g.Deleted = nil, "u" }, want: Gone},
		{name: "of a kind that is not watched yet", change: func(f *Facts, _ *Going) { f.Seen, f.Known = nil, false }, want: Wait},
		{name: "the watch is behind our last write", change: func(f *Facts, _ *Going) { f.Seen.ResourceVersion = "9" }, want: Wait},
		{name: "being deleted", change: func(f *Facts, _ *Going) { f.Seen.Deleting = true }, want: Wait},

		{name: "a namespace that is this RootSync's, as was not known when it was left out", change: func(f *Facts, _ *Going) { f.ID, f.Seen.Detached = object.NamespaceID("a"), true }, want: Wait},
		{name: "a namespace of nobody's that is to stay", change: func(f *Facts, _ *Going) { f.ID, f.Owner, f.Seen.Detached = object.NamespaceID("a"), "", true }, want: Abandon},
		{name: "detached", change: func(f *Facts, _ *Going) { f.Seen.Detached = true }, want: Abandon},
		{name: "detached, and another's", change: func(f *Facts, _ *Going) { f.Seen.Detached, f.Seen.Manager = true, other.Manager() }, want: Gone},
		{name: "a special namespace", change: func(f *Facts, _ *Going) { f.ID, f.Owner = object.NamespaceID("kube-system"), "" }, want: Abandon},
		{name: "the sync goes and its objects stay", change: func(_ *Facts, g *Going) { g.Orphan = true }, want: Abandon},
		{name: "the sync goes and its objects stay, even one that is being deleted", change: func(f *Facts, g *Going) { g.Orphan, f.Seen.Deleting = true, true }, want: Abandon},
		{name: "the sync goes and leaves what is another's", change: func(f *Facts, g *Going) { g.Orphan, f.Seen.Manager = true, other.Manager() }, want: Gone},

		{name: "a namespace that an anchor has too", change: func(_ *Facts, g *Going) { g.KeptBy = "anchor/acme (subnamespace)" }, want: Abandon},
		{name: "the same, out of scope", change: func(f *Facts, g *Going) { f.OutOfScope, g.KeptBy = true, "anchor/acme (subnamespace)" }, want: Keep},
		{name: "a namespace in use", change: func(_ *Facts, g *Going) { g.InUse = "namespace still in use: a" }, want: Keep, why: "skipped delete of ConfigMap, a/x: namespace still in use: a"},
		{
			name: "out of scope", change: func(f *Facts, _ *Going) { f.OutOfScope = true }, want: Keep,
			why: "skipped delete of ConfigMap, a/x: the namespace a is not in the scope of Holdfast's configuration, so it is left as it is",
		},
		{name: "out of scope and being deleted", change: func(f *Facts, _ *Going) { f.OutOfScope, f.Seen.Deleting = true, true }, want: Wait},
		{name: "out of scope, and not there", change: func(f *Facts, _ *Going) { f.OutOfScope, f.Seen, f.Looked = true, nil, true }, want: Gone},
		{name: "out of scope, and the sync goes and its objects stay", change: func(f *Facts, g *Going) { f.OutOfScope, g.Orphan = true, true }, want: Gone},
		{name: "out of scope and another's", change: func(f *Facts, _ *Going) { f.OutOfScope, f.Seen.Manager = true, other.Manager() }, want: Gone},
		{name: "needed by another", change: func(_ *Facts, g *Going) { g.Needed = "dependent scheduled for apply: y" }, want: Keep, why: "skipped delete of ConfigMap, a/x: dependent scheduled for apply: y"},
		{name: "refused", change: func(_ *Facts, g *Going) { g.Refusal = "failed to prune it: no" }, want: Keep, why: "failed to prune it: no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := Going{Inventoried: true}
			f, _ := as(func(f *Facts, _ *Want) { tt.change(f, &g) })
			got := Undeclared(f, g)
			if got.Action != tt.want || (got.Code != "") != (tt.want == Keep) || got.Why == "" {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
			if tt.why != "" {
				if diff := cmp.Diff(tt.why, got.Why); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func configMap(annotations map[string]string) object.Declared {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"k": "v"}}}
	u.SetNamespace("a")
	u.SetName("x")
	u.SetAnnotations(annotations)
	return object.Declared{Object: u, Path: "x.yaml"}
}

func TestWantOf(t *testing.T) {
	t.Parallel()
	one := WantOf(configMap(nil), me, object.Version{Commit: "c1"}, false)
	two := WantOf(configMap(nil), me, object.Version{Commit: "c2"}, true)
	if one.Digest != two.Digest || one.Stamps != two.Stamps || one.Digest == "" {
		t.Errorf("a commit makes a difference: %+v, %+v", one, two)
	}
	moved := configMap(nil)
	moved.Path = "y.yaml"
	if w := WantOf(moved, me, object.Version{}, false); w.Digest == one.Digest || w.Stamps == one.Stamps {
		t.Error("another path makes no difference")
	}
	w := WantOf(configMap(map[string]string{object.AnnotationMutation: object.MutationIgnore}), me, object.Version{}, false)
	if !w.OnlyMetadata || w.Disabled {
		t.Errorf("ignored: got %+v", w)
	}
	if w = WantOf(configMap(map[string]string{object.AnnotationManaged: object.ManagedDisabled}), me, object.Version{}, false); !w.Disabled {
		t.Errorf("disabled: got %+v", w)
	}
	stamped := object.Stamp(configMap(nil), me, object.Version{Commit: "c"})
	if seen := live.Of(id, stamped); seen.Stamps != one.Stamps {
		t.Error("what was stamped does not look so")
	}
}

func TestPatches(t *testing.T) {
	t.Parallel()
	bare := configMap(map[string]string{"keep": "it", object.AnnotationDeletion: object.DeletionDetach}).Object
	bare.SetUID("u")
	bare.SetResourceVersion("7")
	if got, err := Strip(bare); got != nil || err != nil {
		t.Errorf("nothing to strip: got %s, %v", got, err)
	}
	bare.SetLabels(map[string]string{object.LabelManagedBy: "Helm", object.LabelDeclaredVersion: "v1"})
	bare.SetAnnotations(map[string]string{"keep": "it", object.AnnotationToken: "c", "configsync.gke.io/declared-fields": "{}"})
	got, err := Strip(bare)
	const want = `{"metadata":{"annotations":{"configmanagement.gke.io/token":null,"configsync.gke.io/declared-fields":null},` +
		`"labels":{"configsync.gke.io/declared-version":null},"resourceVersion":"7","uid":"u"}}`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	implicit := configMap(nil)
	implicit.Path = ""
	got, err = Mark(bare, object.Stamp(implicit, me, object.Version{Commit: "c", Context: "{}"}))
	marked := `{"metadata":{"annotations":{"config.k8s.io/owning-inventory":"config-management-system_shop","configmanagement.gke.io/managed":"enabled",` +
		`"configmanagement.gke.io/token":"c","configsync.gke.io/git-context":"{}","configsync.gke.io/manager":":root_shop","configsync.gke.io/resource-id":"_configmap_a_x"},` +
		`"labels":{"app.kubernetes.io/managed-by":"configmanagement.gke.io","applyset.kubernetes.io/part-of":"` + me.ApplySet() + `"},"resourceVersion":"7","uid":"u"}}`
	if diff := cmp.Diff(marked, string(got)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}
