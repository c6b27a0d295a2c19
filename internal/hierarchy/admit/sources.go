// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// page is how many objects are read at once.
const page = 500

// ReadSources reads all sources of some kinds from the API server, for Options. It is
// asked when somebody configures a kind, and at no other time.
func ReadSources(c dynamic.Interface) func(context.Context, []inventory.Kind, propagate.Rules) (*propagate.Sources, error) {
	return func(ctx context.Context, kinds []inventory.Kind, r propagate.Rules) (*propagate.Sources, error) {
		out := propagate.NewSources(r)
		for _, k := range kinds {
			var err error
			if out, err = readKind(ctx, c, k, out); err != nil {
				return nil, fmt.Errorf("list %s: %w", k.GroupResource(), err)
			}
		}
		return out, nil
	}
}

func readKind(ctx context.Context, c dynamic.Interface, k inventory.Kind, to *propagate.Sources) (*propagate.Sources, error) {
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := c.Resource(k.Resource).List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			o := propagate.Describe(k.GroupKind(), list.Items[i].GetNamespace(), &list.Items[i])
			if !o.IsCopy() {
				to = to.With(to.Rules().NewSource(o))
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return to, nil
		}
	}
}
