// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

// namespaceLabels reads the labels of namespaces, of each once.
type namespaceLabels struct {
	client metadata.Interface

	mu    sync.Mutex
	known map[string]map[string]string
}

func newNamespaceLabels(c metadata.Interface) *namespaceLabels {
	return &namespaceLabels{client: c, known: map[string]map[string]string{}}
}

// of a namespace; none of one that is gone.
func (n *namespaceLabels) of(ctx context.Context, name string) (map[string]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if labels, ok := n.known[name]; ok {
		return labels, nil
	}
	ns, err := n.client.Resource(namespaces).Get(ctx, name, metav1.GetOptions{})
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
