// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// fieldManager is that of all commands.
const fieldManager = "kubectl-holdfast"

var (
	syncsResource  = configsyncv1beta1.GroupVersion.WithResource("rootsyncs")
	groupsResource = kptv1alpha1.GroupVersion.WithResource("resourcegroups")
)

// errNoKinds is a cluster without the kinds of RootSync.
var errNoKinds = errors.New("this cluster does not know RootSyncs: " +
	"install them with 'kubectl apply --server-side -f config/crd/configsync', and turn the sync of Holdfast on")

// client is what the commands talk to the API server with.
type client struct{ *connect.Clients }

// list reads all RootSyncs, by name, in one request.
func list(ctx context.Context, client dynamic.Interface) ([]configsyncv1beta1.RootSync, error) {
	served, err := client.Resource(syncsResource).Namespace(object.SyncNamespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, errNoKinds
	case err != nil:
		return nil, err
	}
	return decodeSyncs(served.Items)
}

func decodeSyncs(served []unstructured.Unstructured) ([]configsyncv1beta1.RootSync, error) {
	out := make([]configsyncv1beta1.RootSync, len(served))
	for i := range served {
		if err := decode(&served[i], &out[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b configsyncv1beta1.RootSync) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// groups reads all inventories in one request. That they cannot be read is no error: they
// only say how far a sync has come.
func groups(ctx context.Context, client dynamic.Interface) inventories {
	served, err := client.Resource(groupsResource).Namespace(object.SyncNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	out := inventories{}
	for i := range served.Items {
		group := &kptv1alpha1.ResourceGroup{}
		if decode(&served.Items[i], group) == nil {
			out[group.Name] = group
		}
	}
	return out
}

// decode makes a typed object of one as it is served.
func decode(o *unstructured.Unstructured, out any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out); err != nil {
		return fmt.Errorf("read %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// named are the RootSyncs that are named, in that order, or all if none is.
func named(all []configsyncv1beta1.RootSync, names []string) ([]configsyncv1beta1.RootSync, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []configsyncv1beta1.RootSync
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		at := slices.IndexFunc(all, func(rs configsyncv1beta1.RootSync) bool { return rs.Name == name })
		if at < 0 {
			return nil, missing(name, all)
		}
		out = append(out, all[at])
	}
	return out, nil
}

// maxNamed is how many names an error lists.
const maxNamed = 20

// missing says which there are.
func missing(name string, all []configsyncv1beta1.RootSync) error {
	if len(all) == 0 {
		return fmt.Errorf("there is no RootSync %q, and no other in namespace %s", name, object.SyncNamespace)
	}
	var names []string
	for _, rs := range all[:min(len(all), maxNamed)] {
		names = append(names, rs.Name)
	}
	more := ""
	if left := len(all) - len(names); left > 0 {
		more = fmt.Sprintf(" and %d more", left)
	}
	return fmt.Errorf("there is no RootSync %q: there is %s%s", name, strings.Join(names, ", "), more)
}
