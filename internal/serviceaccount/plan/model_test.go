// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// model is an account as the API server keeps it, as far as this feature goes: who
// has set which field. The integration test holds the real one to the same.
//
// As text it has a line for each field: its key, with @ before that of an annotation,
// and value, and who has set it, with ! behind those that applied. Holdfast is "us".
// A line "owner 1" is a reference to the object with UID 1, "finalizer f", "automount"
// and "deleting" are what they say, and "unmanaged" says that there are no
// managedFields.
type model struct {
	exists, deleting, unmanaged bool
	uid                         types.UID
	version                     int
	fields                      map[string]modelField // by path
	finalizers                  []string
}

type modelField struct {
	value  string
	owners sets.Set[string]
}

const (
	ownerPrefix = "owner "
	automount   = "automount"
)

func parse(text string) *model {
	m := &model{uid: "account", version: 1, fields: map[string]modelField{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		m.exists = true
		words := strings.Fields(line)
		switch words[0] {
		case "there":
		case "deleting":
			m.deleting = true
		case "unmanaged":
			m.unmanaged = true
		case "finalizer":
			m.finalizers = append(m.finalizers, words[1])
		case "owner":
			m.fields[ownerPrefix+words[1]] = modelField{"", sets.New(words[2:]...)}
		case automount:
			m.fields[automount] = modelField{"false", sets.New(words[1:]...)}
		default:
			key, value, _ := strings.Cut(words[0], "=")
			m.fields[key] = modelField{value, sets.New(words[1:]...)}
		}
	}
	if m.unmanaged {
		for path, f := range m.fields {
			m.fields[path] = modelField{f.value, sets.New[string]()}
		}
	}
	return m
}

func (m *model) String() string {
	if !m.exists {
		return "gone"
	}
	var out []string
	for _, path := range slices.Sorted(maps.Keys(m.fields)) {
		f := m.fields[path]
		if !strings.HasPrefix(path, ownerPrefix) && path != automount {
			path += "=" + f.value
		}
		out = append(out, strings.Join(append([]string{path}, sets.List(f.owners)...), " "))
	}
	for _, f := range m.finalizers {
		out = append(out, "finalizer "+f)
	}
	if m.deleting {
		out = append(out, "deleting")
	}
	if len(out) == 0 {
		out = append(out, "there")
	}
	return strings.Join(out, "\n")
}

func fieldPath(path string) fieldpath.Path {
	if uid, ok := strings.CutPrefix(path, ownerPrefix); ok {
		return ownerPath(types.UID(uid))
	}
	if path == automount {
		return fieldpath.MakePathOrDie(automountField)
	}
	return keyAt(path).path()
}

func keyAt(path string) Key {
	if name, ok := strings.CutPrefix(path, "@"); ok {
		return Key{Annotation, name}
	}
	return Key{Label, path}
}

func (k Key) text() string {
	if k.Field == Annotation {
		return "@" + k.Name
	}
	return k.Name
}

func managerOf(owner string) (string, metav1.ManagedFieldsOperationType) {
	name, applied := strings.CutSuffix(owner, "!")
	switch name {
	case "us":
		name = FieldManager
	case "orphan":
		name = OrphanManager
	}
	if applied {
		return name, metav1.ManagedFieldsOperationApply
	}
	return name, metav1.ManagedFieldsOperationUpdate
}

func ownerText(e metav1.ManagedFieldsEntry) string {
	name := e.Manager
	switch name {
	case FieldManager:
		name = "us"
	case OrphanManager:
		name = "orphan"
	}
	if e.Operation == metav1.ManagedFieldsOperationApply {
		name += "!"
	}
	return name
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// observe is the account as the API server gives it.
func (m *model) observe() *metav1.PartialObjectMetadata {
	if !m.exists {
		return nil
	}
	out := &metav1.PartialObjectMetadata{}
	out.Namespace, out.Name, out.UID, out.ResourceVersion = "team", "acme-front", m.uid, strconv.Itoa(m.version)
	out.Labels, out.Annotations, out.Finalizers = map[string]string{}, map[string]string{}, m.finalizers
	if m.deleting {
		out.DeletionTimestamp = &metav1.Time{Time: noon}
	}
	owned := map[string]*fieldpath.Set{}
	for _, path := range slices.Sorted(maps.Keys(m.fields)) {
		f := m.fields[path]
		switch uid, isOwner := strings.CutPrefix(path, ownerPrefix); {
		case isOwner:
			out.OwnerReferences = append(out.OwnerReferences, metav1.OwnerReference{
				APIVersion: "example.com/v1", Kind: "Shop", Name: "shop-" + uid, UID: types.UID(uid), Controller: new(false), BlockOwnerDeletion: new(true),
			})
		case path == automount:
		case strings.HasPrefix(path, "@"):
			out.Annotations[path[1:]] = f.value
		default:
			out.Labels[path] = f.value
		}
		for owner := range f.owners {
			if owned[owner] == nil {
				owned[owner] = fieldpath.NewSet()
			}
			owned[owner].Insert(fieldPath(path))
		}
	}
	for i, owner := range slices.Sorted(maps.Keys(owned)) {
		raw, err := owned[owner].ToJSON()
		if err != nil {
			panic(err)
		}
		e := metav1.ManagedFieldsEntry{APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)), Time: &metav1.Time{Time: noon.Add(time.Duration(i) * time.Minute)}}
		e.Manager, e.Operation = managerOf(owner)
		if !m.unmanaged {
			out.ManagedFields = append(out.ManagedFields, e)
		}
	}
	return out
}

