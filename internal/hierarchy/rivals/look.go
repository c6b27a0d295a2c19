// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

// limit bounds each list. The lists of what has HNC's names are never that long, and
// of Deployments with its label the first ones have to do: whoever has that many has
// them from other controllers.
const limit = 500

// Look asks the API server, with five lists and one for each Service of a webhook
// of HNC, which are two or three.
func Look(ctx context.Context, c kubernetes.Interface) (Facts, error) {
	var out Facts
	for _, o := range []metav1.ListOptions{
		{FieldSelector: "metadata.name=" + deploymentName, Limit: limit},
		{FieldSelector: "metadata.name=" + deploymentNameHA, Limit: limit},
		{LabelSelector: controlPlaneLabel + " in (" + strings.Join(controlPlanes, ",") + ")", Limit: limit},
	} {
		list, err := c.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, o)
		if err != nil {
			return Facts{}, fmt.Errorf("list Deployments: %w", err)
		}
		for i := range list.Items {
			out.addDeployment(&list.Items[i])
		}
	}
	if err := out.lookAtWebhooks(ctx, c); err != nil {
		return Facts{}, err
	}
	return out, nil
}

// addDeployment adds one that no list before had.
func (f *Facts) addDeployment(d *appsv1.Deployment) {
	if slices.ContainsFunc(f.Deployments, func(o Deployment) bool { return o.Namespace == d.Namespace && o.Name == d.Name }) {
		return
	}
	found := Deployment{
		Namespace: d.Namespace, Name: d.Name,
		Wanted: ptr.Deref(d.Spec.Replicas, 1), Running: d.Status.Replicas + ptr.Deref(d.Status.TerminatingReplicas, 0),
		Ready: d.Status.ReadyReplicas,
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		found.Images = append(found.Images, c.Image)
	}
	f.Deployments = append(f.Deployments, found)
}

func (f *Facts) lookAtWebhooks(ctx context.Context, c kubernetes.Interface) error {
	validating, err := c.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list ValidatingWebhookConfigurations: %w", err)
	}
	for i := range validating.Items {
		w := newWebhook("ValidatingWebhookConfiguration", &validating.Items[i].ObjectMeta)
		for j := range validating.Items[i].Webhooks {
			w.add(validating.Items[i].Webhooks[j].Name, validating.Items[i].Webhooks[j].ClientConfig)
		}
		f.addWebhook(w)
	}
	mutating, err := c.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list MutatingWebhookConfigurations: %w", err)
	}
	for i := range mutating.Items {
		w := newWebhook("MutatingWebhookConfiguration", &mutating.Items[i].ObjectMeta)
		for j := range mutating.Items[i].Webhooks {
			w.add(mutating.Items[i].Webhooks[j].Name, mutating.Items[i].Webhooks[j].ClientConfig)
		}
		f.addWebhook(w)
	}
	return f.countEndpoints(ctx, c)
}

// newWebhook makes one of nothing but its name; of Holdfast's own it makes none.
func newWebhook(kind string, o *metav1.ObjectMeta) Webhook {
	if o.Labels[admission.ManagedByLabel] == admission.ManagedByValue || o.Name == admission.WebhookConfigurationName {
		return Webhook{}
	}
	return Webhook{Kind: kind, Name: o.Name, Services: map[types.NamespacedName]int{}}
}

func (w *Webhook) add(name string, c admissionregistrationv1.WebhookClientConfig) {
	w.Webhooks = append(w.Webhooks, name)
	switch {
	case w.Name == "":
	case c.Service != nil:
		w.Services[types.NamespacedName{Namespace: c.Service.Namespace, Name: c.Service.Name}] = 0
	case c.URL != nil:
		w.URLs = append(w.URLs, *c.URL)
	}
}

// addWebhook adds one that is HNC's, so that nobody else's Services are asked for.
func (f *Facts) addWebhook(w Webhook) {
	if w.Name != "" && w.isHNC() {
		f.Webhooks = append(f.Webhooks, w)
	}
}

func (f *Facts) countEndpoints(ctx context.Context, c kubernetes.Interface) error {
	known := map[types.NamespacedName]int{}
	for _, w := range f.Webhooks {
		for service := range w.Services {
			ready, asked := known[service]
			if !asked {
				var err error
				if ready, err = readyEndpoints(ctx, c, service); err != nil {
					return err
				}
				known[service] = ready
			}
			w.Services[service] = ready
		}
	}
	return nil
}

func readyEndpoints(ctx context.Context, c kubernetes.Interface, service types.NamespacedName) (int, error) {
	list, err := c.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service.Name, Limit: limit})
	if err != nil {
		return 0, fmt.Errorf("list EndpointSlices of %s: %w", service, err)
	}
	ready := 0
	for i := range list.Items {
		for _, e := range list.Items[i].Endpoints {
			if ptr.Deref(e.Conditions.Ready, true) { // as the API says of what is not there
				ready++
			}
		}
	}
	return ready, nil
}
