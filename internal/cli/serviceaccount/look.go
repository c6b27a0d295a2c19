// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/platform/metaclient"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// parallelism is how many requests are under way at most.
const parallelism = 8

var (
	templatesResource  = v1alpha1.GroupVersion.WithResource("serviceaccounttemplates")
	accountsResource   = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	namespacesResource = corev1.SchemeGroupVersion.WithResource("namespaces")
	podsResource       = corev1.SchemeGroupVersion.WithResource("pods")
)

// looker reads the cluster.
type looker struct {
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterface
}

func newLooker(c *connect.Clients) (*looker, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	l := &looker{}
	if l.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if l.metadata, err = metaclient.NewForConfig(config); err != nil {
		return nil, err
	}
	// Never the cache on disk, which may not know a kind that was installed a minute ago.
	l.discovery, err = discovery.NewDiscoveryClientForConfig(config)
	return l, err
}

// seen is what was read of a cluster, or of a namespace.
type seen struct {
	settings settings
	// templates are the names of all, also of those that are not valid.
	templates []string
	// wants of accounts, by account; those of accounts whose name cannot be told apart.
	wants    map[types.NamespacedName][]mapping.Want
	nameless []mapping.Want
	accounts map[types.NamespacedName]*metav1.PartialObjectMetadata
	// namespaces are their labels, if the scope asks for them.
	namespaces map[string]map[string]string
	// incomplete says that somebody may want an account whom nobody could ask.
	incomplete bool
	notes      []string
	gaps       []Gap
}

func (s *seen) gap(part string, err error) {
	if err != nil {
		s.gaps = append(s.gaps, Gap{part, err.Error()})
	}
}

// look reads all that a plan needs but the pods; an empty namespace is all of them. How
// accounts are written is as configured, unless it is said.
func (l *looker) look(ctx context.Context, namespace string, existing configv1alpha1.ExistingAccounts) (*seen, error) {
	s := &seen{}
	var err error
	if s.settings, err = l.settings(ctx); err != nil {
		return nil, err
	}
	if s.settings.note != "" {
		s.notes = append(s.notes, s.settings.note)
	}
	if existing != "" {
		s.settings.Existing = existing
	}
	if err := l.wants(ctx, namespace, s); err != nil {
		return nil, err
	}
	if err := l.accounts(ctx, namespace, s); err != nil {
		return nil, err
	}
	l.namespaces(ctx, namespace, s)
	l.operator(ctx, s)
	return s, nil
}

// templates are those of the API, and the built-in ones whose names nobody has taken.
func (l *looker) templates(ctx context.Context, s *seen) (map[string]*v1alpha1.ServiceAccountTemplate, error) {
	list, err := builtin.Templates(s.settings.LabelsExclusionPattern)
	if err != nil {
		return nil, err
	}
	out := map[string]*v1alpha1.ServiceAccountTemplate{}
	for i := range list {
		out[list[i].Name] = &list[i]
	}
	served, err := l.dynamic.Resource(templatesResource).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		s.notes = append(s.notes, "this cluster has no ServiceAccountTemplates yet: the plan is by Holdfast's own")
		return out, nil
	case err != nil:
		s.incomplete = true
		s.gap("the ServiceAccountTemplates", err)
		return out, nil
	}
	for i := range served.Items {
		t := &v1alpha1.ServiceAccountTemplate{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(served.Items[i].Object, t); err != nil {
			return nil, fmt.Errorf("read the ServiceAccountTemplate %s: %w", served.Items[i].GetName(), err)
		}
		out[t.Name] = t
	}
	return out, nil
}

// wants are what all objects want by all templates.
func (l *looker) wants(ctx context.Context, namespace string, s *seen) error {
	templates, err := l.templates(ctx, s)
	if err != nil {
		return err
	}
	served, err := l.served(s)
	if err != nil {
		return err
	}
	s.wants = map[types.NamespacedName][]mapping.Want{}
	s.templates = slices.Sorted(maps.Keys(templates))
	for _, name := range s.templates {
		m, problems := mapping.Compile(templates[name])
		if len(problems) > 0 {
			s.incomplete = true
			s.gap("the ServiceAccountTemplate "+name, problems.ToAggregate())
			continue
		}
		if err := l.objects(ctx, namespace, served, m, s); err != nil {
			s.incomplete = true
			s.gap(fmt.Sprintf("the %ss of ServiceAccountTemplate %s", m.Source.Kind, name), err)
		}
	}
	return nil
}

