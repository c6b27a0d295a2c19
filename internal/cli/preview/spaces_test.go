// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func day(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// ids reads "n" as Namespace n, "n/x" as ConfigMap x in it, and "n.g" as a definition.
func ids(text string) []object.ID {
	var out []object.ID
	for one := range strings.FieldsSeq(text) {
		ns, name, inside := strings.Cut(one, "/")
		switch {
		case inside:
			out = append(out, object.ID{Kind: "ConfigMap", Namespace: ns, Name: name})
		case strings.Contains(one, "."):
			out = append(out, object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: one})
		default:
			out = append(out, object.NamespaceID(one))
		}
	}
	return out
}

// inputOf is of RootSync shop of day 5, which declares and has these objects, while
// RootSync old, of day 1, has others.
func inputOf(t *testing.T, declares, has, others string) *Input {
	t.Helper()
	in := &Input{
		Sync: "shop", Created: day(5), Inventory: ids(has), Now: day(9),
		Others: []Other{{Sync: "old", Created: day(1), Has: map[object.ID]bool{}}},
		Kinds:  Kinds{{Kind: "ConfigMap"}: {Namespaced: true}, {Group: "acme.dev", Kind: "Widget"}: {Resource: schema.GroupVersionResource{Group: "acme.dev", Version: "v1", Resource: "widgets"}}},
	}
	for _, id := range ids(declares) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: id.Group, Version: "v1", Kind: id.Kind})
		u.SetNamespace(id.Namespace)
		u.SetName(id.Name)
		in.Declared = append(in.Declared, object.Declared{Object: u, Path: "x.yaml"})
	}
	for _, id := range ids(others) {
		in.Others[0].Has[id] = true
	}
	return in
}

