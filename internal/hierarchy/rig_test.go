// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	// patience is for failures alone. The controller of namespaces comes back to one that
	// cannot go yet after some eight seconds, and later where it could not read its kinds: a
	// tree of two takes half a minute on a quiet machine.
	patience = "240s"
	often    = "200ms"
)

// rig is a cluster in which Holdfast keeps trees, with namespaces of one test.
type rig struct {
	*testkit.Env
	*gomega.WithT
	t testing.TB
	// whole is the test that this one is a part of, and managers run for.
	whole testing.TB
	// prefix begins the names of the namespaces. Texts of tests leave it out.
	prefix string
	// past is a client for what admission does not let people do, but Holdfast.
	past client.Client
	// kinds are those of the test beside the ones that all have.
	kinds map[string]schema.GroupVersionKind
	// fences are counted.
	fences int
}

// configured is what the tests of the shared cluster find in the HNCConfiguration.
// Those that need more add entries for kinds of their own.
var configured = []hncv1alpha2.ResourceSpec{
	{Resource: "configmaps", Mode: hncv1alpha2.ModePropagate},
	{Resource: "secrets", Mode: hncv1alpha2.ModeAllowPropagate},
	{Group: "apps", Resource: "deployments"}, // Propagate is what an entry without a mode means
	{Resource: "limitranges", Mode: hncv1alpha2.ModeIgnore},
	{Resource: "resourcequotas", Mode: hncv1alpha2.ModeRemove},
}

var (
	configuredOnce sync.Once
	configuring    sync.Mutex
)

func shared(t testing.TB) *rig {
	t.Helper()
	e := testkit.Shared(t)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		select {
		case <-e.Manager.Done():
			t.Logf("the manager has ended: %v; its log ends:\n%s", e.Manager.Ended(), e.Manager.LogTail())
		default:
		}
	})
	r := rigIn(t, e, "test-"+strings.ToLower(rand.Text()[:8]))
	configuredOnce.Do(func() {
		r.Grant(t, "", guard, rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"*"}})
		r.Grant(t, "", guard, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"limitranges", "resourcequotas"}, Verbs: []string{"*"}})
		r.list(configured...)
	})
	return r
}

// rigIn is a rig on a cluster of the test's own, or on the shared one, with
// namespaces of a prefix.
func rigIn(t testing.TB, e *testkit.Env, prefix string) *rig {
	t.Helper()
	return &rig{
		Env: e, WithT: gomega.NewWithT(t), t: t, prefix: prefix, kinds: map[string]schema.GroupVersionKind{},
		past: e.As(t, guard, "system:masters", "system:serviceaccounts:holdfast-system"),
	}
}

// guard is the user as whom Holdfast writes.
const guard = "system:serviceaccount:holdfast-system:holdfast-guard"

// name of a namespace that the test calls something short. A few are nobody's.
func (r *rig) name(short string) string {
	if short == "" || short == "excluded" || strings.HasPrefix(short, "kube-") || strings.HasPrefix(short, "holdfast-") {
		return short
	}
	if r.prefix == "" {
		return short
	}
	return r.prefix + "-" + short
}

var inBraces = regexp.MustCompile(`\{([a-z0-9-]+)\}`)

// long replaces {a} by the name of the namespace a, and {.} by the prefix.
func (r *rig) long(text string) string {
	text = strings.ReplaceAll(text, "{.}", r.prefix)
	return inBraces.ReplaceAllStringFunc(text, func(m string) string { return r.name(m[1 : len(m)-1]) })
}

// short leaves the prefix out of a text.
func (r *rig) short(text string) string {
	if r.prefix == "" {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, r.prefix+"-", ""), r.prefix, "{.}")
}

