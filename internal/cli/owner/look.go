// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/serviceaccount"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// highest bounds the way up along owner references. Chains of Kubernetes have two or three.
const highest = 10

// Looker reads what is known of an object. All it asks for is metadata, and the RootSync.
type Looker struct {
	clients *connect.Clients
	mapper  meta.RESTMapper
	client  metadata.Interface
}

// NewLooker makes one.
func NewLooker(c *connect.Clients) (*Looker, error) {
	mapper, err := c.Flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	client, err := c.Metadata()
	if err != nil {
		return nil, err
	}
	return &Looker{c, mapper, client}, nil
}

// Look reads all but the protection of an object that has been read. What may not be
// read is a gap.
func (l *Looker) Look(ctx context.Context, kind schema.GroupKind, o *metav1.PartialObjectMetadata) *Facts {
	f := l.one(ctx, kind, o)
	f.Namespace = l.namespace(ctx, f)
	f.Original = l.original(ctx, f)
	l.keeper(ctx, f)
	l.climb(ctx, f)
	return f
}

// one reads what there is to know of an object by itself.
func (l *Looker) one(ctx context.Context, kind schema.GroupKind, o *metav1.PartialObjectMetadata) *Facts {
	f := &Facts{ID: object.ID{Group: kind.Group, Kind: kind.Kind, Namespace: o.Namespace, Name: o.Name}, Meta: o}
	rs, err := sync.KeeperOf(ctx, l.clients, o)
	f.gap("the RootSync", err)
	f.Source = sync.ProvenanceOf(f.ID, o, rs, err == nil)
	return f
}

func (f *Facts) gap(part string, err error) {
	if err != nil {
		f.Gaps = append(f.Gaps, Gap{part, err.Error()})
	}
}

func (l *Looker) namespace(ctx context.Context, f *Facts) *metav1.PartialObjectMetadata {
	switch {
	case f.ID.IsNamespace():
		return f.Meta
	case f.ID.Namespace == "":
		return nil
	}
	o, err := l.client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, f.ID.Namespace, metav1.GetOptions{})
	if err != nil {
		f.gap("the namespace", err)
		return nil
	}
	return o
}

// original says whether the source of a copy is there; empty for what is no copy.
func (l *Looker) original(ctx context.Context, f *Facts) State {
	from, isCopy := f.Meta.Labels[hncv1alpha2.LabelInheritedFrom]
	if !isCopy || f.ID.Namespace == "" {
		return ""
	}
	_, state, err := l.read(ctx, f.ID.GroupKind(), "", from, f.ID.Name)
	f.gap("the source of the copy", err)
	return state
}

// keeper finds out for whom Holdfast keeps a service account. Of one on which it has set
// nothing nobody is asked.
func (l *Looker) keeper(ctx context.Context, f *Facts) {
	if f.ID.GroupKind() != (schema.GroupKind{Kind: "ServiceAccount"}) || !serviceaccount.Kept(f.Meta) {
		return
	}
	keeper, gaps, err := serviceaccount.KeeperOf(ctx, l.clients, f.Meta)
	f.Keeper = keeper
	f.gap("the ServiceAccountTemplate", err)
	for _, g := range gaps {
		f.Gaps = append(f.Gaps, Gap(g))
	}
}

// climb follows owner references to the top.
func (l *Looker) climb(ctx context.Context, f *Facts) {
	seen := map[types.UID]bool{f.Meta.UID: true}
	below := f.Meta
	for range highest {
		r := next(below.OwnerReferences)
		if r == nil {
			return
		}
		if seen[r.UID] {
			f.gap("what it belongs to", fmt.Errorf("%s %s belongs to itself, by way of others", r.Kind, r.Name))
			return
		}
		seen[r.UID] = true
		gv, _ := schema.ParseGroupVersion(r.APIVersion) // the API server has looked at it
		link := Link{ObjectRef: sync.ObjectRef{Group: gv.Group, Kind: r.Kind, Name: r.Name}, Controller: r.Controller != nil && *r.Controller}
		o, state, err := l.read(ctx, gv.WithKind(r.Kind).GroupKind(), gv.Version, f.ID.Namespace, r.Name)
		f.gap("what it belongs to", err)
		if state == Present && o.UID != r.UID {
			state = Gone // another one has its name
		}
		link.State, link.Namespace = state, f.ID.Namespace
		if o != nil {
			link.Namespace = o.Namespace
		}
		f.Chain = append(f.Chain, link)
		if state != Present {
			f.Top = nil
			return
		}
		f.Top = l.one(ctx, gv.WithKind(r.Kind).GroupKind(), o)
		f.Gaps = append(f.Gaps, f.Top.Gaps...)
		below = o
	}
}

// next is the reference to follow: the controller, or else the first.
func next(refs []metav1.OwnerReference) *metav1.OwnerReference {
	if i := slices.IndexFunc(refs, func(r metav1.OwnerReference) bool { return r.Controller != nil && *r.Controller }); i >= 0 {
		return &refs[i]
	}
	if len(refs) > 0 {
		return &refs[0]
	}
	return nil
}

// read is the metadata of an object, if it is there.
func (l *Looker) read(ctx context.Context, kind schema.GroupKind, version, namespace, name string) (*metav1.PartialObjectMetadata, State, error) {
	var versions []string
	if version != "" {
		versions = append(versions, version)
	}
	mapping, err := l.mapper.RESTMapping(kind, versions...)
	if err != nil {
		return nil, Unknown, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	o, err := l.client.Resource(mapping.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, Gone, nil
	case err != nil:
		return nil, Unknown, err
	}
	return o, Present, nil
}
