// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/preview"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// known is what is known of a RootSync and of the others.
type known struct {
	sync      *configsyncv1beta1.RootSync
	inventory []object.ID
	others    []preview.Other
	// scope and unclaimed are what the configuration says.
	scope     scope.Scope
	unclaimed bool
	// assumed says what was taken for granted of it.
	assumed string
	// notes are about what could not be looked at.
	notes []string
}

// about reads a RootSync, and what all RootSyncs have. Who may not list them is told of
// the one.
func about(ctx context.Context, client dynamic.Interface, name string) (*known, error) {
	all, err := list(ctx, client)
	var notes []string
	if apierrors.IsForbidden(err) {
		notes = append(notes, fmt.Sprintf("what other RootSyncs have is not known: %v", err))
		all, err = alone(ctx, client, name)
	}
	if err != nil {
		return nil, err
	}
	one, err := named(all, []string{name})
	if err != nil {
		return nil, err
	}
	k := &known{sync: &one[0], notes: notes}
	if k.sync.DeletionTimestamp != nil {
		return nil, fmt.Errorf("RootSync %s is being deleted: there is no next sync", name)
	}
	if err := k.configuration(ctx, client); err != nil {
		k.assumed = fmt.Sprintf("the configuration of Holdfast is taken to be the default: %v", err)
	}
	inventories, err := k.inventories(ctx, client)
	if err != nil {
		k.notes = append(k.notes, fmt.Sprintf("what RootSync %s has is not known, nor what would be deleted: %v", name, err))
		return k, nil
	}
	k.inventory = idsIn(inventories[name])
	for i := range all {
		if all[i].Name == name {
			continue
		}
		settings, invalid := spec.Read(&all[i]) // what is wrong with it says nothing of this one
		other := preview.Other{Sync: settings.Sync, Created: all[i].CreationTimestamp.Time, Explicit: settings.ExplicitNamespaces, Reach: settings.Reach(), Has: map[object.ID]bool{}}
		if invalid != nil { // what is bound to its account is not known
			other.Reach = object.Reach{Everywhere: true}
		}
		for _, id := range idsIn(inventories[all[i].Name]) {
			other.Has[id] = true
		}
		k.others = append(k.others, other)
	}
	return k, nil
}

// configuration reads what the configuration in force says of RootSyncs. Where only the
// sync runs, Holdfast does not say it, and the default is assumed.
func (k *known) configuration(ctx context.Context, client dynamic.Interface) error {
	holdfast, err := connect.Holdfast(ctx, client)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c, err := connect.InForce(holdfast)
	if c == nil || err != nil {
		return err
	}
	k.unclaimed = !*c.RootSync.Claims
	k.scope, err = scope.Compile(c.Scope)
	return err
}

// alone reads one RootSync.
func alone(ctx context.Context, client dynamic.Interface, name string) ([]configsyncv1beta1.RootSync, error) {
	served, err := client.Resource(syncsResource).Namespace(object.SyncNamespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	out := make([]configsyncv1beta1.RootSync, 1)
	return out, decode(served, &out[0])
}

// inventories reads all of them or, to somebody who may not, that of the RootSync.
func (k *known) inventories(ctx context.Context, client dynamic.Interface) (inventories, error) {
	in := client.Resource(groupsResource).Namespace(object.SyncNamespace)
	served, err := in.List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		k.notes = append(k.notes, fmt.Sprintf("what other RootSyncs have is not known: %v", err))
		one, getErr := in.Get(ctx, k.sync.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(getErr) {
			return nil, nil
		}
		if getErr != nil {
			return nil, getErr
		}
		group := &kptv1alpha1.ResourceGroup{}
		return inventories{k.sync.Name: group}, decode(one, group)
	}
	if err != nil {
		return nil, err
	}
	out := inventories{}
	for i := range served.Items {
		group := &kptv1alpha1.ResourceGroup{}
		if err := decode(&served.Items[i], group); err != nil {
			return nil, err
		}
		out[group.Name] = group
	}
	return out, nil
}

func idsIn(group *kptv1alpha1.ResourceGroup) []object.ID {
	if group == nil {
		return nil
	}
	out := make([]object.ID, 0, len(group.Spec.Resources))
	for _, r := range group.Spec.Resources {
		out = append(out, object.ID{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
	}
	return out
}

// warnings are what keeps the next sync from beginning, and what was taken for granted.
func (k *known) warnings(settings spec.Settings) (out []string) {
	if settings.Suspended {
		out = append(out, fmt.Sprintf("RootSync %s is suspended: nothing happens until it is resumed", k.sync.Name))
	}
	if k.assumed != "" {
		out = append(out, k.assumed)
	}
	return out
}

// api is what the API server is asked with.
func (c *client) api() (*preview.API, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	reviews, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadata, err := c.Metadata()
	if err != nil {
		return nil, err
	}
	whole, err := dynamic.NewForConfig(config) // without its warnings: they come with the sync
	if err != nil {
		return nil, err
	}
	return &preview.API{Dynamic: whole, Metadata: metadata, Reviews: reviews.SelfSubjectAccessReviews(), Access: reviews.SubjectAccessReviews()}, nil
}
