// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/holdfast-dev/holdfast/internal/platform/lease"
)

// elect returns the lock by which replicas elect their leader, nil if they do not, and the configuration of the clients of the
// leader. These write nothing once the lease may be another replica's; what every replica writes needs clients of rc.
func (o *Common) elect(ctx context.Context, rc *rest.Config, scheme *schemeType, name string) (resourcelock.Interface, *rest.Config, error) {
	if !o.LeaderElect {
		return nil, rc, nil
	}
	client, err := typedcorev1.NewForConfig(rc)
	if err != nil {
		return nil, nil, fmt.Errorf("make client for events of the lease: %w", err)
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.Events("")})
	inner, err := leaderelection.NewResourceLock(rest.CopyConfig(rc), &leaseEvents{broadcaster, scheme}, leaderelection.Options{
		LeaderElection:          true,
		LeaderElectionNamespace: o.Namespace,
		LeaderElectionID:        name,
		RenewDeadline:           o.RenewDeadline,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("make lock for leader election: %w", err)
	}
	lock := lease.NewLock(inner, o.LeaseDuration, clock.RealClock{})
	leader := rest.CopyConfig(rc)
	leader.Wrap(lock.Fence)
	return lock, leader, nil
}

// leaseEvents records who becomes leader.
type leaseEvents struct {
	broadcaster record.EventBroadcaster
	scheme      *schemeType
}

// GetEventRecorderFor implements recorder.Provider.
func (e *leaseEvents) GetEventRecorderFor(name string) record.EventRecorder {
	return e.broadcaster.NewRecorder(e.scheme, corev1.EventSource{Component: name})
}

// GetEventRecorder implements recorder.Provider. Locks need none.
func (e *leaseEvents) GetEventRecorder(string) recorder.EventRecorder { return nil }
