// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/marks"
)

// probe is what was found out about an extension API server: whether it asks the
// cluster's policies about objects of a kind.
type probe struct {
	ended    bool
	enforced bool
	message  string
}

// probeAggregated finds that out for every kind of an extension API server that a
// protection selects an object of, once after each change of what is served.
func (m *Marker) probeAggregated(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.known {
		gr := k.kind.GroupResource()
		if _, done := m.probes[gr]; done || !k.kind.Aggregated || len(k.protections) == 0 {
			continue
		}
		m.probes[gr] = probe{}
		kind, o := k.kind, k.meta
		m.background.Go(func() { m.probe(ctx, kind, o) })
	}
}

// probe tries what a policy of Holdfast's refuses to everybody, as a dry run: to
// put marks.ProbeLabel on an object. A server that lets it pass asks no policy,
// unless the policy is not in force yet: the API server itself is tried first. A
// server that does not know dry runs would keep a label that means nothing.
func (m *Marker) probe(ctx context.Context, kind inventory.Kind, o *metav1.PartialObjectMetadata) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	body := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, marks.ProbeLabel)
	try := func(r schema.GroupVersionResource, namespace, name string) error {
		_, err := m.o.Metadata.Resource(r).Namespace(namespace).Patch(ctx, name, types.MergePatchType, body,
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	p := probe{ended: true}
	var err error
	if marks.RefusedProbe(try(namespaces, "", metav1.NamespaceSystem)) {
		err = try(kind.Resource, o.Namespace, o.Name)
		p.enforced = marks.RefusedProbe(err)
	} else {
		p.ended = false // the policy is not in force
	}
	switch {
	case p.enforced, !p.ended:
	case err != nil:
		p.ended = false
	default:
		p.message = "the extension API server that serves this kind does not ask the cluster's policies, so nothing can refuse a deletion there; its APIService is protected"
	}
	ctrl.Log.WithName("marks").Info("Tried whether an extension API server asks the policies", "resource", kind.GroupResource().String(), "enforced", p.enforced, "error", p.message)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !p.ended { // it is tried again
		delete(m.probes, kind.GroupResource())
		time.AfterFunc(calm, m.Wake)
		return
	}
	m.probes[kind.GroupResource()] = p
	m.changedKind(kind.GroupKind())
}

// served are the kinds that an APIService stands for.
func (m *Marker) served(apiService string) (kinds []schema.GroupKind) {
	for _, k := range m.kinds.All() {
		if k.Aggregated && apiServiceOf(k) == apiService {
			kinds = append(kinds, k.GroupKind())
		}
	}
	return kinds
}

func apiServiceOf(k inventory.Kind) string { return k.Resource.Version + "." + k.Resource.Group }

// fronting are the protections of what an APIService stands for: without it
// nobody could reach that any more.
func (m *Marker) fronting(apiService string) (out []*selection.Protection) {
	for _, kind := range m.served(apiService) {
		for _, name := range m.o.Protections.Naming(kind) {
			if p := m.o.Protections.Get(name); p != nil {
				out = append(out, p)
			}
		}
	}
	return out
}

// frontedAgain looks again at the APIService of a kind, or at all for nil.
func (m *Marker) frontedAgain(kind *inventory.Kind) {
	s := inventory.Source{Resource: inventory.APIServices}
	if m.sources[s] == nil {
		return
	}
	for _, o := range m.watches.Objects(s, "") {
		if kind == nil || kind.Aggregated && o.Name == apiServiceOf(*kind) {
			m.again(s, o)
		}
	}
}