// namespaceOf is one that is there, with annotations; "old" and "old declares" are short for
// the marks of RootSync old, and "-" is none.
func namespaceOf(t *testing.T, annotations string) space {
	t.Helper()
	const marks = `configmanagement.gke.io/managed: enabled, configsync.gke.io/resource-id: _namespace_n, configsync.gke.io/manager: `
	switch annotations {
	case "absent":
		return space{}
	case "unread":
		return space{unread: true}
	case "-":
		annotations = ""
	case "old":
		annotations = marks + `":root_old"`
	case "old declares":
		annotations = marks + `":root_old", configmanagement.gke.io/source-path: n.yaml`
	case "shop":
		annotations = marks + `":root_shop"`
	case "shop declares":
		annotations = marks + `":root_shop", configmanagement.gke.io/source-path: n.yaml`
	}
	o := &metav1.PartialObjectMetadata{}
	if err := yaml.UnmarshalStrict([]byte(`metadata: {name: "n", uid: u, annotations: {`+annotations+`}}`), o); err != nil {
		t.Fatal(err)
	}
	return space{live: o}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                         string
		declares, has, others, space string
		explicit                     bool
		// owner of Namespace n, whether shop makes it, why n/a waits, whether n has to stay, and
		// whether a claim is written.
		owner         object.Sync
		made          bool
		missing, stay string
		claims        bool
	}{
		{name: "it declares a namespace that is not there", declares: "n n/a", space: "absent", owner: "shop", missing: "its namespace is made first", stay: "namespace still in use: n"},
		{name: "it needs a namespace that is not there", declares: "n/a", space: "absent", owner: "shop", made: true, missing: "its namespace is made first", stay: "namespace still in use: n"},
		{name: "it needs one, and may not make it", declares: "n/a", space: "absent", explicit: true, missing: "namespace n is not there, and this RootSync does not make it", stay: "namespace still in use: n"},
		{name: "it needs one that is anybody's", declares: "n/a", space: "-", stay: "namespace still in use: n"},
		{name: "it needs one that another has made", declares: "n/a", others: "n n/b", space: "old", owner: "old", stay: "namespace still in use: n"},
		{name: "it needs one that it has made", declares: "n/a", has: "n n/a", space: "shop", owner: "shop", made: true, stay: "namespace still in use: n"},
		{name: "it declares one that is anybody's", declares: "n", space: "-", owner: "shop", claims: true},
		{name: "it has declared one before", declares: "n", has: "n", space: "shop declares", owner: "shop"},
		{name: "it declares one that another has made", declares: "n", others: "n n/b", space: "old", owner: "shop", claims: true},
		{name: "it declares one that an older one declares", declares: "n", others: "n", space: "old declares", owner: "old", claims: true},
		{name: "it declares one that it needed before", declares: "n n/a", has: "n n/a", space: "shop", owner: "shop", claims: true, stay: "namespace still in use: n"},
		{name: "it does not declare one any more that another needs", has: "n", others: "n/b", space: "shop declares", stay: "namespace still in use: n, by RootSync old"},
		{
			name: "it does not declare one any more that another claims", has: "n", others: "n/b", owner: "old", claims: true,
			space: `holdfast.dev/claims: "of u, implicit rootsync/config-management-system/old 2026-11-01T00:00:00Z, declared rootsync/config-management-system/shop 2026-11-05T00:00:00Z"`,
		},
		{name: "it does not declare one any more that an anchor made", has: "n", space: "hnc.x-k8s.io/subnamespace-of: acme", stay: "kept by anchor/acme (subnamespace)"},
		{name: "nobody may look", declares: "n/a", space: "unread", stay: "namespace still in use: n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := inputOf(t, tt.declares, tt.has, tt.others)
			in.Explicit = tt.explicit
			s := in.judge(map[string]space{"n": namespaceOf(t, tt.space)})
			missing, _ := s.missing("n")
			if tt.declares == "n" || tt.declares == "" {
				missing = ""
			}
			type answer struct {
				owner         object.Sync
				made          bool
				missing, stay string
				claims        bool
			}
			want := answer{tt.owner, tt.made, tt.missing, tt.stay, tt.claims}
			stays, keptBy := s.inUse(object.NamespaceID("n"))
			if keptBy != "" {
				stays = "kept by " + keptBy
			}
			got := answer{s.owner(object.NamespaceID("n"), true), slices.Contains(s.made, "n"), missing, stays, len(s.claims()) > 0}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(answer{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestJudge_unreadable(t *testing.T) {
	t.Parallel()
	s := inputOf(t, "n", "", "").judge(map[string]space{"n": namespaceOf(t, `holdfast.dev/claims: "of u, x"`)})
	if why, _ := s.inUse(object.NamespaceID("n")); s.withheld["n"] == nil || !strings.Contains(why, "users that cannot be read") {
		t.Errorf("got %v, %q", s.withheld, why)
	}
	l := &look{Input: s.in, spaces: s}
	if diff := cmp.Diff([]schema.GroupKind{{Kind: "Namespace"}}, l.held()); diff != "" {
		t.Errorf("kinds that are not pruned (-want +got)\n%s", diff)
	}
}

func TestInput_owner(t *testing.T) {
	t.Parallel()
	one := ids("n/a")[0]
	tests := []struct {
		name     string
		others   string
		declared bool
		created  int
		want     object.Sync
	}{
		{"nobody has it", "", false, 5, ""},
		{"it alone declares it", "", true, 5, "shop"},
		{"an older one has it", "n/a", true, 5, "old"},
		{"a younger one has it", "n/a", true, 0, "shop"},
		{"one of the same age has it", "n/a", true, 1, "old"},
		{"another has taken it over", "n/a", false, 0, "old"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := inputOf(t, "", "", tt.others)
			in.Created = day(tt.created)
			s := in.judge(nil)
			if got := s.owner(one, tt.declared); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestInUse_definition(t *testing.T) {
	t.Parallel()
	in := inputOf(t, "", "widgets.acme.dev", "")
	in.Others[0].Has[object.ID{Group: "acme.dev", Kind: "Widget", Name: "w"}] = true
	s := in.judge(nil)
	why, _ := s.inUse(in.Inventory[0])
	if diff := cmp.Diff("kind still in use: widgets.acme.dev, by RootSync old", why); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, _ := s.inUse(ids("gone.acme.dev")[0]); got != "" {
		t.Errorf("one that is not served: got %q", got)
	}
	if diff := cmp.Diff([]schema.GroupKind{{Group: "acme.dev", Kind: "Widget"}}, in.Kinds.Defines(in.Inventory)); diff != "" {
		t.Errorf("what it defines (-want +got)\n%s", diff)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	in := inputOf(t, "n/a", "n m", "")
	l := &look{Input: in, spaces: in.judge(map[string]space{"n": namespaceOf(t, "shop declares"), "m": {}})}
	var wrong *knv.Error
	if err := l.guard(); !errors.As(err, &wrong) || wrong.Code != knv.EmptySource {
		t.Errorf("all namespaces go: got %v", err)
	}
	in = inputOf(t, "n n/a", "n m", "")
	l = &look{Input: in, spaces: in.judge(map[string]space{"n": namespaceOf(t, "shop declares"), "m": {}})}
	if err := l.guard(); err != nil {
		t.Errorf("one namespace goes: got %v", err)
	}
	// Those that were made along the way are let go of with the explicit strategy.
	in = inputOf(t, "n/a", "n m", "")
	in.Explicit = true
	l = &look{Input: in, spaces: in.judge(map[string]space{"n": namespaceOf(t, "shop"), "m": {}})}
	if err := l.guard(); err != nil {
		t.Errorf("nobody has declared them: got %v", err)
	}
}
