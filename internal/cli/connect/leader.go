// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

// Workload is a workload of Holdfast, which has a lease for its leader.
type Workload struct{ Name, Lease string }

// The workloads: what each writes into statuses stays as it was once no replica runs.
var (
	Guard = Workload{"guard", admission.GuardLease}
	Sync  = Workload{"sync", admission.SyncLease}
)

// grace is how long after its end a lease may still be renewed: by a replica that takes over, or by one whose clock
// differs from the clock here.
const grace = 15 * time.Second

// Silent returns what is to be said if no replica of a workload leads; "" while one does, and where there is no lease to
// tell, as without leader election.
func Silent(ctx context.Context, client dynamic.Interface, w Workload, namespace string, now time.Time) (string, error) {
	o, err := client.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(namespace).Get(ctx, w.Lease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get the lease that says whether the %s runs: %w", w.Name, err)
	}
	lease, err := As[coordinationv1.Lease](o)
	if err != nil {
		return "", err
	}
	return silent(w, lease, now), nil
}

func silent(w Workload, lease *coordinationv1.Lease, now time.Time) string {
	renewed := ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time
	lasts := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	age := now.Sub(renewed)
	if age <= lasts+grace {
		return ""
	}
	return fmt.Sprintf("no replica of the %s leads: the lease %s in namespace %s was last renewed %s ago. What Holdfast says of itself is from then",
		w.Name, lease.Name, lease.Namespace, duration.HumanDuration(age))
}
