// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// A protected volume is deleted with the claim that it is bound to, which its metadata does not name.

// newVolumes watches all PersistentVolumes. It keeps of each what ClaimOf reads.
func (m *Marker) newVolumes() (cache.SharedIndexInformer, error) {
	i := coreinformers.NewPersistentVolumeInformer(m.o.Client, 0, cache.Indexers{})
	if err := i.SetTransform(onlyClaim); err != nil {
		return nil, fmt.Errorf("set transform: %w", err)
	}
	changed := func(o any) {
		if v, ok := o.(*corev1.PersistentVolume); ok {
			m.volumeChanged(v)
		}
	}
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, after any) { changed(after) },
	}) // of one that is deleted the other watch tells
	if err != nil {
		return nil, fmt.Errorf("add handler: %w", err)
	}
	return i, nil
}

func onlyClaim(in any) (any, error) {
	v, ok := in.(*corev1.PersistentVolume)
	if !ok {
		return in, nil
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: v.Name, UID: v.UID, ResourceVersion: v.ResourceVersion},
		Spec:       corev1.PersistentVolumeSpec{ClaimRef: v.Spec.ClaimRef, PersistentVolumeReclaimPolicy: v.Spec.PersistentVolumeReclaimPolicy},
		Status:     corev1.PersistentVolumeStatus{Phase: v.Status.Phase},
	}, nil
}

// noteVolume keeps the list of protected volumes, and has the watch started with the first.
func (m *Marker) noteVolume(k *known) {
	if k.kind.GroupResource() != policy.Volumes || !m.isProtected(k) {
		delete(m.claimed, k.meta.UID)
		return
	}
	m.claimed[k.meta.UID] = struct{}{}
	if m.volumes == nil {
		m.Wake()
	}
}

// followVolumes starts the watch once it is needed.
func (m *Marker) followVolumes(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.claimed) == 0 || m.volumes != nil {
		return nil
	}
	i, err := m.newVolumes()
	if err != nil {
		return err
	}
	m.volumes = i
	m.background.Go(func() { i.RunWithContext(ctx) })
	m.background.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
			m.volumesSynced()
		}
	})
	return nil
}

func (m *Marker) volumesSynced() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid := range m.claimed {
		if k := m.known[uid]; k != nil {
			m.reclaimed(k)
		}
	}
	m.claimsSeen = true
}

// volumesSeen reports whether the claims of all protected volumes are known.
func (m *Marker) volumesSeen() bool { return m.claimsSeen || len(m.claimed) == 0 }

func (m *Marker) volumeChanged(v *corev1.PersistentVolume) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.known[v.UID]; k != nil {
		m.reclaimed(k)
	}
}

// reclaimed updates the claim of a volume, and enqueues the claims before and after.
func (m *Marker) reclaimed(k *known) {
	before := m.above(k)
	m.put(k)
	m.enqueue(append(before, m.above(k)...)...)
}

// claimOf returns the claim with which a protected volume is deleted.
func (m *Marker) claimOf(k *known) *contents.Claim {
	if _, ok := m.claimed[k.meta.UID]; !ok || m.volumes == nil {
		return nil
	}
	o, _, _ := m.volumes.GetStore().GetByKey(k.meta.Name)
	v, ok := o.(*corev1.PersistentVolume)
	if !ok || v.UID != k.meta.UID {
		return nil
	}
	return contents.ClaimOf(v)
}
