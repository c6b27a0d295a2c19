// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// What to do about what is missing.
const (
	installRemedy     = "install it and run the command again: kubectl apply --server-side -f config/namespaces/holdfast-system.yaml -f config/crd -f config/install, and start the manager"
	definitionsRemedy = "kubectl apply --server-side --force-conflicts -f config/crd/hnc, which changes no object"
	rightsRemedy      = "kubectl apply --server-side -f config/rbac/hierarchy.yaml"
)

func (h *handover) lookCheck(context.Context) (bool, string, error) {
	return false, "look whether anything is in the way", nil
}

// check looks whether anything stands in the way, and says all of it at once.
func (h *handover) check(ctx context.Context) (string, error) {
	var problems []error
	for _, look := range []func(context.Context) []error{h.checkQuotas, h.checkHoldfast, h.checkDefinitions, h.checkOwnRights, h.checkRights} {
		problems = append(problems, look(ctx)...)
	}
	if len(problems) > 0 {
		return "", errors.Join(problems...)
	}
	f, err := find(ctx, h.kube)
	if err != nil {
		return "", err
	}
	a, err := f.arguments()
	if err != nil {
		return "", err
	}
	if a != nil {
		for _, n := range a.Notes {
			h.note(n)
		}
	}
	if err := h.noteMoves(ctx, a); err != nil {
		return "", err
	}
	counts, err := h.count(ctx)
	if err != nil {
		return "", err
	}
	return "nothing is in the way; there are " + counts.String(), nil
}

// checkQuotas looks for quotas of trees, which nobody would enforce.
func (h *handover) checkQuotas(ctx context.Context) []error {
	list, err := h.dynamic.Resource(hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceHierarchicalResourceQuotas)).
		List(ctx, metav1.ListOptions{Limit: some + 1})
	switch {
	case apierrors.IsNotFound(err): // the kind is not served
		return nil
	case err != nil:
		return []error{fmt.Errorf("look for HierarchicalResourceQuotas: %w", err)}
	case len(list.Items) == 0:
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetNamespace()+"/"+list.Items[i].GetName())
	}
	return []error{fmt.Errorf("there are HierarchicalResourceQuotas, which Holdfast does not enforce yet: %s. "+
		"Stay with HNC while you need them. If you do not, delete them, and make a ResourceQuota in each namespace in their place", few(names))}
}

// some is how many of a long list are named.
const some = 3

func few(names []string) string {
	if len(names) > some {
		return strings.Join(names[:some], ", ") + " and more"
	}
	return strings.Join(names, ", ")
}

// checkHoldfast looks whether Holdfast is there, and knows trees.
func (h *handover) checkHoldfast(ctx context.Context) []error {
	_, err := h.configuration(ctx)
	if apierrors.IsNotFound(err) {
		return []error{fmt.Errorf("there is no Holdfast in the namespace %s: %s", h.Namespace, installRemedy)}
	}
	if err != nil {
		return []error{err}
	}
	s, err := h.status(ctx)
	switch {
	case err != nil:
		return []error{err}
	case s == nil:
		return []error{fmt.Errorf("the manager of Holdfast has not run yet: %s", installRemedy)}
	case !slices.ContainsFunc(s.Features, func(f v1alpha1.FeatureStatus) bool { return f.Name == featureName }):
		return []error{fmt.Errorf("the Holdfast that runs, %s, does not know trees of namespaces: upgrade it", s.Version)}
	}
	return nil
}

// definitions are the kinds of HNC, each with what Holdfast needs of it beyond what
// every HNC had.
var definitions = []struct {
	resource string
	// fields as paths; the values that an enum must have follow a colon.
	fields []string
}{
	{hncv1alpha2.ResourceHierarchyConfigurations, []string{"spec.labels", "spec.annotations"}},
	{hncv1alpha2.ResourceSubnamespaceAnchors, []string{"spec.labels", "spec.annotations"}},
	{hncv1alpha2.ResourceHNCConfigurations, []string{"spec.excludedNamespaces", "spec.resources.mode:AllowPropagate"}},
}

var definitionsResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// checkDefinitions looks whether the kinds are served with all that Holdfast needs.
func (h *handover) checkDefinitions(ctx context.Context) []error {
	var problems []error
	for _, d := range definitions {
		name := d.resource + "." + hncv1alpha2.GroupName
		o, err := h.dynamic.Resource(definitionsResource).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			problems = append(problems, fmt.Errorf("the kind %s is not there: %s", name, definitionsRemedy))
			continue
		}
		if err == nil {
			err = lacking(o, d.fields)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("the CustomResourceDefinition %s: %w", name, err))
		}
	}
	return problems
}

// lacking says what a definition lacks.
func lacking(o *unstructured.Unstructured, fields []string) error {
	d := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d); err != nil {
		return err
	}
	i := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == hncv1alpha2.GroupVersion.Version && v.Served
	})
	if i < 0 || d.Spec.Versions[i].Schema == nil {
		return fmt.Errorf("%s is not served: upgrade HNC to 1.1 first", hncv1alpha2.GroupVersion)
	}
	var missing []string
	for _, f := range fields {
		path, value, _ := strings.Cut(f, ":")
		if p := fieldAt(d.Spec.Versions[i].Schema.OpenAPIV3Schema, strings.Split(path, ".")); p == nil || value != "" && !allows(p, value) {
			missing = append(missing, strings.Replace(f, ":", " ", 1))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("it does not have %s: %s", strings.Join(missing, " and "), definitionsRemedy)
	}
	return nil
}

// fieldAt is a field of a schema, with that of its items where it is a list.
func fieldAt(s *apiextensionsv1.JSONSchemaProps, path []string) *apiextensionsv1.JSONSchemaProps {
	for _, name := range path {
		if s.Items != nil && s.Items.Schema != nil {
			s = s.Items.Schema
		}
		p, ok := s.Properties[name]
		if !ok {
			return nil
		}
		s = &p
	}
	return s
}

func allows(s *apiextensionsv1.JSONSchemaProps, value string) bool {
	return len(s.Enum) == 0 || slices.ContainsFunc(s.Enum, func(v apiextensionsv1.JSON) bool { return string(v.Raw) == `"`+value+`"` })
}

// copied are the resources whose objects are copied: Roles and RoleBindings, and
// those that the HNCConfiguration lists and that are served.
func (h *handover) copied(ctx context.Context) ([]schema.GroupVersionResource, error) {
	out := []schema.GroupVersionResource{
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	}
	o, err := h.dynamic.Resource(hncv1alpha2.GroupVersion.WithResource(hncv1alpha2.ResourceHNCConfigurations)).
		Get(ctx, hncv1alpha2.HNCConfigurationName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the HNCConfiguration: %w", err)
	}
	c := &hncv1alpha2.HNCConfiguration{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, c); err != nil {
		return nil, fmt.Errorf("read the HNCConfiguration: %w", err)
	}
	for _, r := range c.Spec.Resources {
		served, err := h.mapper.ResourceFor(schema.GroupVersionResource{Group: r.Group, Resource: r.Resource})
		if err == nil && r.Mode != hncv1alpha2.ModeIgnore && served.Group == r.Group && !slices.Contains(out, served) {
			out = append(out, served)
		}
	}
	return out, nil
}
