// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	holdfastv1alpha1 "github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Rules are what the configuration says about all copies.
type Rules struct {
	// NoCopies are labels, by key their values, of objects that are never copied.
	NoCopies map[string][]string
	// StripLabels and StripAnnotations are keys that copies do not have.
	StripLabels, StripAnnotations map[string]bool
	// Modes are those of the configured kinds. What is not in it is ignored, but
	// for Roles and RoleBindings, which are always copied.
	Modes map[schema.GroupKind]hncv1alpha2.SynchronizationMode
}

// The kinds that are always copied.
var (
	RoleKind        = schema.GroupKind{Group: rbacv1.GroupName, Kind: "Role"}
	RoleBindingKind = schema.GroupKind{Group: rbacv1.GroupName, Kind: "RoleBinding"}
)

// Enforced says whether a kind is always copied, and cannot be configured.
func Enforced(kind schema.GroupKind) bool { return kind == RoleKind || kind == RoleBindingKind }

// Mode in which a kind is treated, which is one of the four.
func (r Rules) Mode(kind schema.GroupKind) hncv1alpha2.SynchronizationMode {
	mode, configured := r.Modes[kind]
	switch {
	case Enforced(kind), configured && mode == "":
		return hncv1alpha2.ModePropagate
	case mode == hncv1alpha2.ModePropagate, mode == hncv1alpha2.ModeAllowPropagate, mode == hncv1alpha2.ModeRemove:
		return mode
	default:
		return hncv1alpha2.ModeIgnore
	}
}

// Follows says whether objects of a kind in a mode have to be known.
func Follows(mode hncv1alpha2.SynchronizationMode) bool {
	return mode == hncv1alpha2.ModePropagate || mode == hncv1alpha2.ModeAllowPropagate || mode == hncv1alpha2.ModeRemove
}

// Copies says whether objects of a kind are copied.
func (r Rules) Copies(kind schema.GroupKind) bool {
	mode := r.Mode(kind)
	return mode == hncv1alpha2.ModePropagate || mode == hncv1alpha2.ModeAllowPropagate
}

// Object is what counts of an object, to decide where it is copied.
type Object struct {
	Kind                schema.GroupKind
	Namespace, Name     string
	Labels, Annotations map[string]string
	// Type is that of a Secret.
	Type string
	// Finalizers says whether it has any.
	Finalizers bool
	// BindsRootSync reports whether the object is a RoleBinding for a RootSync's service account.
	BindsRootSync bool
	// Role is the name of the Role that a RoleBinding refers to; "" if it refers to a ClusterRole.
	Role string
}

// Describe is what counts of an object in a namespace.
func Describe(kind schema.GroupKind, namespace string, u *unstructured.Unstructured) Object {
	kindOfSecret, _, _ := unstructured.NestedString(u.Object, "type")
	return Object{
		Kind: kind, Namespace: namespace, Name: u.GetName(), Labels: u.GetLabels(), Annotations: u.GetAnnotations(),
		Type: kindOfSecret, Finalizers: len(u.GetFinalizers()) > 0, BindsRootSync: kind == RoleBindingKind && bindsRootSync(u), Role: BoundRole(kind, u),
	}
}

// bindsRootSync reports whether a RoleBinding has the label that RootSyncs' bindings have, or a service account in their
// namespace as a subject, in any of the forms that RBAC knows.
func bindsRootSync(u *unstructured.Unstructured) bool {
	const home = configsyncv1beta1.Namespace
	if _, labelled := u.GetLabels()[configsyncv1beta1.LabelSyncKind]; labelled {
		return true
	}
	subjects, _, _ := unstructured.NestedSlice(u.Object, "subjects")
	return slices.ContainsFunc(subjects, func(subject any) bool {
		s, _ := subject.(map[string]any)
		name, _ := s["name"].(string)
		switch s["kind"] {
		case rbacv1.ServiceAccountKind:
			return s["namespace"] == home
		case rbacv1.UserKind:
			return strings.HasPrefix(name, "system:serviceaccount:"+home+":")
		default:
			return s["kind"] == rbacv1.GroupKind && name == "system:serviceaccounts:"+home
		}
	})
}

// IsCopy says whether the object says that it is a copy.
func (o Object) IsCopy() bool {
	_, found := o.Labels[hncv1alpha2.LabelInheritedFrom]
	return found
}

// Restored reports whether the object is a copy that was restored from a backup.
func (o Object) Restored() bool {
	_, found := o.Annotations[holdfastv1alpha1.RestoredCopyAnnotation]
	return found
}

// openshiftDescription is on what OpenShift makes in each of its projects.
const openshiftDescription = "openshift.io/description"

// helmRelease is the type of the Secrets in which Helm keeps its releases.
const helmRelease = "helm.sh/release.v1"

// NeverCopied says whether Secrets of a type are never copied.
func NeverCopied(secretType string) bool {
	return secretType == string(corev1.SecretTypeServiceAccountToken) || secretType == helmRelease
}

// neverCopied says why an object is never copied; empty if it may be.
func (r Rules) neverCopied(o Object) string {
	switch o.Kind {
	case schema.GroupKind{Kind: "Secret"}:
		if NeverCopied(o.Type) {
			return "it is a Secret of the type " + o.Type
		}
	case schema.GroupKind{Kind: "ConfigMap"}:
		if o.Name == "istio-ca-root-cert" || o.Name == "kube-root-ca.crt" {
			return "there is a ConfigMap of this name in every namespace"
		}
	}
	if o.BindsRootSync {
		return "it grants rights to a RootSync, which hold in its namespace alone"
	}
	if o.Restored() {
		return "it has the annotation " + holdfastv1alpha1.RestoredCopyAnnotation
	}
	if _, found := o.Annotations[openshiftDescription]; found {
		return "it has the annotation " + openshiftDescription
	}
	for key, values := range r.NoCopies {
		if value, found := o.Labels[key]; found && slices.Contains(values, value) {
			return "it has the label " + key + "=" + value
		}
	}
	return ""
}
