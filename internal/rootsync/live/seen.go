// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"slices"
	"strings"
	"unique"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/platform/resourceversion"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Live is what a shared watch knows. Its methods are safe for concurrent use and do
// not block.
type Live interface {
	// Seen is what is known of an object: nil if none is there that has the label of
	// managed objects. It is false as long as its kind is not watched, or not all of
	// the kind was listed yet. What it returns is never changed.
	Seen(object.ID) (*Seen, bool)
}

// Seen is what is known of an object that is there.
type Seen struct {
	UID             types.UID
	ResourceVersion string
	// Owned is a digest of which fields a RootSync has applied and nobody has changed
	// since: a field that another writer changes is not in it any more. It is empty if
	// there are none.
	Owned string
	// Labels is a digest of the labels, and Generation counts changes of the spec:
	// protection comes and goes with them.
	Labels     string
	Generation int64

	// Manager says which reconciler manages the object, as object.Managed does; Named
	// is the manager that the annotation names, even if the object has inherited it from
	// another.
	Manager, Named string
	ApplySet       string
	// Inventory is the value of the annotation "config.k8s.io/owning-inventory".
	Inventory string
	// Version is what the object was last applied for.
	Version object.Version
	// Stamps is a digest of what object.Stamp writes, but for the versions.
	Stamps string
	// DependsOn is the value of the annotation "config.kubernetes.io/depends-on".
	DependsOn string
	// Stamped says whether the object has any of what object.Stamp writes.
	Stamped bool
	// Detached says whether the object is to stay when it is no longer declared.
	Detached bool
	// Ignored says whether the object has the annotation "mutation: ignore".
	Ignored bool
	// InheritedFrom is the namespace from which the object is copied down a hierarchy.
	InheritedFrom string
	// HasOwner says whether the object belongs to another and goes with it.
	HasOwner bool
	// Deleting says whether the object is on its way out.
	Deleting bool

	// Status is empty where only the metadata is known, which does not tell.
	Status  status.Status
	Message string
}

// Of is what is known by an object as a whole, or by its metadata.
func Of(id object.ID, o metav1.Object) *Seen {
	a, l := o.GetAnnotations(), o.GetLabels()
	s := &Seen{
		UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Owned: Owned(o), Labels: digest(l), Generation: o.GetGeneration(),
		Manager: shared(object.Managed(o, id)), Named: shared(a[object.AnnotationManager]), ApplySet: shared(l[object.LabelPartOf]), Inventory: shared(a[object.AnnotationInventory]),
		Version:       object.Version{Commit: shared(a[object.AnnotationToken]), Context: shared(a[object.AnnotationContext])},
		Stamps:        Stamps(a, l),
		Stamped:       stamped(a, l),
		DependsOn:     a[object.AnnotationDependsOn],
		Detached:      object.Detached(a),
		Ignored:       a[object.AnnotationMutation] == object.MutationIgnore,
		InheritedFrom: l[hncv1alpha2.LabelInheritedFrom],
		HasOwner:      len(o.GetOwnerReferences()) > 0, Deleting: o.GetDeletionTimestamp() != nil,
	}
	if whole, ok := o.(*unstructured.Unstructured); ok {
		s.Status, s.Message = statusOf(whole)
	}
	if s.Deleting {
		s.Status = status.TerminatingStatus
	}
	return s
}

func statusOf(o *unstructured.Unstructured) (status.Status, string) {
	r, err := status.Compute(o)
	if err != nil {
		return status.UnknownStatus, err.Error()
	}
	return r.Status, r.Message
}

func stamped(annotations, labels map[string]string) bool {
	for k := range annotations {
		if object.IsStamp(false, k) {
			return true
		}
	}
	for k := range labels {
		if k != object.LabelManagedBy && object.IsStamp(true, k) {
			return true
		}
	}
	// Other tools have this label too.
	return labels[object.LabelManagedBy] == object.ManagedBy
}

// Stamps is a digest of what object.Stamp writes, but for the versions, which may lag.
func Stamps(annotations, labels map[string]string) string {
	found := map[string]any{}
	for k, v := range annotations {
		if object.IsStamp(false, k) && !slices.Contains(object.Versions(), k) {
			found["a:"+k] = v
		}
	}
	for k, v := range labels {
		if object.IsStamp(true, k) {
			found["l:"+k] = v
		}
	}
	return Digest(found)
}

// shared keeps one copy of what many objects have.
func shared(s string) string { return unique.Make(strings.Clone(s)).Value() }

// Older says whether an object was seen before another one of its name; false if that
// cannot be told, as with some extension API servers.
func (s *Seen) Older(version string) bool {
	return resourceversion.Newer(version, s.ResourceVersion)
}

// Current says whether what depends on the object may go on.
func (s *Seen) Current() bool { return s.Status == status.CurrentStatus }

func digest(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	anyMap := make(map[string]any, len(m))
	for k, v := range m {
		anyMap[k] = v
	}
	return Digest(anyMap)
}
