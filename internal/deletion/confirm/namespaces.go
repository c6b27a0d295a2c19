// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

// namespaces reads the labels of namespaces, of each once.
type namespaces struct {
	client metadata.Interface

	mu    sync.Mutex
	known map[string]map[string]string
}

func newNamespaces(c metadata.Interface) *namespaces {
	return &namespaces{client: c, known: map[string]map[string]string{}}
}

// labels of a namespace; none of one that is gone.
func (n *namespaces) labels(ctx context.Context, name string) (map[string]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if labels, ok := n.known[name]; ok {
		return labels, nil
	}
	ns, err := n.client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get namespace %s: %w", name, err)
	}
	if err == nil {
		n.known[name] = ns.Labels
	} else {
		n.known[name] = nil
	}
	return n.known[name], nil
}
