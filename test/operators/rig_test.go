// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package operators

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

const (
	// patience bounds the waits; a test takes that long only when it fails.
	patience = "180s"
	often    = "50ms"
)

// program is an operator.
type program interface {
	// identity is the operator's service account, and the user agent of its client, from which the API server derives the
	// field manager.
	identity() (a account, agent string)
	// setup are the operator's RoleBindings, which an administrator applies to the namespace.
	setup() string
	// customResources are what a user applies.
	customResources() []string
	// selector is the label that the operator puts on everything that it makes.
	selector() (key, value string)
	// copies reports whether the operator copies the labels of Holdfast from the custom resources to what it makes.
	copies() bool
	// upgrade is the merge patch of a user who wants another version, for the first of the custom resources.
	upgrade() string
	// reconcile sends what the operator sends for a change of a custom resource, or of an object that it made.
	reconcile(r *rig)
}

// account is the namespace and the name of a service account.
type account struct{ namespace, name string }

// kinds of what the operators make and a ResourceDeletionProtection of the tests selects. Holdfast does not mark RBAC objects.
var kinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"),
	corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	corev1.SchemeGroupVersion.WithKind("Service"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "core.strimzi.io", Version: "v1beta2", Kind: "StrimziPodSet"},
}

// unmarked are the other kinds of what the operators make.
var unmarked = []schema.GroupVersionKind{
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
}

// rig is a namespace in which a program runs custom resources.
type rig struct {
	*testkit.Env
	*gomega.WithT
	t         *testing.T
	program   program
	situation situation
	namespace string
	// operator sends requests with the token of the operator's service account.
	operator client.Client
	sent     *recorder
}

func newRig(t *testing.T, p program, s situation) *rig {
	t.Helper()
	return newRigIn(t, testkit.Shared(t).Namespace(t), p, s)
}

// newRigIn is newRig in a namespace that there is.
func newRigIn(t *testing.T, namespace string, p program, s situation) *rig {
	t.Helper()
	e := testkit.Shared(t)
	r := &rig{Env: e, WithT: gomega.NewWithT(t), t: t, program: p, situation: s, namespace: namespace}
	if setup := p.setup(); setup != "" {
		e.Apply(t, r.namespace, setup)
	}
	a, agent := p.identity()
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: a.name}}
	token := &authenticationv1.TokenRequest{}
	if err := e.Client.SubResource("token").Create(t.Context(), sa, token); err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(e.Config)
	config.BearerToken, config.UserAgent, config.QPS = token.Status.Token, agent, -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		r.sent = &recorder{next: next}
		return r.sent
	})
	c, err := client.New(config, client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	r.operator = c
	r.protect()
	r.settle(false)
	return r
}

// sent is a request that writes, with the code of its answer, and why it failed.
type sent struct {
	verb, object string
	code         int
	message      string
}

func (s sent) String() string {
	return fmt.Sprintf("%s %s: %d %s", s.verb, s.object, s.code, s.message)
}

// recorder records the requests that write.
type recorder struct {
	next http.RoundTripper

	mu  sync.Mutex
	all []sent
}

func (c *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(req)
	if err != nil || req.Method == http.MethodGet {
		return res, err
	}
	_, object, _ := strings.Cut(req.URL.Path, "/namespaces/")
	_, object, _ = strings.Cut(object, "/")
	s := sent{verb: req.Method, object: object, code: res.StatusCode}
	if req.Method == http.MethodPatch {
		s.verb, _, _ = strings.Cut(strings.TrimPrefix(req.Header.Get("Content-Type"), "application/"), "+")
	}
	if s.code >= http.StatusBadRequest {
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(body))
		var status metav1.Status
		if json.Unmarshal(body, &status) == nil {
			s.message = status.Message
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, s)
	return res, nil
}

// take returns what was sent since the last time.
func (c *recorder) take() []sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// refused are the requests that failed.
func refused(all []sent) []string {
	out := []string{}
	for _, s := range all {
		if s.code >= http.StatusBadRequest {
			out = append(out, s.String())
		}
	}
	return out
}

// object decodes an object of the namespace.
func (r *rig) object(text string) *unstructured.Unstructured {
	r.t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		r.t.Fatalf("%v in %s", err, text)
	}
	u.SetNamespace(r.namespace)
	return u
}

// get reads an object as the operator; nil if there is none.
func (r *rig) get(like *unstructured.Unstructured) *unstructured.Unstructured {
	r.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(like.GroupVersionKind())
	err := r.operator.Get(r.t.Context(), client.ObjectKeyFromObject(like), u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

// custom reads the custom resources as the operator.
func (r *rig) custom() (out []*unstructured.Unstructured) {
	r.t.Helper()
	for _, text := range r.program.customResources() {
		out = append(out, r.get(r.object(text)))
	}
	return out
}

// create, and the verbs below, do not fail the test: it compares what the recorder has. An operator ends a reconciliation
// at the first error; here it goes on, so that one run shows all errors.
func (r *rig) create(u *unstructured.Unstructured) {
	_ = r.operator.Create(r.t.Context(), u.DeepCopy())
}

func (r *rig) update(u *unstructured.Unstructured) {
	_ = r.operator.Update(r.t.Context(), u.DeepCopy())
}

// roll deletes a pod, and waits until it is gone.
func (r *rig) roll(pod *unstructured.Unstructured, opts ...client.DeleteOption) {
	r.t.Helper()
	if err := r.operator.Delete(r.t.Context(), pod, opts...); err != nil {
		return
	}
	r.Eventually(func() bool {
		now := r.get(pod)
		return now == nil || now.GetUID() != pod.GetUID()
	}, patience, often).Should(gomega.BeTrue(), "the end of pod %s", pod.GetName())
}

// label adds labels to an object.
func label(u *unstructured.Unstructured, more map[string]string) {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, more)
	u.SetLabels(labels)
}

// own makes a custom resource the only owner of an object.
func own(u, owner *unstructured.Unstructured, controller bool, blocks *bool) {
	u.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID(),
		Controller: &controller, BlockOwnerDeletion: blocks,
	}})
}

