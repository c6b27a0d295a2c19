// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// Keeper is for which object, by which template, Holdfast keeps an account.
type Keeper struct {
	Template string `json:"template"`
	Account  string `json:"account"`
	Object   Object `json:"object"`
}

func (k Keeper) String() string {
	return "ServiceAccountTemplate " + k.Template + " for " + k.Object.String()
}

// KeeperOf finds out for whom Holdfast keeps an account on which it has set something;
// nil if nobody wants it any more. What could not be read is in gaps.
func KeeperOf(ctx context.Context, c *connect.Clients, o *metav1.PartialObjectMetadata) (*Keeper, []Gap, error) {
	l, err := newLooker(c)
	if err != nil {
		return nil, nil, err
	}
	s := &seen{}
	if s.settings, err = l.settings(ctx); err != nil {
		return nil, nil, err
	}
	if err := l.wants(ctx, o.Namespace, s); err != nil {
		return nil, nil, err
	}
	return s.keeperOf(o), s.gaps, nil
}

func (s *seen) keeperOf(o *metav1.PartialObjectMetadata) *Keeper {
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	v := plan.Decide(plan.Facts{NamespacedName: key, Wants: s.wants[key], Live: o, Patching: true})
	if v.Report.Claimant == nil {
		return nil
	}
	c := v.Report.Claimant
	return &Keeper{Template: c.Mapping, Account: c.Account, Object: objectOf(c.Source)}
}
