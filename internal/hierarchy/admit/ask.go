// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
)

// ask puts to the API server what a verdict leaves open.
func ask(ctx context.Context, o *Options, req *admissionv1.AdmissionRequest, v rules.Verdict) (*rules.Denial, error) {
	c, user := o.Client, req.UserInfo
	if v.Confirm != "" {
		there, err := exists(ctx, c, v.Confirm)
		if err != nil {
			return nil, err
		}
		if there {
			return rules.Unavailable(v.Confirm).Denied, nil
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
	if len(v.Deletes) == 0 {
		return nil, nil
	}
	if stale, err := stale(ctx, c, req); stale != nil || err != nil {
		return stale, err
	}
	return deletable(ctx, o, v.Deletes)
}

// stale is the answer to a review of the deletion of what does not exist any more. The port may be open to others than the
// API server: the dry runs are a load, and what they answer is for who knows the UID, who may read the object.
func stale(ctx context.Context, c kubernetes.Interface, req *admissionv1.AdmissionRequest) (*rules.Denial, error) {
	var old, live metav1.PartialObjectMetadata
	if err := decode(req.OldObject.Raw, &old); err != nil {
		return nil, err
	}
	get := c.CoreV1().RESTClient().Get().Resource("namespaces").Name(old.Name)
	if req.Kind.Group == hncv1alpha2.GroupName {
		for _, segment := range []string{req.Namespace, old.Name} {
			if len(content.IsPathSegmentName(segment)) > 0 || segment == "" {
				return rules.Stale(old.Name).Denied, nil
			}
		}
		get = c.CoreV1().RESTClient().Get().AbsPath("apis", hncv1alpha2.GroupName, hncv1alpha2.GroupVersion.Version,
			"namespaces", req.Namespace, hncv1alpha2.ResourceSubnamespaceAnchors, old.Name)
	}
	raw, err := get.Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return rules.Stale(old.Name).Denied, nil
	case err != nil:
		return nil, fmt.Errorf("look for %q, which is to be deleted: %w", old.Name, err)
	}
	if err := json.Unmarshal(raw, &live); err != nil {
		return nil, fmt.Errorf("decode %q, which is to be deleted: %w", old.Name, err)
	}
	if live.UID != old.UID {
		return rules.Stale(old.Name).Denied, nil
	}
	return nil, nil
}

// deletable asks whether the API server would delete namespaces. Whatever protects
// one refuses a dry run.
func deletable(ctx context.Context, o *Options, namespaces []string) (*rules.Denial, error) {
	answers := make([]error, len(namespaces))
	var group errgroup.Group
	group.SetLimit(dryRunsEach)
	for i, name := range namespaces {
		group.Go(func() error {
			if answers[i] = o.dryRuns.Acquire(ctx, 1); answers[i] != nil {
				return nil
			}
			defer o.dryRuns.Release(1)
			answers[i] = o.Client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
			return nil
		})
	}
	_ = group.Wait() // they are in answers
	for i, err := range answers {
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		case apierrors.IsForbidden(err):
			return rules.Kept(namespaces[i], err.Error()).Denied, nil
		default:
			return nil, fmt.Errorf("ask whether the namespace %s may be deleted: %w", namespaces[i], err)
		}
	}
	return nil, nil
}

// dryRuns are asked for at the same time, for all requests of this process, and dryRunsEach for one: each has the API server
// call webhooks.
const dryRuns, dryRunsEach = 16, 4

func exists(ctx context.Context, c kubernetes.Interface, namespace string) (bool, error) {
	_, err := c.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the namespace %s: %w", namespace, err)
	}
	return true, nil
}

const (
	// settling is how long a namespace that is new may take to be known.
	settling  = 3 * time.Second
	lookAgain = 20 * time.Millisecond
)

// settled is the world in which some namespaces are known, as far as they exist. Who
// applies a namespace and what is in it at once asks a moment before the watch has
// told of it.
func settled(ctx context.Context, o *Options, w rules.World, namespaces ...string) (rules.World, error) {
	for _, name := range namespaces {
		if name == "" || !o.Settings().Managed(name) || w.Tree.Get(name) != nil {
			continue
		}
		there, err := exists(ctx, o.Client, name)
		if err != nil || !there {
			return w, err
		}
		err = wait.PollUntilContextTimeout(ctx, lookAgain, settling, true, func(context.Context) (bool, error) {
			w, err = o.world()
			return err == nil && w.Tree.Get(name) != nil, err
		})
		if wait.Interrupted(err) {
			return w, fmt.Errorf("%w: there is nothing of the namespace %q yet", errStarting, name)
		}
		if err != nil {
			return w, err
		}
	}
	return w, nil
}

// waitCascading returns the state of the trees. If the HierarchyConfiguration of a namespace allows cascading deletion,
// it waits until the informer has that.
func waitCascading(ctx context.Context, o *Options, namespace string) (w rules.World, err error) {
	allowed, err := allowsCascading(ctx, o.Client, namespace)
	if err != nil {
		return w, err
	}
	if !allowed {
		return o.world()
	}
	err = wait.PollUntilContextTimeout(ctx, lookAgain, settling, true, func(context.Context) (bool, error) {
		if w, err = o.world(); err != nil {
			return false, err
		}
		in := w.Tree.Get(namespace)
		return in == nil || in.AllowCascadingDeletion, nil
	})
	if wait.Interrupted(err) {
		return w, fmt.Errorf("%w: the informer has not seen yet that the namespace %q allows cascading deletion", errStarting, namespace)
	}
	return w, err
}

func allowsCascading(ctx context.Context, c kubernetes.Interface, namespace string) (bool, error) {
	raw, err := c.CoreV1().RESTClient().Get().AbsPath("apis", hncv1alpha2.GroupName, hncv1alpha2.GroupVersion.Version,
		"namespaces", namespace, hncv1alpha2.ResourceHierarchyConfigurations, hncv1alpha2.HierarchyConfigurationName).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the HierarchyConfiguration of the namespace %s: %w", namespace, err)
	}
	var in hncv1alpha2.HierarchyConfiguration
	if err := json.Unmarshal(raw, &in); err != nil {
		return false, fmt.Errorf("decode the HierarchyConfiguration of the namespace %s: %w", namespace, err)
	}
	return in.Spec.AllowCascadingDeletion, nil
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
