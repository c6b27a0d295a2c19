// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/rivals"
)

// found is the HNC of a cluster.
type found struct {
	facts       rivals.Facts
	deployments []appsv1.Deployment
	webhooks    []webhook
}

// webhook is a webhook configuration.
type webhook struct {
	Kind, Name string
	// closed says that the API server refuses what nobody answers for.
	closed bool
	// manifest makes it again.
	manifest map[string]any
	uid      types.UID
}

func (w webhook) String() string { return w.Kind + " " + w.Name }

// The kinds of webhook configurations.
const (
	validating = "ValidatingWebhookConfiguration"
	mutating   = "MutatingWebhookConfiguration"
)

// find looks for HNC: dead or alive, or what is left of it.
func find(ctx context.Context, kube kubernetes.Interface) (found, error) {
	facts, err := rivals.Look(ctx, kube)
	if err != nil {
		return found{}, fmt.Errorf("look for HNC: %w", err)
	}
	out := found{facts: facts.HNC()}
	for _, d := range out.facts.Deployments {
		o, err := kube.AppsV1().Deployments(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
		if err == nil {
			out.deployments = append(out.deployments, *o)
		} else if !apierrors.IsNotFound(err) {
			return found{}, fmt.Errorf("look for HNC: %w", err)
		}
	}
	for _, w := range out.facts.Webhooks {
		o, err := getWebhook(ctx, kube, w.Kind, w.Name)
		if err == nil {
			out.webhooks = append(out.webhooks, o)
		} else if !apierrors.IsNotFound(err) {
			return found{}, fmt.Errorf("look for HNC: %w", err)
		}
	}
	// The one that reconciles comes first: its arguments count.
	slices.SortStableFunc(out.deployments, func(a, b appsv1.Deployment) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func getWebhook(ctx context.Context, kube kubernetes.Interface, kind, name string) (webhook, error) {
	out := webhook{Kind: kind, Name: name}
	var (
		object any
		about  metav1.ObjectMeta
	)
	if kind == mutating {
		o, err := kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return webhook{}, err
		}
		out.closed = slices.ContainsFunc(o.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return closed(w.FailurePolicy) })
		about, object = o.ObjectMeta, o
	} else {
		o, err := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return webhook{}, err
		}
		out.closed = slices.ContainsFunc(o.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return closed(w.FailurePolicy) })
		about, object = o.ObjectMeta, o
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return webhook{}, err
	}
	out.uid, out.manifest = about.UID, manifestOf(kind, &about, content["webhooks"])
	return out, nil
}

func closed(p *admissionregistrationv1.FailurePolicyType) bool {
	return ptr.Deref(p, admissionregistrationv1.Fail) == admissionregistrationv1.Fail
}

// manifestOf is what makes an object again, without what the API server writes.
func manifestOf(kind string, o *metav1.ObjectMeta, webhooks any) map[string]any {
	meta := map[string]any{"name": o.Name}
	if len(o.Labels) > 0 {
		meta["labels"] = o.Labels
	}
	if len(o.Annotations) > 0 {
		meta["annotations"] = o.Annotations
	}
	return map[string]any{
		"apiVersion": admissionregistrationv1.SchemeGroupVersion.String(), "kind": kind, "metadata": meta, "webhooks": webhooks,
	}
}

// there says whether anything of HNC is.
func (f found) there() bool { return len(f.deployments)+len(f.webhooks) > 0 }

// gone says whether nothing of HNC can write or refuse anything.
func (f found) gone() bool { return len(f.webhooks) == 0 && len(f.live()) == 0 }

// live are the Deployments that have pods, or are about to have some.
func (f found) live() (out []rivals.Deployment) {
	for _, d := range f.facts.Deployments {
		if d.Wanted > 0 || d.Running > 0 {
			out = append(out, d)
		}
	}
	return out
}

// dead says that nobody answers for HNC: no pod of it is ready, and no endpoint.
func (f found) dead() bool {
	return !slices.ContainsFunc(f.facts.Deployments, func(d rivals.Deployment) bool { return d.Ready > 0 }) &&
		!slices.ContainsFunc(f.facts.Webhooks, func(w rivals.Webhook) bool { return w.AnsweredBy() != "" })
}

// locks says that a dead HNC refuses writes: of every namespace, among others.
func (f found) locks() bool {
	return f.dead() && slices.ContainsFunc(f.webhooks, func(w webhook) bool { return w.closed })
}

// String is its name with its version.
func (f found) String() string {
	for i := range f.deployments {
		if v := versionOf(manager(&f.deployments[i]).Image); v != "" {
			return "HNC " + v
		}
	}
	return "HNC"
}

// lines say what was found.
func (f found) lines() (out []string) {
	for _, d := range f.facts.Deployments {
		out = append(out, fmt.Sprintf("Deployment %s/%s, %d of %d pods ready", d.Namespace, d.Name, d.Ready, d.Wanted))
	}
	for _, w := range f.facts.Webhooks {
		by := "answered by nobody"
		if a := w.AnsweredBy(); a != "" {
			by = "answered by " + a
		}
		out = append(out, w.Kind+" "+w.Name+", "+by)
	}
	return out
}

// arguments of HNC, those of the Deployment that reconciles; nil without any.
func (f found) arguments() (*arguments, error) {
	if len(f.deployments) == 0 {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	c := manager(&f.deployments[0])
	out, err := readArguments(slices.Concat(c.Command, c.Args))
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(f.deployments); i++ {
		c := manager(&f.deployments[i])
		other, err := readArguments(slices.Concat(c.Command, c.Args))
		if err != nil {
			return nil, err
		}
		if !sameJSON(out.Hierarchy, other.Hierarchy) {
			out.Notes = append(out.Notes, fmt.Sprintf("the arguments of Deployment %s say something else than those of %s, which count",
				f.deployments[i].Name, f.deployments[0].Name))
		}
	}
	return &out, nil
}

// join names things in a sentence.
func join[T fmt.Stringer](list []T) string {
	names := make([]string, 0, len(list))
	for _, v := range list {
		names = append(names, v.String())
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