// made lists what the operator made of some kinds, as an administrator.
func (r *rig) made(of ...schema.GroupVersionKind) (out []metav1.PartialObjectMetadata) {
	r.t.Helper()
	key, value := r.program.selector()
	for _, kind := range of {
		all := &metav1.PartialObjectMetadataList{}
		all.SetGroupVersionKind(kind)
		if err := r.Client.List(r.t.Context(), all, client.InNamespace(r.namespace), client.MatchingLabels{key: value}); err != nil {
			r.t.Fatal(err)
		}
		for _, o := range all.Items {
			o.SetGroupVersionKind(kind)
			out = append(out, o)
		}
	}
	return out
}

// owners are the custom resources, as an administrator reads them.
func (r *rig) owners() (out []metav1.PartialObjectMetadata) {
	r.t.Helper()
	for _, text := range r.program.customResources() {
		like := r.object(text)
		o := metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(like.GroupVersionKind())
		if err := r.Client.Get(r.t.Context(), client.ObjectKeyFromObject(like), &o); err != nil {
			r.t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

func nameOf(o metav1.PartialObjectMetadata) string { return o.Kind + "/" + o.Name }

// versions are the resource versions of the custom resources and of what the operator made. Of three kinds they change
// although neither the operator nor Holdfast changes anything, and the generation or the labels stand for them: the disruption
// controller updates the status of a PodDisruptionBudget whenever pods come and go; with the JSON patch that Strimzi sends for
// a claim it removes the finalizer too, which the claim's controller adds again; and where Holdfast sets marks back in an update
// of a StrimziPodSet, the API server keeps the time of the update, and once the order, in the managedFields.
func (r *rig) versions() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for _, o := range append(r.owners(), r.made(kinds...)...) {
		switch o.Kind {
		case "PodDisruptionBudget", "PersistentVolumeClaim", "StrimziPodSet":
			out[nameOf(o)] = fmt.Sprint(o.Generation, o.Labels, o.Annotations)
		default:
			out[nameOf(o)] = o.ResourceVersion
		}
	}
	return out
}

// pods are the UIDs of the pods by name.
func (r *rig) pods() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	for _, o := range r.made(kinds[0]) {
		out[o.Name] = string(o.UID)
	}
	return out
}

const (
	// accounts begins the user name of a service account.
	accounts = "system:serviceaccount:"
	guard    = accounts + manager.Namespace + ":" + manager.ServiceAccount
)

// holdfast lists the requests with which Holdfast has changed objects of the namespace.
func (r *rig) holdfast() (out []string) {
	r.t.Helper()
	events, err := requests.Events()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range events {
		if o := e.ObjectRef; e.User.Username == guard && o != nil && o.Namespace == r.namespace && o.Resource != "events" && e.ResponseStatus.Code < http.StatusBadRequest {
			out = append(out, e.Verb+" "+o.Resource+"/"+o.Name)
		}
	}
	return out
}

// settle waits until Holdfast has nothing left to write: it has marked what it protects and what owns that, and has once
// removed the marks that the operator copied from another object.
func (r *rig) settle(made bool) {
	r.t.Helper()
	selected, owns := r.selected(), made && (r.situation.children || r.situation.labelled && r.program.copies())
	r.Eventually(func() (due []string) {
		wrote := r.holdfast()
		for _, o := range r.owners() {
			if owns && v1alpha1.MarkOf(&o, v1alpha1.HoldsProtectedMark) == "" {
				due = append(due, nameOf(o)+" is not marked as an owner")
			}
		}
		for _, o := range append(r.owners(), r.made(kinds...)...) {
			if slices.Contains(selected, o.Kind) && v1alpha1.MarkOf(&o, v1alpha1.ProtectedByMark) == "" {
				due = append(due, nameOf(o)+" is not marked")
			}
			removed := slices.ContainsFunc(wrote, func(w string) bool {
				return strings.HasPrefix(w, "patch "+strings.ToLower(o.Kind)) && strings.HasSuffix(w, "/"+o.Name)
			})
			if _, marked := o.Labels[v1alpha1.MarkedLabel]; marked && !v1alpha1.Marked(&o) && !removed {
				due = append(due, nameOf(o)+" has the marks of another object")
			}
		}
		return due
	}, patience, often).Should(gomega.BeEmpty())
	r.sentinel()
}

// sentinel waits until Holdfast has removed the marks of another object from one that was created now, which it does after
// what it had to do before.
func (r *rig) sentinel() {
	r.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "sentinel-", Namespace: r.namespace, Labels: map[string]string{
		v1alpha1.MarkedLabel: "of-another-object", v1alpha1.ProtectedByMark: "of-another-object",
	}}}
	if err := r.Client.Create(r.t.Context(), cm); err != nil {
		r.t.Fatal(err)
	}
	r.Eventually(func() map[string]string {
		if err := r.Client.Get(r.t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
			r.t.Fatal(err)
		}
		return cm.Labels
	}, patience, often).Should(gomega.BeEmpty())
	if err := r.Client.Delete(context.WithoutCancel(r.t.Context()), cm); err != nil {
		r.t.Fatal(err)
	}
}
