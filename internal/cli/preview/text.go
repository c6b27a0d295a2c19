// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Diff is a change of content as "diff -u" has it; empty for one that shows none. Of an
// object that goes only the name is told.
func (c *Change) Diff(exact bool) (string, error) {
	if !slices.Contains([]Action{Create, Update, Release}, c.Action) {
		return "", nil
	}
	before, after := mask(c.Before, c.After)
	old, err := text(before, exact)
	if err != nil {
		return "", err
	}
	now, err := text(after, exact)
	if err != nil {
		return "", err
	}
	name := strings.Trim(strings.Join([]string{c.ID.Namespace, c.ID.GroupKind().String(), c.ID.Name}, "/"), "/")
	out := string(diff.Diff("live/"+name, []byte(old), "next/"+name, []byte(now)))
	_, out, _ = strings.Cut(out, "\n") // the command line of a program that nobody has started
	return out, nil
}

// unshown is metadata that the API server keeps, and that changes with each write.
var unshown = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"}

// text is an object without what nobody means to change. The commit is not shown where it
// alone is no change.
func text(o *unstructured.Unstructured, exact bool) (string, error) {
	if o == nil {
		return "", nil
	}
	o = o.DeepCopy()
	for _, field := range unshown {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	if !exact {
		for _, key := range object.Versions() {
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations", key)
		}
	}
	out, err := yaml.Marshal(o.Object)
	if err != nil {
		return "", fmt.Errorf("show %s: %w", o.GetName(), err)
	}
	return string(out), nil
}

const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// mask hides the content of Secrets, and shows which keys differ.
func mask(before, after *unstructured.Unstructured) (b, a *unstructured.Unstructured) {
	b, a = before.DeepCopy(), after.DeepCopy()
	for _, field := range []string{"data", "stringData"} {
		old, now := secretData(b, field), secretData(a, field)
		for key := range sets.KeySet(old).Union(sets.KeySet(now)) {
			was, had := old[key]
			is, has := now[key]
			hide, hideNow := masked, masked
			if had && has && !reflect.DeepEqual(was, is) {
				hide, hideNow = maskedBefore, maskedAfter
			}
			if had {
				old[key] = hide
			}
			if has {
				now[key] = hideNow
			}
		}
	}
	for _, o := range []*unstructured.Unstructured{b, a} {
		if isSecret(o) { // what kubectl apply keeps there has the content
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
		}
	}
	return b, a
}

func isSecret(o *unstructured.Unstructured) bool {
	return o != nil && o.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Secret"})
}

// secretData is a part of a Secret; nil for anything else.
func secretData(o *unstructured.Unstructured, field string) map[string]any {
	if !isSecret(o) {
		return nil
	}
	data, _ := o.Object[field].(map[string]any)
	return data
}
