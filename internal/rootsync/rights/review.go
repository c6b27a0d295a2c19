// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	// reviewTimeout bounds one question.
	reviewTimeout = 10 * time.Second
	// clients is for how many RootSyncs a client is kept.
	clients = 256
)

// Review returns a function for Options.Ask: it asks as the account of the RootSync, which needs no right of this process
// but to act as that account. The API server decides by the same authorizers as about the apply.
func Review(rc *rest.Config, kinds func() *inventory.Snapshot) func(context.Context, Question) (Answer, error) {
	known := lru.New(clients)
	return func(ctx context.Context, q Question) (Answer, error) {
		ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
		defer cancel()
		reviews, err := clientFor(known, rc, q.Sync)
		if err != nil {
			return Answer{}, err
		}
		about := authorizationv1.ResourceAttributes{Group: q.Resource.Group, Resource: q.Resource.Resource, Namespace: q.Namespace, Name: q.Name}
		if snapshot := kinds(); snapshot != nil {
			kind, _ := snapshot.ByResource(q.Resource)
			about.Version = kind.Resource.Version
		}
		var out Answer
		patched := about
		patched.Namespace = object.RightNamespace(q.Resource, q.Namespace, q.Name)
		if out.Patch, err = allowed(ctx, reviews, patched, "patch"); err != nil || !out.Patch {
			return Answer{}, explain(q, err)
		}
		out.Create, err = allowed(ctx, reviews, about, "create")
		return out, explain(q, err)
	}
}

func explain(q Question, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ask the API server what %s may do: %w", q.Sync.User(), err)
}

func clientFor(known *lru.Cache, rc *rest.Config, who object.Sync) (authorizationclient.SelfSubjectAccessReviewInterface, error) {
	if c, ok := known.Get(who); ok {
		return c.(authorizationclient.SelfSubjectAccessReviewInterface), nil
	}
	as := rest.CopyConfig(rc)
	as.Impersonate = rest.ImpersonationConfig{UserName: who.User()}
	c, err := authorizationclient.NewForConfig(as)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	known.Add(who, c.SelfSubjectAccessReviews())
	return c.SelfSubjectAccessReviews(), nil
}

func allowed(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, about authorizationv1.ResourceAttributes, verb string) (bool, error) {
	about.Verb = verb
	review, err := reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &about},
	}, metav1.CreateOptions{})
	switch {
	case err != nil:
		return false, err
	case !review.Status.Allowed && review.Status.EvaluationError != "": // an authorizer has failed, and the apply would, too
		return false, errors.New(review.Status.EvaluationError)
	}
	return review.Status.Allowed, nil
}
