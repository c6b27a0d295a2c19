// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

const (
	// firstRetry and lastRetry bound the pause before what failed is tried again.
	firstRetry, lastRetry = 50 * time.Millisecond, 30 * time.Second
	// firstRefused and lastRefused bound it for what was refused, if nothing changes
	// sooner. A part of it more, at random, keeps them from coming all at once.
	firstRefused, lastRefused = time.Minute, 15 * time.Minute
	refusedSpread             = 0.2
)

// refused says whether a write would be refused again: a right is missing, somebody
// protects the object, or it is not valid. That lasts.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// passing says whether it may well go the next time: somebody was faster, or nobody
// answered.
func passing(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
}

// retry has something that failed tried again, later each time.
func (k *Keeper) retry(i item, err error) {
	o := priorityqueue.AddOpts{Priority: new(i.priority())}
	if refused(err) {
		k.queue.Forget(i)
		o.After = wait.Jitter(k.refusals.When(i), refusedSpread)
	} else {
		o.RateLimited = true
	}
	k.queue.AddWithOpts(o, i)
}

// forget forgets how often something failed.
func (k *Keeper) forget(i item) {
	k.queue.Forget(i)
	k.refusals.Forget(i)
	k.reported.Remove(i)
}

// news says whether something fails for another reason than the last time.
func (k *Keeper) news(i item, err error) bool {
	last, ok := k.reported.Get(i)
	k.reported.Add(i, err.Error())
	return !ok || last != err.Error()
}

// report says that something could not be written, once for each reason.
func (k *Keeper) report(i item, err error) {
	if !k.news(i, err) {
		return
	}
	ctrl.Log.WithName("hierarchy").Info("Something cannot be written; it is tried again", "what", string(i.what), "kind", i.kind.String(),
		"namespace", i.namespace, "name", i.name, "tries", k.queue.NumRequeues(i)+1, "error", err.Error())
	if refused(err) {
		k.stays(i, err)
	}
}

// stays says on what is to go that it cannot, and who is in the way. Nothing else of it
// would tell.
func (k *Keeper) stays(i item, err error) {
	switch i.what {
	case anAnchor:
		if p := k.o.World.Anchor(world.Ref{Namespace: i.namespace, Name: i.name}); p != nil && p.Anchor.DeletionTimestamp != nil {
			k.o.Events.Eventf(p.Anchor, nil, corev1.EventTypeWarning, hncv1alpha2.EventCannotUpdate, "Delete", "it waits for its subnamespace: %v", err)
		}
	case aCopy:
		p := k.o.World.Copy(world.CopyRef{Key: propagate.Key{Kind: i.kind, Name: i.name}, Namespace: i.namespace})
		if p == nil || decide(p) != remove {
			return
		}
		o := &metav1.PartialObjectMetadata{ObjectMeta: p.Have.ObjectMeta}
		o.SetGroupVersionKind(i.kind.WithVersion(p.Kind.Resource.Version))
		k.o.Events.Eventf(o, nil, corev1.EventTypeWarning, hncv1alpha2.EventCannotUpdate, "Delete", "this copy is not to be here any more, and cannot go: %v", err)
	}
}
