// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package contents

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Claim is a PersistentVolumeClaim.
type Claim struct {
	Namespace, Name string
	UID             types.UID
}

// ClaimOf returns the claim that a volume is bound to, if the volume and its data are deleted with the claim; else nil.
func ClaimOf(v *corev1.PersistentVolume) *Claim {
	ref := v.Spec.ClaimRef
	if ref == nil || ref.UID == "" || v.Status.Phase != corev1.VolumeBound || v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
		return nil
	}
	return &Claim{Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID}
}
