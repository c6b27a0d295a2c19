// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/marker"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/deletion/selection"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
)

const (
	// parallel is how many lists one request asks at once.
	parallel = 32
	// page is how many objects one list returns when the first object that
	// carries a label turns out not to count, or when all have to be looked at.
	page = 500
)

// Look is what to look at.
type Look struct {
	Kinds       *inventory.Snapshot
	Labels      []policy.Key
	Protections *selection.Set
	// Scope is where the policies hold.
	Scope scope.Scope
	// Namespaces knows the labels of namespaces.
	Namespaces *namespaceLabels
	// Bound is what all looks of this process share.
	Bound bound
}

// Result is what was found.
type Result struct {
	// Found are protected objects: at least one of each kind that has some.
	Found []contents.Ref
	// More says that there can be more than were found.
	More bool
	// LeftOut are the kinds that were not looked at, because extension API servers
	// serve them.
	LeftOut []schema.GroupResource
	// Failed are the kinds that could not be looked at.
	Failed []Failure
}

// Failure is a kind that could not be looked at.
type Failure struct {
	Resource schema.GroupResource
	Err      error
}

// search finds the first object of a kind that counts, and says whether there may be more.
type search struct {
	resource schema.GroupResource
	find     func(context.Context) (ref *contents.Ref, more bool, err error)
}

// metadataSearch is one list of metadata.
type metadataSearch struct {
	kind      inventory.Kind
	namespace string
	selector  string
	// name of the only object to look at; empty for all.
	name   string
	counts check
	first  int64
}

// Namespace looks at what is in a namespace, and at the volumes of its claims.
func (l Look) Namespace(ctx context.Context, c metadata.Interface, volumes corev1client.PersistentVolumeInterface, name string) Result {
	var r Result
	searches := l.volumes(volumes, name)
	for _, k := range l.Kinds.All() {
		switch {
		case !k.Namespaced || !marker.Guarded(k):
		case k.Aggregated:
			r.LeftOut = append(r.LeftOut, k.GroupResource())
		default:
			searches = append(searches, l.searches(c, k, name)...)
		}
	}
	return run(ctx, searches, r)
}

// Instances looks at the objects of a kind, in all namespaces.
func (l Look) Instances(ctx context.Context, c metadata.Interface, k inventory.Kind) Result {
	return run(ctx, l.searches(c, k, metav1.NamespaceAll), Result{})
}

// check says whether an object is one that is looked for.
type check func(context.Context, *metav1.PartialObjectMetadata) (bool, error)

// place returns the labels of the namespace that an object is in, and whether it
// is in scope.
func (l Look) place(ctx context.Context, o *metav1.PartialObjectMetadata) (map[string]string, bool, error) {
	if o.Namespace == "" {
		return nil, true, nil
	}
	labels, err := l.Namespaces.of(ctx, o.Namespace)
	return labels, err == nil && l.Scope.Matches(o.Namespace, labels), err
}

// searches are the lists that find what is protected of a kind: one per label,
// and those that find what protections select, because its mark may not be there
// yet.
func (l Look) searches(c metadata.Interface, k inventory.Kind, namespace string) (out []search) {
	for _, s := range l.metadataSearches(k, namespace) {
		out = append(out, search{k.GroupResource(), func(ctx context.Context) (*contents.Ref, bool, error) { return s.find(ctx, c, l.Bound) }})
	}
	return out
}

func (l Look) metadataSearches(k inventory.Kind, namespace string) []metadataSearch {
	var out []metadataSearch
	for _, key := range l.Labels {
		out = append(out, metadataSearch{
			kind: k, namespace: namespace, selector: key.Selector(), first: 1,
			counts: func(ctx context.Context, o *metav1.PartialObjectMetadata) (bool, error) {
				if !stays(k, o) || !key.Protects(k.GroupResource(), key.Value(o)) {
					return false, nil
				}
				_, in, err := l.place(ctx, o)
				return in, err
			},
		})
	}
	selected := func(ctx context.Context, o *metav1.PartialObjectMetadata) (bool, error) {
		if !stays(k, o) {
			return false, nil
		}
		labels, in, err := l.place(ctx, o)
		return in && len(l.Protections.Match(k.GroupKind(), o, labels)) > 0, err
	}
	return append(out, selections(k, namespace, l.Protections.Within(k.GroupKind(), namespace), selected)...)
}