func (l *looker) objects(ctx context.Context, namespace string, served kinds, m *mapping.Mapping, s *seen) error {
	resource, found, err := served.of(m)
	if err != nil || !found {
		return err
	}
	list, err := l.dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		s.add(m.Wants(readable(&list.Items[i])))
	}
	return nil
}

// readable is an object as the controller knows it.
func readable(o *unstructured.Unstructured) *unstructured.Unstructured {
	delete(o.Object, "status")
	return o
}

func (s *seen) add(wants []mapping.Want) {
	for i := range wants {
		if wants[i].Name == "" {
			s.nameless = append(s.nameless, wants[i])
			continue
		}
		at := types.NamespacedName{Namespace: wants[i].Source.Namespace, Name: wants[i].Name}
		s.wants[at] = append(s.wants[at], wants[i])
	}
}

func (l *looker) accounts(ctx context.Context, namespace string, s *seen) error {
	list, err := l.metadata.Resource(accountsResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	s.accounts = make(map[types.NamespacedName]*metav1.PartialObjectMetadata, len(list.Items))
	for i := range list.Items {
		o := &list.Items[i]
		s.accounts[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o
	}
	return nil
}

// namespaces reads their labels where the scope asks for them.
func (l *looker) namespaces(ctx context.Context, namespace string, s *seen) {
	s.namespaces = map[string]map[string]string{}
	if !s.settings.selects {
		return
	}
	if namespace != "" {
		o, err := l.metadata.Resource(namespacesResource).Get(ctx, namespace, metav1.GetOptions{})
		if err == nil {
			s.namespaces[namespace] = o.Labels
		} else if !apierrors.IsNotFound(err) {
			s.gap("the labels of the namespace, by which the configuration chooses", err)
		}
		return
	}
	list, err := l.metadata.Resource(namespacesResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		s.gap("the labels of the namespaces, by which the configuration chooses", err)
		return
	}
	for i := range list.Items {
		s.namespaces[list.Items[i].Name] = list.Items[i].Labels
	}
}

// operator says whether Strimzi's operator runs anywhere.
func (l *looker) operator(ctx context.Context, s *seen) {
	list, err := l.metadata.Resource(podsResource).List(ctx, metav1.ListOptions{LabelSelector: builtin.StrimziOperator})
	if err != nil {
		s.gap("whether Strimzi's operator runs, which is taken not to", err)
		return
	}
	s.settings.StrimziOperator = slices.ContainsFunc(list.Items, func(o metav1.PartialObjectMetadata) bool { return o.DeletionTimestamp == nil })
}

// restarts finds the pods that would not see what changes of a cloud identity.
func (l *looker) restarts(ctx context.Context, p *Plan) {
	slots := make(chan struct{}, parallelism)
	var all sync.WaitGroup
	errs := make([]error, len(p.Items))
	for i := range p.Items {
		item := &p.Items[i]
		if !item.changesIdentity() {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			item.Restart, errs[i] = l.pods(ctx, item.Namespace, item.Name)
		})
	}
	all.Wait()
	told := map[string]bool{}
	for i, err := range errs {
		if ns := p.Items[i].Namespace; err != nil && !told[ns] {
			told[ns] = true
			p.NotLookedAt = append(p.NotLookedAt, Gap{"the pods in " + ns, err.Error()})
		}
	}
}

// pods are those of an account that have not ended, nor are ending.
func (l *looker) pods(ctx context.Context, namespace, account string) ([]string, error) {
	list, err := l.metadata.Resource(podsResource).Namespace(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "spec.serviceAccountName=" + account + ",status.phase!=Succeeded,status.phase!=Failed",
	})
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			out = append(out, list.Items[i].Name)
		}
	}
	slices.Sort(out)
	return out, nil
}
