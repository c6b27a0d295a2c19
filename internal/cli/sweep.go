// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"github.com/holdfast-dev/holdfast/internal/platform/metaclient"
	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

// listTimeout bounds each list where --request-timeout does not: one extension
// API server that hangs must not hang the command.
const listTimeout = 30 * time.Second

// query is one list of one kind.
type query struct {
	kind      kind
	namespace string // empty: all, or a cluster-scoped kind
	selector  string
}

type answer struct {
	objects []*metav1.PartialObjectMetadata
	err     error
}

// sweep lists the metadata of many kinds at once and hands over what it finds
// in the order of the queries, each object once. A kind that cannot be listed
// is an error beside the rest.
func (c *clients) sweep(ctx context.Context, queries []query, found func(query, *metav1.PartialObjectMetadata)) []error {
	config, err := c.Config()
	if err != nil {
		return []error{err}
	}
	client, err := metaclient.NewForConfig(config)
	if err != nil {
		return []error{err}
	}
	timeout := config.Timeout
	if timeout == 0 {
		timeout = listTimeout
	}

	progress := c.StartProgress("looking for objects, lists done", len(queries))
	defer progress.End()
	failures := map[kind]error{}
	inOrder(ctx, queries,
		func(ctx context.Context, q query) answer {
			defer progress.Step()
			return list(ctx, client, timeout, q)
		},
		func(q query, a answer) {
			if a.err != nil && failures[q.kind] == nil {
				failures[q.kind] = a.err
			}
			for _, o := range a.objects {
				found(q, o)
			}
		})
	return listErrors(failures)
}

func list(ctx context.Context, client metadata.Interface, timeout time.Duration, q query) answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.Resource(q.kind.GroupVersionResource).Namespace(q.namespace).List(ctx, o)
	})
	objects, _, err := pages.List(ctx, metav1.ListOptions{LabelSelector: q.selector})
	switch {
	case apierrors.IsNotFound(err):
		return answer{} // the kind went away in the meantime, and its objects with it
	case errors.Is(err, context.DeadlineExceeded):
		return answer{err: errors.New("no answer within " + text.Duration(timeout))}
	case err != nil:
		return answer{err: err}
	}
	var a answer
	a.err = meta.EachListItem(objects, func(o runtime.Object) error {
		m, ok := o.(*metav1.PartialObjectMetadata)
		if !ok {
			return fmt.Errorf("the API server answered with %T", o)
		}
		a.objects = append(a.objects, m)
		return nil
	})
	return a
}

// listErrors says which kinds could not be listed, those that RBAC forbids in
// one line.
func listErrors(failures map[kind]error) []error {
	var kinds []kind
	for k := range failures {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, compareKinds)

	var out []error
	var forbidden []string
	for _, k := range kinds {
		if err := failures[k]; apierrors.IsForbidden(err) {
			forbidden = append(forbidden, k.GroupResource().String())
		} else {
			out = append(out, fmt.Errorf("%s were left out: %w", k.GroupResource(), err))
		}
	}
	if len(forbidden) > 0 {
		out = append(out, fmt.Errorf("you may not list these kinds, and they were left out: %s; ask for the RBAC verb list on them",
			strings.Join(forbidden, ", ")))
	}
	return out
}
