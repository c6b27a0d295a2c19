// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Want is one account that an object is to have, or not to have now.
type Want struct {
	// Mapping and Account say by which ServiceAccountTemplate, and by which item of it.
	Mapping, Account string
	// Source is the object.
	Source Source
	// Name of the account, in the namespace of the object; empty if not even that can
	// be told.
	Name string
	// Enabled says whether the object has the account now. The rest is there only if it
	// has.
	Enabled bool
	// Labels, and Annotations, which are nil if the template has none.
	Labels, Annotations map[string]string
	// OwnerReference that an account made for the object gets; nil if none. It is there
	// whether the account is enabled or not.
	OwnerReference *metav1.OwnerReference
	Conflicts      Conflicts
	// TakeOver are field managers of those who wrote the account before.
	TakeOver []string
	// Err says why the account cannot be told. It is nil of an account that is not
	// enabled, unless it is not known whether it is.
	Err error
}

// Source is an object that accounts belong to.
type Source struct {
	schema.GroupVersionKind
	types.NamespacedName
	UID types.UID
	// Created is when the object was, and Deleting says whether it goes.
	Created  time.Time
	Deleting bool
	// Orphaning says that whoever deletes it wants what belongs to it to stay.
	Orphaning bool
}

// ErrClusterScoped is the error of every account of an object without a namespace.
var ErrClusterScoped = errors.New("the object has no namespace for an account to be in")

// errDefault is about the one account that pods have which ask for none.
var errDefault = errors.New("the account default is that of every pod in the namespace that asks for no other: no template can have it")

// Wants are the accounts of an object, which it does not change, in the order of the
// template. What is wrong with one is no matter of the others.
func (m *Mapping) Wants(o *unstructured.Unstructured) []Want {
	source := Source{
		GroupVersionKind: m.Source.WithVersion(o.GroupVersionKind().Version),
		NamespacedName:   types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()},
		UID:              o.GetUID(), Created: o.GetCreationTimestamp().Time, Deleting: o.GetDeletionTimestamp() != nil,
	}
	source.Orphaning = source.Deleting && slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents)
	variables := map[string]any{self: readable(o.Object)}
	out := make([]Want, 0, len(m.accounts))
	for i := range m.accounts {
		a := &m.accounts[i]
		want := Want{
			Mapping: m.Name, Account: a.id, Source: source,
			OwnerReference: a.ownerReference(source), Conflicts: a.conflicts, TakeOver: a.takeOver,
		}
		if source.Namespace == "" {
			want.Err = ErrClusterScoped
		} else {
			want.Err = a.fill(&want, o, variables)
		}
		out = append(out, want)
	}
	return out
}

// readable is the content of an object with labels and annotations, so that an
// expression need not ask whether there are any.
func readable(content map[string]any) map[string]any {
	meta, _ := content["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	for _, name := range []string{"labels", "annotations"} {
		if meta[name] == nil {
			meta[name] = map[string]any{}
		}
	}
	out := maps.Clone(content)
	if out == nil {
		out = map[string]any{}
	}
	out["metadata"] = meta
	return out
}

func (a *account) ownerReference(s Source) *metav1.OwnerReference {
	if a.owner == nil {
		return nil
	}
	apiVersion, kind := s.ToAPIVersionAndKind()
	return &metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: s.Name, UID: s.UID,
		BlockOwnerDeletion: new(a.owner.BlockOwnerDeletion), Controller: new(a.owner.Controller),
	}
}

// fill tells the rest of an account.
func (a *account) fill(want *Want, o *unstructured.Unstructured, variables map[string]any) error {
	name, err := a.name.eval(variables)
	if err != nil {
		return fmt.Errorf("the name: %w", err)
	}
	if mistakes := apivalidation.ValidateServiceAccountName(name, false); len(mistakes) > 0 {
		return fmt.Errorf("the name %q: %s", name, mistakes[0])
	}
	want.Name = name
	want.Enabled = true
	if a.enabled != nil {
		if want.Enabled, err = a.enabled.Eval(variables); err != nil {
			return fmt.Errorf("whether it is enabled: %w", err)
		}
	}
	if !want.Enabled {
		return nil
	}
	if name == "default" {
		return errDefault
	}
	template, err := a.metadata(o)
	if err != nil {
		return err
	}
	labels, err := a.allLabels(o.GetLabels(), template.labels, variables)
	if err != nil {
		return err
	}
	if err := valid(labels, template.annotations); err != nil {
		return err
	}
	want.Labels, want.Annotations = labels, template.annotations
	return nil
}