// selections are the lists that find what protections select of a kind: one for
// each name and for each label selector, or one of all objects where that is less.
func selections(k inventory.Kind, namespace string, selectors []selection.Selector, selected check) []metadataSearch {
	var out []metadataSearch
	seen := sets.New[string]()
	for _, s := range selectors {
		one := metadataSearch{kind: k, namespace: namespace, first: 1, counts: selected}
		if s.Names == nil {
			if s.Objects != nil {
				one.selector = s.Objects.String()
			}
			if !seen.Has("labels " + one.selector) {
				seen.Insert("labels " + one.selector)
				out = append(out, one)
			}
			continue
		}
		for name := range s.Names {
			if !seen.Has("name " + name) {
				seen.Insert("name " + name)
				one.name = name
				out = append(out, one)
			}
		}
		if len(out) > parallel {
			return []metadataSearch{{kind: k, namespace: namespace, first: page, counts: selected}}
		}
	}
	return out
}

// stays says whether an object would stay when what it hangs below goes, if it is
// protected.
func stays(k inventory.Kind, o *metav1.PartialObjectMetadata) bool {
	return o.DeletionTimestamp == nil && !policy.LeftToControllers(k.GroupResource(), o)
}

// run makes the lists in parallel. Each ends with the first object that it finds.
func run(ctx context.Context, searches []search, r Result) Result {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, s := range searches {
		group.Go(func() error {
			ref, more, err := s.find(ctx)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				r.Failed = append(r.Failed, Failure{s.resource, err})
			case ref != nil && !slices.Contains(r.Found, *ref):
				r.Found = append(r.Found, *ref)
				r.More = r.More || more
			}
			return nil
		})
	}
	_ = group.Wait() // what failed is in the result
	slices.SortFunc(r.Failed, func(a, b Failure) int { return compare(a.Resource, b.Resource) })
	slices.SortFunc(r.LeftOut, compare)
	r.Failed = slices.CompactFunc(r.Failed, func(a, b Failure) bool { return a.Resource == b.Resource })
	return r
}

func compare(a, b schema.GroupResource) int {
	switch x, y := a.String(), b.String(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// find returns the first object that counts, and whether there may be more.
func (s metadataSearch) find(ctx context.Context, c metadata.Interface, b bound) (ref *contents.Ref, more bool, err error) {
	o := metav1.ListOptions{LabelSelector: s.selector, Limit: s.first}
	if s.name != "" {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, s.name).String()
	}
	for {
		list, err := listed(ctx, b, func() (*metav1.PartialObjectMetadataList, error) {
			return c.Resource(s.kind.Resource).Namespace(s.namespace).List(ctx, o)
		})
		if apierrors.IsNotFound(err) {
			return nil, false, nil // the kind has gone in the meantime
		}
		if err != nil {
			return nil, false, fmt.Errorf("list %s: %w", s.kind.GroupResource(), err)
		}
		for i := range list.Items {
			item := &list.Items[i]
			counts, err := s.counts(ctx, item)
			if err != nil {
				return nil, false, err
			}
			if counts {
				return &contents.Ref{Resource: s.kind.GroupResource(), Namespace: item.Namespace, Name: item.Name},
					i+1 < len(list.Items) || list.Continue != "", nil
			}
		}
		if list.Continue == "" {
			return nil, false, nil
		}
		o.Continue, o.Limit = list.Continue, page
	}
}
