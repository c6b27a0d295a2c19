// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// kinds are those that the API server serves, in the version that it prefers.
type kinds struct {
	byKind map[schema.GroupKind]kind
	// unknown are groups of which nobody could tell.
	unknown map[string]error
}

type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

func (l *looker) served(s *seen) (kinds, error) {
	lists, err := discovery.ServerPreferredResources(l.discovery)
	out := kinds{map[schema.GroupKind]kind{}, map[string]error{}}
	if failed, is := discovery.GroupDiscoveryFailedErrorGroups(err); is {
		s.notes = append(s.notes, fmt.Sprintf("not all kinds of the cluster are known: %v", err))
		for gv, why := range failed {
			out.unknown[gv.Group] = why
		}
	} else if err != nil {
		return out, fmt.Errorf("ask the cluster which kinds there are: %w", err)
	}
	out.read(lists)
	return out, nil
}

func (k kinds) read(lists []*metav1.APIResourceList) {
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // not a kind that any client could ask for
		}
		for _, r := range list.APIResources {
			at := schema.GroupVersion{Group: cmp.Or(r.Group, gv.Group), Version: cmp.Or(r.Version, gv.Version)}
			k.byKind[schema.GroupKind{Group: at.Group, Kind: r.Kind}] = kind{at.WithResource(r.Name), r.Namespaced}
		}
	}
}

// of is where the objects of a template are; false if the cluster has none.
func (k kinds) of(m *mapping.Mapping) (schema.GroupVersionResource, bool, error) {
	found, served := k.byKind[m.Source]
	switch {
	case !served:
		return schema.GroupVersionResource{}, false, k.unknown[m.Source.Group]
	case !found.namespaced:
		return schema.GroupVersionResource{}, false, mapping.ErrClusterScoped
	}
	found.resource.Version = cmp.Or(m.Version, found.resource.Version)
	return found.resource, true, nil
}
