// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
)

// ask puts to the API server what a verdict leaves open.
func ask(ctx context.Context, c kubernetes.Interface, user authenticationv1.UserInfo, v rules.Verdict) (*rules.Denial, error) {
	if v.Confirm != "" {
		_, err := c.CoreV1().Namespaces().Get(ctx, v.Confirm, metav1.GetOptions{})
		if err == nil {
			return rules.Unavailable(v.Confirm).Denied, nil
		}
		if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("look for the namespace %s: %w", v.Confirm, err)
		}
	}
	for _, namespace := range v.Authorize {
		may, err := mayChange(ctx, c, user, namespace)
		if err != nil {
			return nil, fmt.Errorf("ask what %s may do in the namespace %s: %w", user.Username, namespace, err)
		}
		if !may {
			return rules.Unauthorized(namespace).Denied, nil
		}
	}
	return nil, nil
}

// mayChange says whether a user may change the tree of a namespace.
func mayChange(ctx context.Context, c kubernetes.Interface, user authenticationv1.UserInfo, namespace string) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review, err := c.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: "update", Version: "*",
				Group: hncv1alpha2.GroupName, Resource: hncv1alpha2.ResourceHierarchyConfigurations,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