var errConflict = errors.New("conflict")

// do is what the API server makes of a write.
func (m *model) do(a Action) error {
	m.version++
	switch a.Do {
	case Create:
		if m.exists {
			return errConflict
		}
		m.exists = true
		for path, value := range contentOf(a) {
			m.fields[path] = modelField{value, sets.New("us")}
		}
		return nil
	case Apply, Release:
		return m.apply(a)
	case Delete:
		if *a.Preconditions.UID != m.uid || *a.Preconditions.ResourceVersion != strconv.Itoa(m.version-1) {
			return errConflict
		}
		*m = *parse("")
		return nil
	default:
		return m.patch(a)
	}
}

// contentOf is what an object has, by path.
func contentOf(a Action) map[string]string {
	out := map[string]string{}
	maps.Copy(out, a.Object.GetLabels())
	for k, v := range a.Object.GetAnnotations() {
		out["@"+k] = v
	}
	for _, r := range a.Object.GetOwnerReferences() {
		out[ownerPrefix+string(r.UID)] = ""
	}
	return out
}

func (m *model) apply(a Action) error {
	if !m.exists || a.Object.GetUID() != m.uid {
		return errConflict
	}
	if v := a.Object.GetResourceVersion(); v != "" && v != strconv.Itoa(m.version-1) || a.Force && v == "" {
		return errConflict
	}
	if m.unmanaged {
		m.unmanaged = false
		for _, f := range m.fields {
			f.owners.Insert(beforeFirstApply)
		}
	}
	content := contentOf(a)
	for path, value := range content {
		f, there := m.fields[path]
		if !there {
			f.owners = sets.New[string]()
		}
		if others := f.owners.Difference(sets.New("us!")); there && f.value != value && len(others) > 0 {
			if !a.Force {
				return fmt.Errorf("%w on %s with %v", errConflict, path, sets.List(others))
			}
			f.owners = sets.New[string]()
		}
		f.value = value
		f.owners.Insert("us!")
		m.fields[path] = f
	}
	for path, f := range m.fields {
		if _, still := content[path]; !still && f.owners.Has("us!") {
			f.owners.Delete("us!")
			if len(f.owners) == 0 {
				delete(m.fields, path)
			}
		}
	}
	return nil
}

// patched is a merge patch.
type patched struct {
	Metadata struct {
		UID             types.UID                   `json:"uid"`
		ResourceVersion string                      `json:"resourceVersion"`
		Labels          map[string]*string          `json:"labels"`
		Annotations     map[string]*string          `json:"annotations"`
		OwnerReferences []metav1.OwnerReference     `json:"ownerReferences"`
		ManagedFields   []metav1.ManagedFieldsEntry `json:"managedFields"`
		Finalizers      *json.RawMessage            `json:"finalizers"`
	} `json:"metadata"`
}

func (m *model) patch(a Action) error {
	var p patched
	if err := json.Unmarshal(a.Patch, &p); err != nil {
		return err
	}
	if p.Metadata.UID != m.uid || p.Metadata.ResourceVersion != strconv.Itoa(m.version-1) {
		return errConflict
	}
	if entries := p.Metadata.ManagedFields; entries != nil {
		return m.own(entries)
	}
	set := func(path string, value *string) {
		if value == nil {
			delete(m.fields, path)
			return
		}
		m.fields[path] = modelField{*value, sets.New("us")}
	}
	for k, v := range p.Metadata.Labels {
		set(k, v)
	}
	for k, v := range p.Metadata.Annotations {
		set("@"+k, v)
	}
	if strings.Contains(string(a.Patch), `"finalizers":null`) {
		m.finalizers = nil
	}
	if strings.Contains(string(a.Patch), `"`+automountField+`":null`) {
		delete(m.fields, automount)
	}
	if refs := p.Metadata.OwnerReferences; refs != nil {
		for path := range m.fields {
			uid, isOwner := strings.CutPrefix(path, ownerPrefix)
			if isOwner && !slices.ContainsFunc(refs, func(r metav1.OwnerReference) bool { return string(r.UID) == uid }) {
				delete(m.fields, path)
			}
		}
	}
	return nil
}

// own sets who owns the fields. No field changes its value by it.
func (m *model) own(entries []metav1.ManagedFieldsEntry) error {
	o := metav1.PartialObjectMetadata{}
	o.ManagedFields = entries
	read, err := readFields(&o)
	if err != nil {
		return err
	}
	for path, f := range m.fields {
		f.owners = sets.New[string]()
		for _, e := range read {
			if e.fields.Has(fieldPath(path)) {
				f.owners.Insert(ownerText(e.ManagedFieldsEntry))
			}
		}
		m.fields[path] = f
	}
	return nil
}

// settle does what is decided until nothing is left to do, and says what it was.
func settle(t *testing.T, f Facts, m *model) (did []string) {
	t.Helper()
	for range 6 {
		f.Live = m.observe()
		v := Decide(f)
		if !v.Pending() {
			return did
		}
		step := string(v.Action.Do)
		if v.Action.Force {
			step += " by force"
		}
		did = append(did, step)
		if err := m.do(v.Action); err != nil {
			t.Fatalf("%v: %v\non\n%s", did, err, m)
		}
	}
	t.Fatalf("it never ends: %v\n%s", did, m)
	return nil
}
