// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package contents

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestClaimOf(t *testing.T) {
	t.Parallel()
	ref := &corev1.ObjectReference{Namespace: "shop", Name: "data", UID: "1"}
	bound := &Claim{Namespace: "shop", Name: "data", UID: "1"}
	tests := []struct {
		name   string
		ref    *corev1.ObjectReference
		policy corev1.PersistentVolumeReclaimPolicy
		phase  corev1.PersistentVolumePhase
		want   *Claim
	}{
		{name: "a volume goes with the claim that it is bound to", ref: ref, policy: corev1.PersistentVolumeReclaimDelete, phase: corev1.VolumeBound, want: bound},
		{name: "one that is recycled loses its data", ref: ref, policy: corev1.PersistentVolumeReclaimRecycle, phase: corev1.VolumeBound, want: bound},
		{name: "one that is retained stays", ref: ref, policy: corev1.PersistentVolumeReclaimRetain, phase: corev1.VolumeBound},
		{name: "one that was released has no claim any more", ref: ref, policy: corev1.PersistentVolumeReclaimDelete, phase: corev1.VolumeReleased},
		{name: "one that waits for a claim has none yet", ref: &corev1.ObjectReference{Namespace: "shop", Name: "data"}, policy: corev1.PersistentVolumeReclaimDelete, phase: corev1.VolumeBound},
		{name: "one without a claim has none", policy: corev1.PersistentVolumeReclaimDelete, phase: corev1.VolumeAvailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := &corev1.PersistentVolume{
				Spec:   corev1.PersistentVolumeSpec{ClaimRef: tt.ref, PersistentVolumeReclaimPolicy: tt.policy},
				Status: corev1.PersistentVolumeStatus{Phase: tt.phase},
			}
			if diff := cmp.Diff(tt.want, ClaimOf(v)); diff != "" {
				t.Errorf("claim (-want +got):\n%s", diff)
			}
		})
	}
}
