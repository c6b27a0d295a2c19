// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// maxName is how long the name of a RootSync may be, because others follow from it.
const maxName = 38

const valueTrue, valueFalse = "true", "false"

// Read reads a RootSync. Where it is wrong, the error says how, and the settings are
// those that a RootSync which is deleted is torn down by: what is wrong is not in them.
func Read(rs *configsyncv1beta1.RootSync) (Settings, *knv.Error) {
	s := settings(rs)
	for _, check := range []func(*configsyncv1beta1.RootSync) *knv.Error{
		checkMetadata, checkSource, checkOverride, checkStrategy, checkAnnotations, checkBuilt,
	} {
		if err := check(rs); err != nil {
			return s, err
		}
	}
	return s, nil
}

func invalid(format string, args ...any) *knv.Error {
	return knv.New(knv.InvalidSync, format, args...)
}

func checkMetadata(rs *configsyncv1beta1.RootSync) *knv.Error {
	if rs.Namespace != object.SyncNamespace {
		return invalid("RootSync objects are only allowed in the %s namespace, not in %s", object.SyncNamespace, rs.Namespace)
	}
	if len(rs.Name) > maxName {
		return invalid("maximum length of RootSync name is %d, but found %d", maxName, len(rs.Name))
	}
	reconciler := object.Sync(rs.Name).Reconciler()
	if wrong := validation.IsDNS1123Subdomain(reconciler); wrong != nil {
		return invalid("Invalid reconciler name %q: %s", reconciler, strings.Join(wrong, ", "))
	}
	switch rs.Annotations[configsyncv1beta1.AnnotationDeletionPropagation] {
	case "", configsyncv1beta1.DeletionForeground, configsyncv1beta1.DeletionOrphan:
		return nil
	}
	return invalid("RootSyncs which specify the annotation %q must use one of the values %q or %q",
		configsyncv1beta1.AnnotationDeletionPropagation, configsyncv1beta1.DeletionForeground, configsyncv1beta1.DeletionOrphan)
}

func checkOverride(rs *configsyncv1beta1.RootSync) *knv.Error {
	o := rs.Spec.Override
	if o == nil {
		return nil
	}
	if err := checkRoles(o.RoleRefs); err != nil {
		return err
	}
	switch o.StatusMode {
	case "", configsyncv1beta1.StatusEnabled, configsyncv1beta1.StatusDisabled:
	default:
		return invalid("spec.override.statusMode is %q: set it to %q or %q", o.StatusMode, configsyncv1beta1.StatusEnabled, configsyncv1beta1.StatusDisabled)
	}
	if o.GitSyncDepth != nil && *o.GitSyncDepth < 0 {
		return invalid("spec.override.gitSyncDepth is %d: set it to a number of commits, or to 0 for all of them", *o.GitSyncDepth)
	}
	if err := checkDuration("spec.override.reconcileTimeout", o.ReconcileTimeout, 0); err != nil {
		return err
	}
	return checkDuration("spec.override.apiServerTimeout", o.APIServerTimeout, 0)
}

func checkRoles(refs []configsyncv1beta1.RoleRef) *knv.Error {
	for _, r := range refs {
		switch {
		case r.Kind == configsyncv1beta1.KindRole && r.Namespace == "":
			return invalid("RootSyncs must specify 'spec.override.roleRefs.namespace' for role references with kind Role")
		case r.Kind != configsyncv1beta1.KindRole && r.Kind != configsyncv1beta1.KindClusterRole:
			return invalid("spec.override.roleRefs has the kind %q: set it to %q or %q", r.Kind, configsyncv1beta1.KindRole, configsyncv1beta1.KindClusterRole)
		case r.Name == "":
			return invalid("spec.override.roleRefs has no name: set it to that of a %s", r.Kind)
		}
	}
	return nil
}

// checkDuration also refuses what is shorter than a bound, where there is one.
func checkDuration(field, text string, least time.Duration) *knv.Error {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || d < 0:
		return invalid("%s is %q, which is no duration: set it to one such as \"30s\" or \"5m\"", field, text)
	case d != 0 && d < least:
		return invalid("%s is %q, which is too short: set it to %q or more", field, text, least)
	}
	return nil
}

// checkStrategy also sees to it that the field and the annotation do not contradict.
func checkStrategy(rs *configsyncv1beta1.RootSync) *knv.Error {
	var field configsyncv1beta1.NamespaceStrategy
	if rs.Spec.Override != nil {
		field = rs.Spec.Override.NamespaceStrategy
	}
	value, set := rs.Annotations[configsyncv1beta1.AnnotationNamespaceStrategy]
	annotation := configsyncv1beta1.NamespaceStrategy(value)
	switch {
	case field != "" && !known(field):
		return invalid("spec.override.namespaceStrategy is %q: set it to %q or %q", field, configsyncv1beta1.NamespacesImplicit, configsyncv1beta1.NamespacesExplicit)
	case set && !known(annotation):
		return invalid("the annotation %q is %q: set it to %q or %q, or remove it", configsyncv1beta1.AnnotationNamespaceStrategy, value,
			configsyncv1beta1.NamespacesImplicit, configsyncv1beta1.NamespacesExplicit)
	case set && field != "" && field != annotation:
		return invalid("spec.override.namespaceStrategy is %q and the annotation %q is %q: remove one of them, or set both to the same",
			field, configsyncv1beta1.AnnotationNamespaceStrategy, value)
	}
	return nil
}

func known(s configsyncv1beta1.NamespaceStrategy) bool {
	return s == configsyncv1beta1.NamespacesImplicit || s == configsyncv1beta1.NamespacesExplicit
}

// checkAnnotations is about those of Holdfast's own.
func checkAnnotations(rs *configsyncv1beta1.RootSync) *knv.Error {
	for _, a := range []struct{ key, one, other string }{
		{configsyncv1beta1.AnnotationSuspend, valueTrue, valueFalse},
		{configsyncv1beta1.AnnotationCommitStamp, configsyncv1beta1.CommitStampExact, configsyncv1beta1.CommitStampLagging},
	} {
		if v, set := rs.Annotations[a.key]; set && v != a.one && v != a.other {
			return invalid("the annotation %q is %q: set it to %q or %q, or remove it", a.key, v, a.one, a.other)
		}
	}
	return nil
}
