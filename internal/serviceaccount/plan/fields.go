// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// beforeFirstApply is what the API server calls whoever wrote an object that does not
// tell whose its fields are.
const beforeFirstApply = "before-first-apply"

// entry is one of an account's managedFields, read.
type entry struct {
	metav1.ManagedFieldsEntry
	fields *fieldpath.Set
}

func (e *entry) ours() bool { return e.Manager == FieldManager && e.Subresource == "" }

func (e *entry) applied() bool { return e.Operation == metav1.ManagedFieldsOperationApply }

func (e *entry) owner() Owner {
	out := Owner{Manager: e.Manager, Operation: e.Operation}
	if e.Time != nil {
		out.Time = e.Time.UTC()
	}
	return out
}

// fields are whose the fields of an account are.
type fields []entry

func readFields(live *metav1.PartialObjectMetadata) (fields, error) {
	if len(live.ManagedFields) == 0 {
		return fields{{
			ManagedFieldsEntry: metav1.ManagedFieldsEntry{Manager: beforeFirstApply, Operation: metav1.ManagedFieldsOperationUpdate},
			fields:             everything(live),
		}}, nil
	}
	out := make(fields, len(live.ManagedFields))
	for i, e := range live.ManagedFields {
		out[i] = entry{e, fieldpath.NewSet()}
		if e.FieldsV1 == nil {
			continue
		}
		if err := out[i].fields.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("read the fields of %s: %w", e.Manager, err)
		}
	}
	return out, nil
}

func everything(live *metav1.PartialObjectMetadata) *fieldpath.Set {
	out := fieldpath.NewSet()
	for _, k := range keysOf(live.Labels, live.Annotations) {
		out.Insert(k.path())
	}
	for _, r := range live.OwnerReferences {
		out.Insert(ownerPath(r.UID))
	}
	return out
}

// keysOf are the keys of labels and annotations.
func keysOf(labels, annotations map[string]string) []Key {
	out := make([]Key, 0, len(labels)+len(annotations))
	for name := range labels {
		out = append(out, Key{Label, name})
	}
	for name := range annotations {
		out = append(out, Key{Annotation, name})
	}
	return out
}

// compare orders labels before annotations, and each by name.
func (k Key) compare(other Key) int {
	order := func(f Field) int { return slices.Index([]Field{Label, Annotation, Other}, f) }
	return cmp.Or(cmp.Compare(order(k.Field), order(other.Field)), cmp.Compare(k.Name, other.Name))
}

func (k Key) path() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", parents[k.Field], k.Name)
}

func ownerPath(uid types.UID) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(uid)))
}

// keyOf is the key at a path; false if it is that of something else.
func keyOf(p fieldpath.Path) (Key, bool) {
	if len(p) != 3 || p[0].FieldName == nil || p[1].FieldName == nil || p[2].FieldName == nil || *p[0].FieldName != "metadata" {
		return Key{}, false
	}
	for field, parent := range parents {
		if *p[1].FieldName == parent {
			return Key{field, *p[2].FieldName}, true
		}
	}
	return Key{}, false
}

// keys are those of labels and annotations in an entry.
func (e *entry) keys() map[Key]bool {
	out := map[Key]bool{}
	for p := range e.fields.All() {
		if k, ok := keyOf(p); ok {
			out[k] = true
		}
	}
	return out
}

// owners of a field, the last first.
func (f fields) owners(path fieldpath.Path) []Owner {
	var out []Owner
	for i := range f {
		if f[i].fields.Has(path) {
			out = append(out, f[i].owner())
		}
	}
	slices.SortStableFunc(out, func(a, b Owner) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Operation, b.Operation))
	})
	return out
}

// ours are the keys that Holdfast owns, however it wrote them.
func (f fields) ours() map[Key]bool {
	out := map[Key]bool{}
	for i := range f {
		if f[i].ours() {
			maps.Copy(out, f[i].keys())
		}
	}
	return out
}

// has says whether Holdfast owns a field.
func (f fields) has(path fieldpath.Path) bool {
	return slices.ContainsFunc(f, func(e entry) bool { return e.ours() && e.fields.Has(path) })
}

// posted says whether Holdfast owns fields in the way in which it makes or replaces an
// account: what it does not apply then would stay.
func (f fields) posted() bool {
	return slices.ContainsFunc(f, func(e entry) bool { return e.ours() && !e.applied() && !e.fields.Empty() })
}
