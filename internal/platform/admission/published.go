// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Published tells every replica, leader or not, which CA bundle the API server
// has been given, so that none serves a certificate that is not trusted yet.
type Published struct {
	client client.Reader
	tell   func(caBundle []byte)
}

// NewPublished makes a Published; tell gets nil while there is no webhook
// configuration.
func NewPublished(c client.Reader, tell func(caBundle []byte)) *Published {
	return &Published{client: c, tell: tell}
}

// SetupWithManager adds it to a manager.
func (p *Published) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("admission.published").
		For(&admissionregistrationv1.ValidatingWebhookConfiguration{}).
		WithOptions(controller.Options{NeedLeaderElection: new(false)}).
		Complete(p)
}

// Reconcile reads the webhook configuration and tells its bundle. All its
// webhooks carry the same one, and so do the mutating ones, which are written
// before it.
func (p *Published) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if req.Name != WebhookConfigurationName {
		return reconcile.Result{}, nil
	}
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	if err := p.client.Get(ctx, req.NamespacedName, &c); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("get webhook configuration: %w", err)
	}
	var bundle []byte
	if len(c.Webhooks) > 0 {
		bundle = c.Webhooks[0].ClientConfig.CABundle
	}
	p.tell(bundle)
	return reconcile.Result{}, nil
}
