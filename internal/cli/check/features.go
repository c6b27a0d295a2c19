// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/rootsync/group"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Counter counts what only another part of the command line can tell. Problems are parts
// that could not be looked at.
type Counter func(context.Context, *configv1alpha1.HoldfastConfiguration) (counts []Count, problems []error)

// syncDeployment is the workload that syncs RootSyncs.
const syncDeployment = "holdfast-sync"

// Counters are one for each feature that has one.
type Counters struct{ Deletion, Eviction, ServiceAccounts Counter }

// features says of each feature what it is about in the cluster.
func (r *reader) features(ctx context.Context, f *facts, c *configv1alpha1.HoldfastConfiguration, more Counters) ([]Feature, error) {
	sync := "Off"
	if slices.Contains(f.deploymentsOfHoldfast(), syncDeployment) {
		sync = string(configv1alpha1.ModeEnforce)
	}
	var out []Feature
	for _, one := range []struct {
		name, mode string
		scope      configv1alpha1.Scope
		// own is the kind of Holdfast's by which people say what is to be done.
		own, resource string
		count         Counter
	}{
		{"deletion", string(c.Deletion.Mode), c.Deletion.Scope, "ResourceDeletionProtections", "resourcedeletionprotections", more.Deletion},
		{"eviction", string(c.Eviction.Mode), c.Eviction.Scope, "EvictionPolicies", "evictionpolicies", more.Eviction},
		{"hierarchy", string(c.Hierarchy.Mode), settings.Scope(&c.Hierarchy), "", "", r.trees},
		{"rootSync", sync, configv1alpha1.Scope{}, "", "", r.syncs},
		{"serviceAccounts", string(c.ServiceAccounts.Mode), c.ServiceAccounts.Scope, "ServiceAccountTemplates", "serviceaccounttemplates", more.ServiceAccounts},
	} {
		feature := Feature{Name: one.name, Mode: one.mode}
		where, err := scope.Compile(c.Scope, one.scope)
		if err != nil {
			return nil, fmt.Errorf("read the scope of %s: %w", one.name, err)
		}
		for name, labels := range f.namespaces {
			if where.Matches(name, labels) {
				feature.InScope++
			} else {
				feature.OutOfScope++
			}
		}
		counts, problems := one.count(ctx, c)
		if one.own != "" {
			n, err := r.count(ctx, v1alpha1.GroupVersion.WithResource(one.resource))
			if problems = append(problems, err); n > 0 {
				counts = append(counts, Count{one.own, n})
			}
		}
		feature.Counts = counts
		for _, err := range problems {
			r.gap("what "+one.name+" is about", err)
		}
		out = append(out, feature)
	}
	return out, nil
}

func (f *facts) deploymentsOfHoldfast() (names []string) {
	for i := range f.deployments {
		if d := &f.deployments[i]; d.Namespace == f.namespace && ours(d) {
			names = append(names, d.Name)
		}
	}
	return names
}

// trees counts what HNC, or Holdfast in its place, keeps.
func (r *reader) trees(ctx context.Context, _ *configv1alpha1.HoldfastConfiguration) (out []Count, problems []error) {
	for _, k := range []struct{ resource, what string }{
		{hncv1alpha2.ResourceHierarchyConfigurations, "HierarchyConfigurations"},
		{hncv1alpha2.ResourceSubnamespaceAnchors, "SubnamespaceAnchors"},
		{hncv1alpha2.ResourceHierarchicalResourceQuotas, "HierarchicalResourceQuotas, which Holdfast does not enforce"},
	} {
		n, err := r.count(ctx, hncv1alpha2.GroupVersion.WithResource(k.resource))
		if err != nil {
			problems = append(problems, err)
		}
		if n > 0 {
			out = append(out, Count{k.what, n})
		}
	}
	return out, problems
}

// count counts the objects of a kind; a kind that is not served has none.
func (r *reader) count(ctx context.Context, of schema.GroupVersionResource) (n int, err error) {
	err = connect.Each(ctx, r.dynamic, of, metav1.ListOptions{}, func(*unstructured.Unstructured) error {
		n++
		return nil
	})
	return n, err
}

// syncs counts RootSyncs, and what more than one of them has, by their inventories.
func (r *reader) syncs(ctx context.Context, _ *configv1alpha1.HoldfastConfiguration) (out []Count, problems []error) {
	n, err := r.count(ctx, configsyncv1beta1.GroupVersion.WithResource("rootsyncs"))
	if n == 0 {
		return nil, []error{err}
	}
	groups, listed := connect.List[kptv1alpha1.ResourceGroup](ctx, r.dynamic, group.Resource)
	have := map[string][]object.ID{}
	for i := range groups {
		if groups[i].Namespace == object.SyncNamespace {
			have[groups[i].Name] = inventoryOf(&groups[i])
		}
	}
	return append([]Count{{"RootSyncs", n}}, overlaps(have)...), []error{err, listed}
}

func inventoryOf(g *kptv1alpha1.ResourceGroup) (out []object.ID) {
	for _, one := range g.Spec.Resources {
		out = append(out, object.ID{Group: one.Group, Kind: one.Kind, Namespace: one.Namespace, Name: one.Name})
	}
	return out
}

// overlaps counts the objects that several inventories have, which one of them will keep,
// and the namespaces in which several have objects.
func overlaps(have map[string][]object.ID) (out []Count) {
	objects, spaces := map[object.ID]int{}, map[string]map[string]bool{}
	for _, sync := range slices.Sorted(maps.Keys(have)) {
		for _, id := range have[sync] {
			objects[id]++
			if spaces[id.Namespace] == nil {
				spaces[id.Namespace] = map[string]bool{}
			}
			spaces[id.Namespace][sync] = true
		}
	}
	several, shared := 0, 0
	for _, n := range objects {
		if n > 1 {
			several++
		}
	}
	for name, users := range spaces {
		if name != "" && len(users) > 1 {
			shared++
		}
	}
	for _, c := range []Count{{"objects that several RootSyncs have, of which one will keep each", several}, {"namespaces in which several RootSyncs have objects", shared}} {
		if c.Count > 0 {
			out = append(out, c)
		}
	}
	return out
}

// Sorted puts counts in the order of their names, without those of nothing.
func Sorted(counts map[string]int) []Count {
	var out []Count
	for what, n := range counts {
		if n > 0 {
			out = append(out, Count{what, n})
		}
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What)) })
	return out
}
