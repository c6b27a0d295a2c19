// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// fewNamespaces are listed one by one without asking whether one list of the
	// whole cluster would be cheaper.
	fewNamespaces = 8
	// fewWatches are made side by side; for more namespaces one watch of the whole
	// cluster is tried first.
	fewWatches = 64
)

// collect lists the objects of an extent, in whichever way takes less time: one
// namespace after the other, several at once, or the whole cluster page by page.
func (c *client) collect(ctx context.Context, t *tables, where *extent, watch bool) (*listing, error) {
	if where.everywhere() {
		return t.everywhere(ctx, nil, func(*metav1.Table) bool { return true })
	}
	namespaces := where.namespaces
	cheaper := func(first *metav1.Table) bool { return pagesOf(first) <= roundsOf(len(namespaces)) }
	if watch {
		cheaper = func(*metav1.Table) bool { return len(namespaces) > fewWatches }
	}
	if len(namespaces) > fewNamespaces && (!watch || len(namespaces) > fewWatches) {
		found, err := t.everywhere(ctx, sets.New(namespaces...), cheaper)
		if found != nil || err != nil && !apierrors.IsForbidden(err) {
			return found, err
		}
	}
	return c.each(ctx, t, namespaces), nil
}

// pagesOf is how many pages there are, by the first; very many where it does not
// say.
func pagesOf(first *metav1.Table) int64 {
	const unknown = 1 << 32
	switch {
	case first.Continue == "":
		return 1
	case first.RemainingItemCount == nil:
		return unknown
	}
	return 1 + (*first.RemainingItemCount+pageSize-1)/pageSize
}

// roundsOf is how often as many requests as are allowed at once are under way for
// so many namespaces.
func roundsOf(namespaces int) int64 {
	return int64((namespaces + parallelism - 1) / parallelism)
}

// everywhere lists the objects of the whole cluster and keeps those in some
// namespaces, or all if nil is given. The first page decides whether it is worth
// it; if not, there is no listing.
func (t *tables) everywhere(ctx context.Context, in sets.Set[string], worthIt func(first *metav1.Table) bool) (*listing, error) {
	first, err := t.page(ctx, "", metav1.ListOptions{Limit: pageSize})
	if err != nil {
		return nil, err
	}
	if !worthIt(first) {
		return nil, nil
	}
	whole, err := t.rest(ctx, "", first)
	if err != nil {
		return nil, err
	}
	found := &listing{versions: map[string]string{}}
	found.add("", whole)
	if in != nil {
		found.rows = slices.DeleteFunc(found.rows, func(r metav1.TableRow) bool { return !in.Has(rowMeta(&r).Namespace) })
	}
	return found, nil
}

// each lists the objects of some namespaces one by one, several at once. One that
// cannot be listed is a problem beside the rest.
func (c *client) each(ctx context.Context, t *tables, namespaces []string) *listing {
	progress := c.StartProgress("namespaces listed", len(namespaces))
	defer progress.End()
	type answer struct {
		table *metav1.Table
		err   error
	}
	answers := make([]answer, len(namespaces))
	var group errgroup.Group
	group.SetLimit(parallelism)
	for i, ns := range namespaces {
		group.Go(func() error {
			defer progress.Step()
			answers[i].table, answers[i].err = t.list(ctx, ns)
			return nil
		})
	}
	_ = group.Wait() // each answer has its error
	found := &listing{versions: map[string]string{}}
	for i, a := range answers {
		if a.err != nil {
			found.problems = append(found.problems, fmt.Errorf("in namespace %s: %w", namespaces[i], a.err))
			continue
		}
		found.add(namespaces[i], a.table)
	}
	return found
}
