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
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

const asksNoPolicy = "the extension API server that serves this kind does not ask the cluster's policies, so nothing can refuse a deletion there; its APIService is protected"

// probe is what is known of an extension API server: whether it asks the
// cluster's policies about objects of a kind.
type probe struct {
	trying bool
	tries  int
	next   time.Time // no try before
	passed time.Time // when it first let pass what the API server refuses
	ended  bool
	// enforced is meaningful once the probe has ended.
	enforced bool
}

// learn takes in a try: what the API server said, and what the extension API
// server said then.
func (p *probe) learn(first, then error, now time.Time, pauses timing.Pauses) {
	switch {
	case !marks.RefusedProbe(first): // the policy is not in force
	case marks.RefusedProbe(then):
		p.ended, p.enforced = true, true
	case then != nil: // it does not answer, or the object has just gone
	case p.passed.IsZero():
		p.passed = now
	default:
		p.ended = now.Sub(p.passed) >= pauses.ProbeSettle
	}
	p.trying = false
	p.next = now.Add(min(calm<<min(p.tries, 6), pauses.ProbeLongest))
	p.tries++
}

// probeAggregated finds that out for every kind of an extension API server that a
// protection selects an object of, once after each change of what is served.
func (m *Marker) probeAggregated(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.known {
		if !k.kind.Aggregated || len(k.protections) == 0 {
			continue
		}
		gr := k.kind.GroupResource()
		p := m.probes[gr]
		if p == nil {
			p = &probe{}
			m.probes[gr] = p
		}
		if p.ended || p.trying || m.o.Clock.Now().Before(p.next) {
			continue
		}
		p.trying = true
		kind, o := k.kind, k.meta
		m.background.Go(func() { m.probe(ctx, p, kind, o) })
	}
}

// probe tries what a policy of Holdfast's refuses to everybody, as a dry run: to
// put marks.ProbeLabel on an object. A server that lets it pass asks no policy,
// unless the policy is not in force yet: the API server itself is tried first. A
// server that does not know dry runs would keep a label that means nothing.
//
// The policy of the probe is written after those that refuse deletions, so that
// who asks it asks them too.
func (m *Marker) probe(ctx context.Context, p *probe, kind inventory.Kind, o *metav1.PartialObjectMetadata) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	body := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, marks.ProbeLabel)
	try := func(r schema.GroupVersionResource, namespace, name string) error {
		_, err := m.o.Metadata.Resource(r).Namespace(namespace).Patch(ctx, name, types.MergePatchType, body,
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	var then error
	first := try(namespaces, "", metav1.NamespaceSystem)
	if marks.RefusedProbe(first) {
		then = try(kind.Resource, o.Namespace, o.Name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p.learn(first, then, m.o.Clock.Now(), m.o.Pauses)
	ctrl.Log.WithName("marks").Info("Tried whether an extension API server asks the policies",
		"resource", kind.GroupResource().String(), "known", p.ended, "enforced", p.enforced, "answer", fmt.Sprint(then))
	if !p.ended {
		time.AfterFunc(p.next.Sub(m.o.Clock.Now()), m.Wake)
		return
	}
	m.changedKind(kind.GroupKind())
}

// asksPolicies says whether who serves a kind asks the cluster's policies, as far
// as that is known.
func (m *Marker) asksPolicies(kind inventory.Kind) (asks, known bool) {
	if !kind.Aggregated {
		return true, true
	}
	p := m.probes[kind.GroupResource()]
	if p == nil || !p.ended {
		return false, false
	}
	return p.enforced, true
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
