// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"

	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// evictFacts are all that an explanation is made of.
type evictFacts struct {
	evictionWorld
	pod       *corev1.Pod
	node      *policy.Node
	namespace *metav1.ObjectMeta
	budgets   []policyv1.PodDisruptionBudget
	mayEvict  access
	// unknown of this pod, behind that of the world.
	unknown []string
}

func (c *clients) core() (coreclient.CoreV1Interface, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	return coreclient.NewForConfig(config)
}

// evictFacts finds out about one pod. Without the pod there is nothing to say;
// what else cannot be read is assumed, and said.
func (c *clients) evictFacts(ctx context.Context, w evictionWorld, namespace, name string) (evictFacts, error) {
	f := evictFacts{evictionWorld: w}
	core, err := c.core()
	if err != nil {
		return f, err
	}
	f.pod, err = core.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return f, fmt.Errorf("you may not get pods in namespace %s; ask for the RBAC verb get on pods there", namespace)
	case apierrors.IsNotFound(err):
		return f, fmt.Errorf("there is no pod %s in namespace %s; use -n for another namespace", name, namespace)
	case err != nil:
		return f, reachable(err)
	}
	if f.mayEvict, err = c.may(ctx, authorizationv1.ResourceAttributes{
		Verb: "create", Version: "v1", Resource: "pods", Subresource: "eviction", Namespace: namespace, Name: name,
	}); err != nil {
		return f, err
	}
	missing := func(err error) {
		if err != nil {
			f.unknown = append(f.unknown, err.Error())
		}
	}
	f.namespace, err = c.namespaceMeta(ctx, namespace)
	missing(err)
	f.node, err = nodeOf(ctx, core, f.pod.Spec.NodeName)
	missing(err)
	f.budgets, err = c.budgetsIn(ctx, namespace)
	missing(err)
	return f, nil
}

// nodeOf says whether a node is being drained. One that cannot be read is assumed
// to be, because that is when the answer counts.
func nodeOf(ctx context.Context, core coreclient.NodesGetter, name string) (*policy.Node, error) {
	if name == "" {
		return &policy.Node{}, nil
	}
	n, err := core.Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &policy.Node{Draining: true}, nil
	case apierrors.IsForbidden(err):
		return &policy.Node{Draining: true}, fmt.Errorf("you may not get nodes: node %s is assumed to be drained; ask for the RBAC verb get on nodes", name)
	case err != nil:
		return &policy.Node{Draining: true}, fmt.Errorf("node %s is assumed to be drained: %w", name, err)
	}
	return &policy.Node{Draining: policy.Draining(n)}, nil
}

// namespaceMeta is that of a namespace, or what can be said of one that cannot be
// read.
func (c *clients) namespaceMeta(ctx context.Context, name string) (*metav1.ObjectMeta, error) {
	t, err := c.namespaceObject(ctx, name)
	switch {
	case apierrors.IsForbidden(err):
		return bareNamespace(name), fmt.Errorf("you may not get namespaces: %s is assumed to have no labels of its own; ask for the RBAC verb get on namespaces", name)
	case err != nil:
		return bareNamespace(name), fmt.Errorf("namespace %s is assumed to have no labels of its own: %w", name, err)
	}
	return &t.meta.ObjectMeta, nil
}

// budgetsIn are the PodDisruptionBudgets of a namespace.
func (c *clients) budgetsIn(ctx context.Context, namespace string) ([]policyv1.PodDisruptionBudget, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	client, err := policyclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	list, err := client.PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you may not list poddisruptionbudgets.policy in namespace %s, and they are not known; ask for the RBAC verb list on them there", namespace)
	case err != nil:
		return nil, fmt.Errorf("list poddisruptionbudgets.policy in namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}
