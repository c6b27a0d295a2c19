// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

// startTimeout bounds how long the start waits for an API server that does not
// answer; then the process ends and is started again by whatever runs it.
const startTimeout = 60 * time.Second

type schemeType = runtime.Scheme

func newScheme() (*schemeType, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, hncv1alpha2.AddToScheme, configsyncv1beta1.AddToScheme, kptv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	return scheme, nil
}

// require checks that the API server serves what Holdfast stands on. What is not its own
// comes first: where Holdfast cannot run it leaves nothing behind.
func require(ctx context.Context, c client.Client, own *ownCRDs) error {
	err := serves(ctx, c, "Holdfast needs Kubernetes 1.30 or newer, with ValidatingAdmissionPolicies on",
		&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{})
	if err != nil {
		return err
	}
	if err := own.apply(ctx, v1alpha1.GroupName); err != nil {
		return err
	}
	return serves(ctx, c, "apply Holdfast's CustomResourceDefinitions first, those in config/crd",
		&v1alpha1.Holdfast{}, &v1alpha1.ResourceDeletionProtection{}, &v1alpha1.DeletionOverride{}, &v1alpha1.EvictionPolicy{}, &v1alpha1.ServiceAccountTemplate{})
}

// serves says which kind the API server does not serve, and what helps.
func serves(ctx context.Context, c client.Client, remedy string, objects ...client.Object) error {
	for _, o := range objects {
		err := retry(ctx, func(context.Context) error {
			_, err := c.IsObjectNamespaced(o)
			return err
		})
		if meta.IsNoMatchError(err) {
			return fmt.Errorf("the API server does not serve %T: %s", o, remedy)
		}
		if err != nil {
			return fmt.Errorf("ask the API server what it serves: %w", err)
		}
	}
	return nil
}

// refuseSecond fails if a Holdfast of another namespace is installed: both would
// write the same objects, to and fro.
func refuseSecond(ctx context.Context, c client.Client, o *Options) error {
	found := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	err := retry(ctx, func(ctx context.Context) error {
		return client.IgnoreNotFound(c.Get(ctx, client.ObjectKey{Name: admission.WebhookConfigurationName}, found))
	})
	if err != nil {
		return fmt.Errorf("look for another Holdfast: %w", err)
	}
	for i := range found.Webhooks {
		if s := found.Webhooks[i].ClientConfig.Service; s != nil && s.Namespace != o.Namespace {
			return fmt.Errorf("another Holdfast is installed, in namespace %s, and there can be one in a cluster: "+
				"uninstall it, or if it is gone, kubectl delete validatingwebhookconfiguration %s", s.Namespace, admission.WebhookConfigurationName)
		}
	}
	return nil
}

// whoAmI asks under which name the API server knows this process; rules that
// let Holdfast alone do something name it.
func whoAmI(ctx context.Context, c client.Client) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := retry(ctx, func(ctx context.Context) error { return c.Create(ctx, review) }); err != nil {
		return "", fmt.Errorf("ask the API server who this is: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// retry calls f until it succeeds, fails for good, or the start takes too long.
func retry(ctx context.Context, f func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, startTimeout, true, func(ctx context.Context) (bool, error) {
		if last = f(ctx); last == nil {
			return true, nil
		}
		if !transient(last) {
			return false, last
		}
		ctrl.Log.Info("The API server does not answer yet", "error", last.Error())
		return false, nil
	})
	if err != nil && last != nil && !errors.Is(err, last) {
		return errors.Join(err, last)
	}
	return err
}

// transient says whether another try may help: the API server is not reached, or
// says itself that it cannot answer now. Any other answer is one.
func transient(err error) bool {
	var network net.Error
	return errors.As(err, &network) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err)
}

// cacheOptions bind the cache to what Holdfast means to read: its own objects.
// A read of anything else fails instead of starting to watch a whole kind.
func cacheOptions(o *Options, secret string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{admission.ManagedByLabel: admission.ManagedByValue})}
	named := func(name string) cache.ByObject {
		return cache.ByObject{
			Namespaces: map[string]cache.Config{o.Namespace: {}},
			Field:      fields.OneTermEqualSelector("metadata.name", name),
		}
	}
	byObject := map[client.Object]cache.ByObject{
		&admissionregistrationv1.ValidatingAdmissionPolicy{}:        ours,
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}: ours,
		&admissionregistrationv1.ValidatingWebhookConfiguration{}:   ours,
		&admissionregistrationv1.MutatingWebhookConfiguration{}:     ours,
		&rbacv1.ClusterRole{}: {Field: fields.OneTermEqualSelector("metadata.name", admission.AnchorName)},
		&corev1.Secret{}:      named(secret),
		&v1alpha1.Holdfast{}:  {},

		&v1alpha1.ResourceDeletionProtection{}: {},
		&v1alpha1.DeletionOverride{}:           {},
		&v1alpha1.EvictionPolicy{}:             {},
		&v1alpha1.ServiceAccountTemplate{}:     {},
	}
	if o.ConfigMap != "" {
		byObject[&corev1.ConfigMap{}] = named(o.ConfigMap)
	}
	return cache.Options{
		ByObject:                    byObject,
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            cache.TransformStripManagedFields(),
	}
}

// cachedObjects are what the controllers read, each in the form in which they do.
func cachedObjects(o *Options) []client.Object {
	anchor := &metav1.PartialObjectMetadata{}
	anchor.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"))
	objects := []client.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{},
		&admissionregistrationv1.ValidatingWebhookConfiguration{},
		&admissionregistrationv1.MutatingWebhookConfiguration{},
		anchor,
		&corev1.Secret{},
		&v1alpha1.Holdfast{},
		&v1alpha1.ResourceDeletionProtection{},
		&v1alpha1.DeletionOverride{},
		&v1alpha1.EvictionPolicy{},
		&v1alpha1.ServiceAccountTemplate{},
	}
	if o.ConfigMap != "" {
		objects = append(objects, &corev1.ConfigMap{})
	}
	return objects
}

// startInformers has every replica watch, leader or not, so that readiness can
// say whether it would know what it needs to know.
func startInformers(ctx context.Context, c cache.Cache, objects []client.Object) ([]cache.Informer, error) {
	informers := make([]cache.Informer, 0, len(objects))
	for _, o := range objects {
		i, err := c.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", o, err)
		}
		informers = append(informers, i)
	}
	return informers, nil
}