// known are the kinds by short names.
var known = map[string]schema.GroupVersionKind{
	"ns":     corev1.SchemeGroupVersion.WithKind("Namespace"),
	"cm":     corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	"secret": corev1.SchemeGroupVersion.WithKind("Secret"),
	"quota":  corev1.SchemeGroupVersion.WithKind("ResourceQuota"),
	"limits": corev1.SchemeGroupVersion.WithKind("LimitRange"),
	"role":   {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	"rb":     {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	"deploy": {Group: "apps", Version: "v1", Kind: "Deployment"},
	"hc":     hncv1alpha2.GroupVersion.WithKind("HierarchyConfiguration"),
	"anchor": hncv1alpha2.GroupVersion.WithKind("SubnamespaceAnchor"),
	"hnc":    hncv1alpha2.GroupVersion.WithKind("HNCConfiguration"),
	"vwc":    {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
	"mwc":    {Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
	"crd":    {Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
}

func (r *rig) gvk(kind string) schema.GroupVersionKind {
	r.t.Helper()
	gvk, ok := known[kind]
	if !ok {
		gvk, ok = r.kinds[kind]
	}
	if !ok {
		r.t.Fatalf("no kind %q", kind)
	}
	return gvk
}

// object is what a text such as "cm a/x", "ns a", "anchor a/s" or "hc a" names.
func (r *rig) object(kind, at string) *unstructured.Unstructured {
	r.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.gvk(kind))
	namespace, name, found := strings.Cut(at, "/")
	switch {
	case kind == "hc":
		namespace, name = at, hncv1alpha2.HierarchyConfigurationName
	case kind == "ns":
		namespace, name = "", r.name(at)
	case !found:
		namespace, name = "", r.long(at)
	}
	if kind == "anchor" {
		name = r.name(name)
	}
	u.SetNamespace(r.name(namespace))
	u.SetName(r.long(name))
	return u
}

// get reads an object; nil if there is none.
func (r *rig) get(kind, at string) *unstructured.Unstructured {
	r.t.Helper()
	u := r.object(kind, at)
	err := r.Client.Get(r.t.Context(), client.ObjectKeyFromObject(u), u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.t.Fatalf("get %s %s: %v", kind, at, err)
	}
	return u
}

// steadily is how what is only a matter of time is tried again.
var steadily = wait.Backoff{Steps: 500, Duration: 20 * time.Millisecond}

// patch changes an object, or makes it if it is not there. The body is JSON.
func (r *rig) patch(c client.Client, kind, at, body string) {
	r.t.Helper()
	if err := r.try(c, kind, at, body); err != nil {
		r.t.Fatalf("write %s %s %s: %v", kind, at, body, err)
	}
}

func (r *rig) try(c client.Client, kind, at, body string) error {
	r.t.Helper()
	body = r.long(body)
	// Holdfast may make it in between; and may not know yet of what was just made.
	again := func(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsServiceUnavailable(err) }
	return retry.OnError(steadily, again, func() error {
		err := c.Patch(r.t.Context(), r.object(kind, at), client.RawPatch(types.MergePatchType, []byte(body)))
		if !apierrors.IsNotFound(err) {
			return err
		}
		u, is := &unstructured.Unstructured{}, r.object(kind, at)
		if err := json.Unmarshal([]byte(body), &u.Object); err != nil {
			return err
		}
		u.SetGroupVersionKind(is.GroupVersionKind())
		u.SetNamespace(is.GetNamespace())
		u.SetName(is.GetName())
		if kind == "ns" {
			u.SetLabels(merged(u.GetLabels(), map[string]string{"holdfast.dev/testkit": "made"}))
		}
		if c != r.past || kind == "ns" || kind == "hc" || kind == "anchor" {
			return c.Create(r.t.Context(), u)
		}
		// Admission judges what Holdfast creates, and not what it updates.
		annotations := map[string]string{hncv1alpha2.AnnotationNone: "true"}
		for key, value := range u.GetAnnotations() {
			if !strings.HasPrefix(key, hncv1alpha2.AnnotationPropagatePrefix) {
				annotations[key] = value
			}
		}
		u.SetAnnotations(annotations)
		if err := c.Create(r.t.Context(), u); err != nil {
			return err
		}
		return c.Patch(r.t.Context(), r.object(kind, at), client.RawPatch(types.MergePatchType, withoutNone(r.t, body)))
	})
}

// withoutNone is a merge patch that also takes away the annotation by which an object is not copied, unless it sets that.
func withoutNone(t testing.TB, body string) []byte {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(body), &u.Object); err != nil {
		t.Fatal(err)
	}
	if _, set := u.GetAnnotations()[hncv1alpha2.AnnotationNone]; !set {
		if err := unstructured.SetNestedField(u.Object, nil, "metadata", "annotations", hncv1alpha2.AnnotationNone); err != nil {
			t.Fatal(err)
		}
	}
	patch, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return patch
}

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(b)
	maps.Copy(out, a)
	return out
}

// deleted asks for an object to be deleted, and does not wait.
func (r *rig) deleted(c client.Client, kind, at string) {
	r.t.Helper()
	// A list of a kind whose CRD another test has just applied again may take longer than the webhook has.
	err := retry.OnError(steadily, testkit.Unchecked, func() error {
		return c.Delete(r.t.Context(), r.object(kind, at), client.PropagationPolicy(metav1.DeletePropagationBackground))
	})
	if err != nil {
		r.t.Fatalf("delete %s %s: %v", kind, at, err)
	}
}

// list adds entries to the HNCConfiguration, or changes those of the same resource.
func (r *rig) list(specs ...hncv1alpha2.ResourceSpec) {
	r.t.Helper()
	r.configure(func(c *hncv1alpha2.HNCConfigurationSpec) {
		for _, s := range specs {
			found := false
			for i := range c.Resources {
				if c.Resources[i].Group == s.Group && c.Resources[i].Resource == s.Resource {
					c.Resources[i], found = s, true
				}
			}
			if !found {
				c.Resources = append(c.Resources, s)
			}
		}
	})
}

// configure changes the HNCConfiguration, which others change too.
func (r *rig) configure(change func(*hncv1alpha2.HNCConfigurationSpec)) {
	r.t.Helper()
	configuring.Lock()
	defer configuring.Unlock()
	again := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err := retry.OnError(steadily, again, func() error {
		c := &hncv1alpha2.HNCConfiguration{ObjectMeta: metav1.ObjectMeta{Name: hncv1alpha2.HNCConfigurationName}}
		err := r.past.Get(r.t.Context(), client.ObjectKeyFromObject(c), c)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		change(&c.Spec)
		if err != nil {
			return r.past.Create(r.t.Context(), c)
		}
		return r.past.Update(r.t.Context(), c)
	})
	if err != nil {
		r.t.Fatalf("change the HNCConfiguration: %v", err)
	}
}

// watch tells what it is told of, until the test ends.
func (r *rig) watch(list client.ObjectList, tell func(eventType string, o client.Object)) {
	r.t.Helper()
	c, err := client.NewWithWatch(r.Config, client.Options{Scheme: r.Client.Scheme(), Mapper: r.Client.RESTMapper()})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	w, err := c.Watch(ctx, list)
	if err != nil {
		r.t.Fatal(errors.Join(err, ctx.Err()))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			if o, ok := e.Object.(client.Object); ok {
				tell(string(e.Type), o)
			}
		}
	}()
	r.t.Cleanup(func() {
		cancel()
		w.Stop()
		<-done
	})
}
