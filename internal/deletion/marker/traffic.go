// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"context"
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

var services = schema.GroupResource{Resource: "services"}

// byService indexes EndpointSlices by the Service that they are of.
const byService = "service"

// newTraffic watches which Services have ready endpoints. It costs a watch of all
// EndpointSlices, so it is begun only once a Service is protected while it is
// used. Of each slice only the ready endpoints' number is kept.
func (m *Marker) newTraffic(c kubernetes.Interface) (cache.SharedIndexInformer, error) {
	i := discoveryinformers.NewEndpointSliceInformer(c, metav1.NamespaceAll, 0, cache.Indexers{byService: func(o any) ([]string, error) {
		if s, ok := o.(*discoveryv1.EndpointSlice); ok {
			return []string{s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]}, nil
		}
		return nil, nil
	}})
	if err := i.SetTransform(onlyReady); err != nil {
		return nil, fmt.Errorf("set transform: %w", err)
	}
	changed := func(o any) {
		if t, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = t.Obj
		}
		if s, ok := o.(*discoveryv1.EndpointSlice); ok {
			m.trafficChanged(s.Namespace, s.Labels[discoveryv1.LabelServiceName])
		}
	}
	_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(before, after any) { changed(before); changed(after) }, // it can go to another Service
		DeleteFunc: changed,
	})
	if err != nil {
		return nil, fmt.Errorf("add handler: %w", err)
	}
	return i, nil
}

// onlyReady drops all of a slice but its ready endpoints, and of those all but
// that they are there. As with kube-proxy, one of which nothing is known is
// ready.
func onlyReady(in any) (any, error) {
	s, ok := in.(*discoveryv1.EndpointSlice)
	if !ok {
		return in, nil
	}
	out := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion,
		Labels: map[string]string{discoveryv1.LabelServiceName: s.Labels[discoveryv1.LabelServiceName]},
	}}
	for _, e := range s.Endpoints {
		if e.Conditions.Ready == nil || *e.Conditions.Ready {
			out.Endpoints = append(out.Endpoints, discoveryv1.Endpoint{})
		}
	}
	return out, nil
}

// trafficChanged looks again at a Service whose endpoints have changed.
func (m *Marker) trafficChanged(namespace, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid := range m.whileUsed {
		if k := m.known[uid]; k != nil && k.meta.Namespace == namespace && k.meta.Name == name {
			m.queue.Add(targetOf(k))
		}
	}
}

// needsTraffic says whether an object is a Service that is protected while it is
// used.
func (m *Marker) needsTraffic(k *known) bool {
	if k.kind.GroupResource() != services {
		return false
	}
	for _, p := range k.protections {
		if p.Mode == v1alpha1.ModeCascading {
			return true
		}
	}
	for _, key := range m.settings.Rules.Labels() {
		if key.WhileUsed(services, k.meta.Labels[key.Label]) {
			return true
		}
	}
	return false
}

// noteTraffic keeps the list of Services whose traffic counts, and has the watch
// begun with the first.
func (m *Marker) noteTraffic(k *known) {
	if !m.needsTraffic(k) {
		delete(m.whileUsed, k.meta.UID)
		return
	}
	m.whileUsed[k.meta.UID] = struct{}{}
	if m.traffic == nil {
		m.Wake()
	}
}

// followTraffic begins to watch EndpointSlices once that is needed.
func (m *Marker) followTraffic(ctx context.Context) error {
	m.mu.Lock()
	needed := len(m.whileUsed) > 0 && m.traffic == nil
	m.mu.Unlock()
	if !needed {
		return nil
	}
	i, err := m.newTraffic(m.o.Client)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.traffic = i
	m.mu.Unlock()
	m.background.Go(func() { i.RunWithContext(ctx) })
	m.background.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
			m.trafficSynced()
		}
	})
	return nil
}

func (m *Marker) trafficSynced() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid := range m.whileUsed {
		if k := m.known[uid]; k != nil {
			m.queue.Add(targetOf(k))
		}
	}
}

// usedByTraffic says whether a Service that is protected while it is used has
// ready endpoints. Until all EndpointSlices are known its mark stays.
func (m *Marker) usedByTraffic(k *known) bool {
	if _, ok := m.whileUsed[k.meta.UID]; !ok {
		return false
	}
	if m.traffic == nil || !m.traffic.HasSynced() {
		return v1alpha1.MarkOf(k.meta, v1alpha1.InUseMark) != ""
	}
	found, err := m.traffic.GetIndexer().ByIndex(byService, k.meta.Namespace+"/"+k.meta.Name)
	if err != nil {
		return true // there is no such index: impossible
	}
	for _, o := range found {
		if s, ok := o.(*discoveryv1.EndpointSlice); ok && len(s.Endpoints) > 0 {
			return true
		}
	}
	return false
}
