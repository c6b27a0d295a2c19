// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rights finds out which rights Holdfast itself lacks to copy objects of a kind, and words the rule that gives them.
// Holdfast has rights for listed kinds only, and each further one needs a rule of its own.
package rights

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// list is what nothing is known of a kind without.
const list = "list"

// verbs are those that Holdfast needs for a kind that it copies.
var verbs = []string{"get", list, "watch", "create", "update", "delete"}

// Missing are the verbs that Holdfast lacks for a kind.
type Missing []string

// Reads reports whether Holdfast can list the objects of the kind all the same.
func (m Missing) Reads() bool { return !slices.Contains(m, list) }

// Of asks the API server which verbs the user of a client lacks for a kind in all namespaces.
func Of(ctx context.Context, c authorizationclient.SelfSubjectAccessReviewsGetter, r schema.GroupResource) (Missing, error) {
	var out Missing
	for _, verb := range verbs {
		review, err := c.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: r.Group, Resource: r.Resource},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("ask whether Holdfast may %s %s: %w", verb, r, err)
		}
		if !review.Status.Allowed {
			out = append(out, verb)
		}
	}
	return out, nil
}

// Advice is a sentence for people who want a kind copied: which verbs are missing, for which user, and the rule that has them. It
// is one line, since warnings are.
func (m Missing) Advice(r schema.GroupResource, user string) string {
	return fmt.Sprintf("%s may not %s %s, so these are not copied: bind it to a ClusterRole with the rule {apiGroups: [%q], resources: [%s], verbs: [%s]}",
		user, strings.Join(m, ", "), r, r.Group, r.Resource, strings.Join(verbs, ", "))
}
