// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/preview"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// Prune is what would become of an object if the source of its RootSync had it no longer.
type Prune struct {
	preview.Pruning
	RootSync string
	// Inventoried says whether it is in the inventory of the RootSync.
	Inventoried bool
	// Declared says whether the source has it now; nil if nobody says so.
	Declared *bool
	// Deleting says that the RootSync itself goes, and Suspended that nothing happens
	// until it is resumed.
	Deleting, Suspended bool
	Notes               []string
}

// NoRootSyncError says that an object is no RootSync's.
type NoRootSyncError struct{ Object string }

func (e *NoRootSyncError) Error() string {
	return fmt.Sprintf("no RootSync has %s: nobody prunes it", e.Object)
}

// PruneOf says what would become of an object of a RootSync; without a name, of the one
// that keeps it, or has it in its inventory.
func PruneOf(ctx context.Context, clients *connect.Clients, id object.ID, o metav1.Object, name string) (*Prune, error) {
	c := &client{clients}
	var err error
	if name == "" {
		if name, err = c.pruner(ctx, id, o); err != nil {
			return nil, err
		}
	}
	found, group, err := forPrune(ctx, c, name)
	if err != nil {
		return nil, err
	}
	settings, _ := spec.Read(found.sync) // what is wrong with it keeps nothing
	kinds, err := c.served()
	if err != nil {
		return nil, err
	}
	api, err := c.api()
	if err != nil {
		return nil, err
	}
	p := &Prune{
		RootSync: name, Inventoried: slices.Contains(found.inventory, id), Declared: declaredNow(group, id),
		Suspended: settings.Suspended, Notes: found.notes, Deleting: found.sync.DeletionTimestamp != nil,
	}
	if !p.Inventoried {
		p.Why = "it is not in the inventory of the RootSync, which prunes nothing else"
		return p, nil
	}
	stays, notes := standing(ctx, api, kinds, group, id)
	p.Notes = append(p.Notes, notes...)
	pruning, err := preview.Prune(ctx, &preview.Input{
		Sync: object.Sync(name), Created: found.sync.CreationTimestamp.Time, Explicit: settings.ExplicitNamespaces,
		Declared: stays, Inventory: found.inventory, Others: found.others, Kinds: kinds,
		Scope: found.scope, Unclaimed: found.unclaimed, Reach: settings.Reach(), Now: time.Now(),
	}, api, id)
	if err != nil {
		return nil, err
	}
	p.Pruning = *pruning
	return p, nil
}

// pruner is the RootSync that would prune an object.
func (c *client) pruner(ctx context.Context, id object.ID, o metav1.Object) (string, error) {
	if of, ok := object.SyncOf(object.Managed(o, id)); ok {
		return string(of), nil
	}
	d, err := c.Dynamic()
	if err != nil {
		return "", err
	}
	for name, group := range groups(ctx, d) {
		if slices.Contains(idsIn(group), id) {
			return name, nil
		}
	}
	return "", &NoRootSyncError{Object: idText(id)}
}

// forPrune reads what there is to know of a RootSync, and its inventory.
func forPrune(ctx context.Context, c *client, name string) (*known, *kptv1alpha1.ResourceGroup, error) {
	d, err := c.Dynamic()
	if err != nil {
		return nil, nil, err
	}
	found, err := about(ctx, d, name)
	if err != nil {
		return nil, nil, err
	}
	return found, groups(ctx, d)[name], nil
}

// declaredNow goes by the status of the inventory.
func declaredNow(group *kptv1alpha1.ResourceGroup, id object.ID) *bool {
	if group == nil || group.Status == nil {
		return nil
	}
	for _, s := range group.Status.ResourceStatuses {
		if (object.ID{Group: s.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}) == id {
			return new(s.Strategy != kptv1alpha1.Delete)
		}
	}
	return nil
}

// standing is what the RootSync declares beside one object, as far as its inventory and
// the objects say.
func standing(ctx context.Context, api *preview.API, kinds preview.Kinds, group *kptv1alpha1.ResourceGroup, but object.ID) (out []object.Declared, notes []string) {
	var mu sync.Mutex
	var reads errgroup.Group
	reads.SetLimit(readAtOnce)
	for _, id := range idsIn(group) {
		kind, served := kinds[id.GroupKind()]
		if declared := declaredNow(group, id); id == but || !served || declared != nil && !*declared {
			continue
		}
		reads.Go(func() error {
			live, err := api.Metadata.Resource(kind.Resource).Namespace(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil && !apierrors.IsNotFound(err):
				notes = append(notes, fmt.Sprintf("what %s needs is not known: %v", idText(id), err))
			case err == nil && id.IsNamespace() && namespaces.Along(live):
				return nil // the source does not have it
			}
			out = append(out, declaredAs(id, kind, live))
			return nil
		})
	}
	_ = reads.Wait() // what could not be read is a note
	slices.Sort(notes)
	return out, notes
}

// readAtOnce is how many objects are read at the same time.
const readAtOnce = 16

// declaredAs stands in for what the source says of an object: what counts of it for others.
func declaredAs(id object.ID, kind preview.Kind, live *metav1.PartialObjectMetadata) object.Declared {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind.Resource.GroupVersion().WithKind(id.Kind))
	o.SetNamespace(id.Namespace)
	o.SetName(id.Name)
	if live != nil {
		if needs, has := live.Annotations[object.AnnotationDependsOn]; has {
			o.SetAnnotations(map[string]string{object.AnnotationDependsOn: needs})
		}
	}
	return object.Declared{Object: o}
}
