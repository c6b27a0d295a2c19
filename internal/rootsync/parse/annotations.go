// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// What Config Sync reads and Holdfast does not: whoever declares it has to be told.
const (
	clusterSelector     = "configmanagement.gke.io/cluster-selector"
	clusterNameSelector = "configsync.gke.io/cluster-name-selector"
	namespaceSelector   = "configmanagement.gke.io/namespace-selector"
	applyTimeMutation   = "config.kubernetes.io/apply-time-mutation"
)

// permitted are the annotations of Config Sync's own that whoever declares an object may
// set. The last two are for RootSyncs.
var permitted = []string{
	clusterSelector, clusterNameSelector, namespaceSelector, object.AnnotationManaged,
	"configsync.gke.io/deletion-propagation-policy", "configsync.gke.io/namespace-strategy",
}

func isOwn(key string) bool {
	return strings.HasPrefix(key, "configmanagement.gke.io/") || strings.HasPrefix(key, "configsync.gke.io/")
}

func own(m map[string]string) []string {
	var keys []string
	for key := range m {
		if isOwn(key) && !slices.Contains(permitted, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func annotations(o *unstructured.Unstructured) []*knv.Error {
	if keys := own(o.GetAnnotations()); len(keys) > 0 {
		return one(knv.IllegalAnnotation, "A source must not declare annotations that Config Sync writes: remove %s", strings.Join(keys, ", "))
	}
	return nil
}

func labels(o *unstructured.Unstructured) []*knv.Error {
	var keys []string
	for key := range o.GetLabels() {
		if isOwn(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if len(keys) > 0 {
		return one(knv.IllegalLabel, "A source must not declare labels that Config Sync writes: remove %s", strings.Join(keys, ", "))
	}
	return nil
}

func managed(o *unstructured.Unstructured) []*knv.Error {
	if value, has := o.GetAnnotations()[object.AnnotationManaged]; has && value != object.ManagedDisabled {
		return one(knv.IllegalManaged, "The annotation %s has the value %q, and a source may say %q only: remove it, or change it to that",
			object.AnnotationManaged, value, object.ManagedDisabled)
	}
	return nil
}

func isDisabled(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()[object.AnnotationManaged] == object.ManagedDisabled
}

// lifecycle refuses a value that would be taken for no annotation: whoever has mistyped
// "detach" would lose the object.
func lifecycle(o *unstructured.Unstructured) []*knv.Error {
	var errs []*knv.Error
	for _, a := range []struct{ key, value string }{
		{object.AnnotationDeletion, object.DeletionDetach},
		{object.AnnotationOnRemove, object.OnRemoveKeep},
		{object.AnnotationMutation, object.MutationIgnore},
	} {
		if value, has := o.GetAnnotations()[a.key]; has && value != a.value {
			errs = append(errs, knv.New(knv.InvalidAnnotation, "The annotation %s has the value %q, and only %q has a meaning: change it to that, or remove it", a.key, value, a.value))
		}
	}
	if value, has := o.GetAnnotations()[object.AnnotationDependsOn]; has {
		if _, err := plan.References(value); err != nil {
			errs = append(errs, knv.New(knv.InvalidAnnotation, "The annotation %s cannot be read: %v", object.AnnotationDependsOn, err).Because(err))
		}
	}
	if _, has := o.GetAnnotations()[applyTimeMutation]; has {
		errs = append(errs, knv.New(knv.InvalidAnnotation, "The annotation %s is not supported, and the object would be applied without the values that it asks for: "+
			"write them into the source, or make them with kustomize", applyTimeMutation))
	}
	return errs
}