// allLabels are those of the object, then the account's own, then those of the
// template: the last has its say.
func (a *account) allLabels(ofObject, ofTemplate map[string]string, variables map[string]any) (map[string]string, error) {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(ofObject)) {
		excluded, err := a.excluded.Matches(key)
		if err != nil {
			return nil, err
		}
		if excluded { // before anything is forbidden, as in Strimzi
			continue
		}
		if err := a.permit(key); err != nil {
			return nil, err
		}
		if a.inherits && !isMark(key) {
			out[key] = ofObject[key]
		}
	}
	for _, l := range a.labels {
		value, err := l.value.eval(variables)
		if err != nil {
			return nil, fmt.Errorf("the label %s: %w", l.key, err)
		}
		out[l.key] = value
	}
	for _, key := range slices.Sorted(maps.Keys(ofTemplate)) {
		if err := a.permit(key); err != nil {
			return nil, err
		}
		out[key] = ofTemplate[key]
	}
	return out, nil
}

// permit says whether an object, or a template in it, may have a label.
func (a *account) permit(key string) error {
	forbidden, err := a.forbidden.Matches(key)
	if err != nil {
		return err
	}
	if forbidden {
		return errors.New(a.refusal)
	}
	return nil
}

// template is what an object says of its account.
type template struct {
	labels, annotations map[string]string
}

func (a *account) metadata(o *unstructured.Unstructured) (template, error) {
	if len(a.template) == 0 {
		return template{}, nil
	}
	var out template
	for _, part := range []struct {
		name string
		into *map[string]string
	}{{"labels", &out.labels}, {"annotations", &out.annotations}} {
		steps := append(slices.Clone(a.template), "metadata", part.name)
		found, err := stringsAt(o.Object, steps)
		if err != nil {
			return template{}, err
		}
		for key := range found {
			if isMark(key) {
				return template{}, fmt.Errorf(".%s: %s", strings.Join(steps, "."), reservedMessage(key))
			}
		}
		*part.into = found
	}
	return out, nil
}

func reservedMessage(key string) string {
	return key + " is a key of Holdfast's own, or says whose an object is or that it is protected: leave it out"
}

// stringsAt is a map of texts in an object; nil if there is none. The object is not
// copied, which most helpers for this do.
func stringsAt(content map[string]any, steps []string) (map[string]string, error) {
	wrong := func(upTo int, want string) error {
		return fmt.Errorf(".%s is not %s", strings.Join(steps[:upTo], "."), want)
	}
	for i, step := range steps {
		next := content[step]
		if next == nil {
			return nil, nil //nolint:nilnil // nothing there is an answer
		}
		var ok bool
		if content, ok = next.(map[string]any); !ok {
			return nil, wrong(i+1, "an object")
		}
	}
	if len(content) == 0 {
		return nil, nil //nolint:nilnil // nothing there is an answer
	}
	out := make(map[string]string, len(content))
	for _, key := range slices.Sorted(maps.Keys(content)) {
		value, ok := content[key].(string)
		if !ok {
			return nil, fmt.Errorf("%w: put the value of %s in quotes", wrong(len(steps), "a map of texts"), key)
		}
		out[key] = value
	}
	return out, nil
}

// valid finds what the API server would refuse.
func valid(labels, annotations map[string]string) error {
	problems := metav1validation.ValidateLabels(labels, field.NewPath("metadata", "labels"))
	problems = append(problems, apivalidation.ValidateAnnotations(annotations, field.NewPath("metadata", "annotations"))...)
	slices.SortFunc(problems, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	if aggregate := problems.ToAggregate(); aggregate != nil {
		return aggregate
	}
	return nil
}
