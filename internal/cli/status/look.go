// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
)

// looked is what was read; a kind that is not served has no objects.
type looked struct {
	holdfast    *v1alpha1.Holdfast
	protections []v1alpha1.ResourceDeletionProtection
	overrides   []v1alpha1.DeletionOverride
	policies    []v1alpha1.EvictionPolicy
	templates   []v1alpha1.ServiceAccountTemplate
	hierarchies []hncv1alpha2.HierarchyConfiguration
	anchors     []hncv1alpha2.SubnamespaceAnchor
	syncs       []configsyncv1beta1.RootSync
	// guardSilent and syncSilent say that no replica of the workload leads; empty while one does.
	guardSilent, syncSilent string
	// home is what is wrong with the namespace of RootSyncs; nil if nothing is, or nobody could look.
	home error
	// problems are what could not be read.
	problems []string
}

func look(ctx context.Context, client dynamic.Interface, namespace string) (*looked, error) {
	l := &looked{}
	var holdfasts []v1alpha1.Holdfast
	var (
		all sync.WaitGroup
		mu  sync.Mutex
		bad []error
	)
	for _, read := range []struct {
		resource schema.GroupVersionResource
		into     func(context.Context, dynamic.Interface, schema.GroupVersionResource) error
	}{
		{v1alpha1.GroupVersion.WithResource("holdfasts"), into(&holdfasts)},
		{v1alpha1.GroupVersion.WithResource("resourcedeletionprotections"), into(&l.protections)},
		{v1alpha1.GroupVersion.WithResource("deletionoverrides"), into(&l.overrides)},
		{v1alpha1.GroupVersion.WithResource("evictionpolicies"), into(&l.policies)},
		{v1alpha1.GroupVersion.WithResource("serviceaccounttemplates"), into(&l.templates)},
		{hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceHierarchyConfigurations), into(&l.hierarchies)},
		{hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceSubnamespaceAnchors), into(&l.anchors)},
		{configsyncv1beta1.GroupVersion.WithResource("rootsyncs"), into(&l.syncs)},
	} {
		all.Go(func() {
			err := read.into(ctx, client, read.resource)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil || apierrors.IsNotFound(err):
			case apierrors.IsForbidden(err):
				l.problems = append(l.problems, fmt.Sprintf("you may not list %s", read.resource.GroupResource()))
			default:
				bad = append(bad, fmt.Errorf("list %s: %w", read.resource.GroupResource(), err))
			}
		})
	}
	all.Go(func() {
		if o, err := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, configsyncv1beta1.Namespace, metav1.GetOptions{}); err == nil {
			l.home = namespaces.Home(o)
		}
	})
	for _, w := range []struct {
		connect.Workload
		said *string
	}{{connect.Guard, &l.guardSilent}, {connect.Sync, &l.syncSilent}} {
		all.Go(func() {
			said, err := connect.Silent(ctx, client, w.Workload, namespace, time.Now())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case apierrors.IsForbidden(err):
				l.problems = append(l.problems, fmt.Sprintf("whether the %s runs is not known: you may not get leases.coordination.k8s.io in namespace %s", w.Name, namespace))
			case err != nil:
				bad = append(bad, err)
			}
			*w.said = said
		})
	}
	all.Wait()
	slices.Sort(l.problems)
	for i := range holdfasts {
		if holdfasts[i].Name == v1alpha1.HoldfastName {
			l.holdfast = &holdfasts[i]
		}
	}
	return l, errors.Join(bad...)
}

// into reads all objects of a kind.
func into[T any](list *[]T) func(context.Context, dynamic.Interface, schema.GroupVersionResource) error {
	return func(ctx context.Context, client dynamic.Interface, from schema.GroupVersionResource) (err error) {
		*list, err = connect.List[T](ctx, client, from)
		return err
	}
}
