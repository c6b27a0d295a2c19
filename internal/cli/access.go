// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// whoAmI is who the API server takes the user for, impersonation included.
func (c *clients) whoAmI(ctx context.Context) (authenticationv1.UserInfo, error) {
	config, err := c.Config()
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	client, err := authenticationclient.NewForConfig(config)
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	review, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, fmt.Errorf("ask the API server who you are: %w", err)
	}
	return review.Status.UserInfo, nil
}

// access is the API server's answer to "may I".
type access struct {
	Allowed bool `json:"allowed"`
	// Namespace that was asked about; empty is cluster-wide.
	Namespace string `json:"namespace,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

func (c *clients) may(ctx context.Context, what authorizationv1.ResourceAttributes) (access, error) {
	config, err := c.Config()
	if err != nil {
		return access{}, err
	}
	client, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return access{}, err
	}
	review, err := client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what},
	}, metav1.CreateOptions{})
	if err != nil {
		return access{}, fmt.Errorf("ask the API server what you may do: %w", err)
	}
	return access{Allowed: review.Status.Allowed, Namespace: what.Namespace, Reason: review.Status.Reason}, nil
}

// mayOn asks for a verb on the object itself.
func (c *clients) mayOn(ctx context.Context, verb string, t target) (access, error) {
	ns := t.meta.Namespace
	if t.kind == namespacesKind {
		ns = t.meta.Name // a request for a Namespace counts as one inside it
	}
	return c.may(ctx, authorizationv1.ResourceAttributes{
		Verb: verb, Group: t.kind.Group, Version: t.kind.Version, Resource: t.kind.Resource, Namespace: ns, Name: t.meta.Name,
	})
}

// mayUnprotect asks for the right as the policies do.
func (c *clients) mayUnprotect(ctx context.Context, t target) (access, error) {
	return c.may(ctx, authorizationv1.ResourceAttributes{
		Verb:      v1alpha1.UnprotectVerb,
		Group:     v1alpha1.GroupName,
		Resource:  v1alpha1.UnprotectResource,
		Namespace: policy.UnprotectNamespace(t.kind.GroupResource(), t.meta.Namespace),
	})
}

// operates reports whether a user is the operator of an object, as the policies have it.
func (c *clients) operates(ctx context.Context, user string, t target) (bool, error) {
	allowed, denied, ok := policy.OperatorChecks(user, t.meta)
	if !ok {
		return false, nil
	}
	runs, err := c.may(ctx, allowed)
	if err != nil || !runs.Allowed {
		return false, err
	}
	everything, err := c.may(ctx, denied)
	return err == nil && !everything.Allowed, err
}

// mayBypass says for which marks of an object the user may bypass the protection.
func (c *clients) mayBypass(ctx context.Context, t target) (map[policy.Mark]bool, error) {
	out := map[policy.Mark]bool{}
	for _, k := range allKeys() {
		name := k.Value(t.meta)
		if name == "" || k.Mark != policy.MarkProtection && k.Mark != policy.MarkWhileUsed {
			continue
		}
		ask := func(verb string) (access, error) {
			return c.may(ctx, authorizationv1.ResourceAttributes{
				Verb: verb, Group: v1alpha1.GroupName, Resource: v1alpha1.UnprotectResource, Name: name,
			})
		}
		given, err := ask(v1alpha1.BypassVerb)
		if err != nil {
			return nil, err
		}
		everything, err := ask("*")
		if err != nil {
			return nil, err
		}
		out[k.Mark] = given.Allowed && !everything.Allowed
	}
	return out, nil
}
