// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// takeOver gives to what Holdfast applies the keys of those who wrote the account
// before, and what Holdfast itself has posted or replaced. The values stay; what is
// not wanted goes with the apply that comes next, as if it had always been Holdfast
// that applied. The API server moves fields to nobody else by itself.
func (s *sight) takeOver() (Action, error) {
	mine := fieldpath.NewSet()
	var since *metav1.Time
	var rest []entry
	from := map[string]sets.Set[Key]{}
	for _, e := range s.fields {
		moved := fieldpath.NewSet()
		switch {
		case e.ours():
			moved = e.fields
		case s.former(&e):
			for k := range s.takenOf(&e) {
				moved.Insert(k.path())
				if from[e.Manager] == nil {
					from[e.Manager] = sets.New[Key]()
				}
				from[e.Manager].Insert(k)
			}
		}
		mine = mine.Union(moved)
		if !moved.Empty() && e.Time != nil && (since == nil || since.Before(e.Time)) {
			since = e.Time
		}
		e.fields = e.fields.Difference(moved)
		if !e.fields.Empty() {
			rest = append(rest, e)
		}
	}
	delete(from, OrphanManager) // no client writes by that name again
	rest = append(rest, entry{metav1.ManagedFieldsEntry{
		Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", Time: since,
	}, mine})
	managed, err := written(rest)
	if err != nil {
		return Action{}, err
	}
	patch, err := s.patch(map[string]any{"managedFields": managed})
	return Action{Do: TakeOver, Patch: patch, From: from}, err
}

// letGo leaves an account as it is: its object was deleted with its dependents orphaned. The fields that
// Holdfast owns go to OrphanManager: without an owner, an object of the same name that is
// created later would yield its own former values.
func letGo(f Facts) Verdict {
	s, err := see(f, mapping.Want{})
	if err != nil {
		return refused(ProblemUnreadable, "%v", err)
	}
	out := nothing("")
	if !slices.ContainsFunc(s.fields, func(e entry) bool { return e.ours() }) {
		return out
	}
	out.Report.Message = "its object was deleted, and what belongs to it was to stay: Holdfast leaves it as it is"
	managed, err := written(s.orphaned())
	if err != nil {
		out.act(Action{}, err)
		return out
	}
	patch, err := s.patch(map[string]any{"managedFields": managed})
	out.act(Action{Do: LetGo, Patch: patch}, err)
	return out
}

// orphaned are the fields with those of Holdfast given to OrphanManager, in addition to what that has already.
func (s *sight) orphaned() []entry {
	var out []entry
	for _, e := range s.fields {
		if e.ours() {
			e.Manager = OrphanManager
		}
		same := func(o entry) bool {
			return e.Manager == OrphanManager && o.Manager == e.Manager && o.Operation == e.Operation && o.Subresource == e.Subresource
		}
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].fields = out[i].fields.Union(e.fields)
			continue
		}
		out = append(out, e)
	}
	return out
}

func written(entries []entry) ([]metav1.ManagedFieldsEntry, error) {
	out := make([]metav1.ManagedFieldsEntry, 0, len(entries))
	for _, e := range entries {
		raw, err := e.fields.ToJSON()
		if err != nil {
			return nil, fmt.Errorf("write the fields of %s: %w", e.Manager, err)
		}
		e.FieldsType, e.FieldsV1 = "FieldsV1", metav1.NewFieldsV1(string(raw))
		out = append(out, e.ManagedFieldsEntry)
	}
	return out, nil
}

// patch is a merge patch of the account's metadata as it was seen.
func (s *sight) patch(metadata map[string]any, others ...string) ([]byte, error) {
	metadata["uid"], metadata["resourceVersion"] = s.Live.UID, s.Live.ResourceVersion
	content := map[string]any{"metadata": metadata}
	for _, name := range others {
		content[name] = nil
	}
	out, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the patch: %w", err)
	}
	return out, nil
}

// act puts an action into a verdict, or says why there is none.
func (v *Verdict) act(a Action, err error) {
	if err != nil {
		v.Report.Problem, v.Report.Message = ProblemUnreadable, err.Error()
		return
	}
	v.Action = a
}
