// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// writeAttempts is how often a change is tried while somebody else writes the
// same object, as the controller does its status.
const writeAttempts = 5

// singleton is an object of which there is one at most, and that is made when it
// is first needed.
type singleton struct {
	client dynamic.ResourceInterface
	kind   string
	name   string
	// namespace is empty for one of the cluster.
	namespace string
}

// get reads the object. One that does not exist is empty, and has no resource
// version.
func (s singleton) get(ctx context.Context) (*unstructured.Unstructured, error) {
	o, err := s.client.Get(ctx, s.name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return o, err
	}
	o = &unstructured.Unstructured{}
	o.SetGroupVersionKind(hncv1alpha2.GroupVersion.WithKind(s.kind))
	o.SetName(s.name)
	o.SetNamespace(s.namespace)
	return o, nil
}

// change writes what alter does to an object that was read before. Where somebody
// else wrote it meanwhile, it is read again, as long as its spec is the one by
// which the change was decided.
func (s singleton) change(ctx context.Context, o *unstructured.Unstructured, alter func(*unstructured.Unstructured) error) error {
	spec := o.Object["spec"]
	var err error
	for range writeAttempts {
		changed := o.DeepCopy()
		if err := alter(changed); err != nil {
			return err
		}
		if err = s.write(ctx, changed); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return err
		}
		fresh, errGet := s.get(ctx)
		if errGet != nil {
			return errGet
		}
		if fresh.GetUID() == o.GetUID() && fresh.GetResourceVersion() == o.GetResourceVersion() {
			return err // it was not about the version: a rule refuses with the same code
		}
		if !equality.Semantic.DeepEqual(fresh.Object["spec"], spec) {
			return err
		}
		o = fresh
	}
	return err
}

func (s singleton) write(ctx context.Context, o *unstructured.Unstructured) (err error) {
	if o.GetResourceVersion() == "" {
		_, err = s.client.Create(ctx, o, metav1.CreateOptions{})
	} else {
		_, err = s.client.Update(ctx, o, metav1.UpdateOptions{})
	}
	return err
}

// hierarchyOf is the HierarchyConfiguration of a namespace.
func hierarchyOf(client dynamic.Interface, namespace string) singleton {
	return singleton{
		client:    client.Resource(hierarchiesResource).Namespace(namespace),
		kind:      "HierarchyConfiguration",
		name:      hncv1alpha2.HierarchyConfigurationName,
		namespace: namespace,
	}
}

// setHierarchy writes the fields of a spec that this plugin changes, and leaves
// all others as they are.
func setHierarchy(o *unstructured.Unstructured, spec hncv1alpha2.HierarchyConfigurationSpec) error {
	fields := []struct {
		name  string
		value any
		empty bool
	}{
		{"parent", spec.Parent, spec.Parent == ""},
		{"allowCascadingDeletion", spec.AllowCascadingDeletion, !spec.AllowCascadingDeletion},
	}
	for _, f := range fields {
		if f.empty {
			unstructured.RemoveNestedField(o.Object, "spec", f.name)
		} else if err := unstructured.SetNestedField(o.Object, f.value, "spec", f.name); err != nil {
			return err
		}
	}
	return nil
}

// readHierarchy reads the HierarchyConfiguration of a namespace that must exist,
// and says what is wrong in HNC's words.
func (c *client) readHierarchy(ctx context.Context, client dynamic.Interface, namespace string) (*unstructured.Unstructured, *hncv1alpha2.HierarchyConfiguration, error) {
	if _, err := client.Resource(namespacesResource).Get(ctx, namespace, metav1.GetOptions{}); err != nil {
		return nil, nil, c.fail("%s", namespaceProblem(namespace, err))
	}
	o, err := hierarchyOf(client, namespace).get(ctx)
	if err != nil {
		return nil, nil, c.fail("%s", hierarchyProblem(namespace, err))
	}
	typed, err := decode[hncv1alpha2.HierarchyConfiguration](o)
	return o, typed, err
}

// updateHierarchy changes the spec of a HierarchyConfiguration that was read
// before.
func (c *client) updateHierarchy(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured, spec hncv1alpha2.HierarchyConfigurationSpec) error {
	err := hierarchyOf(client, o.GetNamespace()).change(ctx, o, func(o *unstructured.Unstructured) error {
		return setHierarchy(o, spec)
	})
	if err != nil {
		return c.fail("\nCould not update the hierarchical configuration of %s.\nReason: %s", o.GetNamespace(), err)
	}
	return nil
}

func namespaceProblem(namespace string, err error) string {
	return "Error reading namespace " + namespace + ": " + err.Error()
}

func hierarchyProblem(namespace string, err error) string {
	return "Error reading hierarchy for " + namespace + ": " + err.Error()
}
