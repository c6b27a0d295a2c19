// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Facts are what is known of an object.
type Facts struct {
	ID object.ID
	// Sync is whose decision it is.
	Sync object.Sync
	// Seen is the object as it was seen last; nil if it was not.
	Seen *live.Seen
	// Known says whether it would have been seen if it were there with the label of
	// managed objects, and Looked whether it would have been seen without.
	Known, Looked bool
	// CopyOf is the namespace above the object's from which a hierarchy has copied it; empty if it is no copy. A label that
	// names any other namespace proves nothing: all users who may write the object may write it.
	CopyOf string
	// MayBeCopy says that a hierarchy may have copied an object there, which would not be
	// seen.
	MayBeCopy bool
	// Wrote is what the sync wrote last; nil if it does not remember.
	Wrote *Wrote
	// Lagging says whether the watch has not told of anything since then.
	Lagging bool
	// Standing is the result of the contest for the object. An object that has the mark of another RootSync is left to that
	// if there is no owner.
	object.Standing
	// OutOfScope says that the configuration leaves no namespace of that name to Holdfast.
	OutOfScope bool
}

// Wrote is what a sync remembers of the last time that an object was as it was to be.
type Wrote struct {
	// Digest is that of Want.
	Digest          string
	UID             types.UID
	ResourceVersion string
	// Owned is that of live.Seen.
	Owned string
}

// Want is what is declared of an object.
type Want struct {
	// Digest is that of the object as it is applied, but for the versions.
	Digest string
	// Stamps is that of live.Seen.
	Stamps string
	// Disabled says that the object is not to be managed.
	Disabled bool
	// OnlyMetadata says that the object is left as it is once it is there.
	OnlyMetadata bool
	// Version is what the object is applied for, and Exact whether that counts as a
	// difference.
	Version object.Version
	Exact   bool
}

// WantOf is what is declared of an object.
func WantOf(d object.Declared, sync object.Sync, v object.Version, exact bool) Want {
	stamped := object.Stamp(d, sync, object.Version{})
	a := stamped.GetAnnotations()
	for _, k := range object.Versions() {
		unstructured.RemoveNestedField(stamped.Object, "metadata", "annotations", k)
	}
	return Want{
		Digest: live.Digest(stamped.Object), Stamps: live.Stamps(a, stamped.GetLabels()),
		Disabled:     d.Disabled(),
		OnlyMetadata: a[object.AnnotationMutation] == object.MutationIgnore,
		Version:      v, Exact: exact,
	}
}
