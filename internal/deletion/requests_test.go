// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// recorder is a webhook that allows everything and remembers what it was asked.
type recorder struct {
	mu   sync.Mutex
	seen []*admissionv1.AdmissionRequest
	bad  []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.seen = append(r.seen, review.Request)
	if _, err := policy.FromAdmission(review.Request); err != nil && review.Request.Operation != admissionv1.Connect {
		r.bad = append(r.bad, fmt.Sprintf("%s: %v", shape(review.Request), err))
	}
	r.mu.Unlock()
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// shapes are the distinct shapes of the requests that match, in the order of
// their arrival.
func (r *recorder) shapes(match func(*admissionv1.AdmissionRequest) bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, s := range r.seen {
		if match(s) && !slices.Contains(out, shape(s)) {
			out = append(out, shape(s))
		}
	}
	return out
}

func (r *recorder) count(match func(*admissionv1.AdmissionRequest) bool) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.seen {
		if match(s) {
			n++
		}
	}
	return n
}

// shape says what a request carries, in one line.
func shape(r *admissionv1.AdmissionRequest) string {
	has := func(raw []byte) string {
		var o metav1.PartialObjectMetadata
		if len(raw) == 0 || json.Unmarshal(raw, &o) != nil {
			return "-"
		}
		return o.Kind
	}
	set := func(s string) string {
		if s == "" {
			return "-"
		}
		return "set"
	}
	resource := r.Resource.Resource
	if r.SubResource != "" {
		resource += "/" + r.SubResource
	}
	return fmt.Sprintf("%s %s name=%s namespace=%s object=%s old=%s options=%s",
		r.Operation, resource, set(r.Name), set(r.Namespace), has(r.Object.Raw), has(r.OldObject.Raw), has(r.Options.Raw))
}

// about matches requests about an object of this name, by what they carry and
// not by request.name, which can be empty.
func about(operation admissionv1.Operation, resource, name string) func(*admissionv1.AdmissionRequest) bool {
	return func(r *admissionv1.AdmissionRequest) bool {
		full := r.Resource.Resource
		if r.SubResource != "" {
			full += "/" + r.SubResource
		}
		raw := r.OldObject.Raw
		if len(raw) == 0 {
			raw = r.Object.Raw
		}
		var o metav1.PartialObjectMetadata
		_ = json.Unmarshal(raw, &o)
		return r.Operation == operation && full == resource && o.Name == name
	}
}

// by narrows a matcher to requests of one user.
func by(user string, match func(*admissionv1.AdmissionRequest) bool) func(*admissionv1.AdmissionRequest) bool {
	return func(r *admissionv1.AdmissionRequest) bool {
		return strings.HasSuffix(r.UserInfo.Username, user) && match(r)
	}
}

// recordAll makes the API server of an Env ask a recorder about everything.
func recordAll(t *testing.T, e *testkit.Env) *recorder {
	t.Helper()
	r := &recorder{}
	server := httptest.NewTLSServer(r)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	all := []string{"*"}
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "recorder"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "recorder.holdfast.test",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new(server.URL), CABundle: ca},
			FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: all, APIVersions: all, Resources: []string{"*/*"}},
			}},
		}},
	}
	if err := e.Client.Create(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Client.Delete(context.WithoutCancel(t.Context()), configuration) })
	gomega.NewWithT(t).Eventually(func() bool {
		probe := configMap(t, e, "default", fmt.Sprintf("probe-%d", len(r.shapes(func(*admissionv1.AdmissionRequest) bool { return true }))))
		_ = e.Client.Delete(t.Context(), probe)
		return r.count(about(admissionv1.Create, "configmaps", probe.Name)) > 0
	}, "180s", "50ms").Should(gomega.BeTrue(), "the API server does not call the recorder")
	return r
}

// The policies are built on what the API server really hands over. This pins
// it: a row that changes with a new Kubernetes is a rule to look at again.
func TestRequests_whatTheAPIServerSends(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	e := testkit.New(t, testkit.Options{NoManager: true})
	r := recordAll(t, e)
	ctx := t.Context()
	ns := e.Namespace(t)
	expect := func(name string, match func(*admissionv1.AdmissionRequest) bool, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, r.shapes(match)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	must(e.Client.Delete(ctx, configMap(t, e, ns, "single")))
	expect("DELETE of one object", about(admissionv1.Delete, "configmaps", "single"),
		"DELETE configmaps name=set namespace=set object=- old=ConfigMap options=DeleteOptions")

	configMap(t, e, ns, "collected", "app=web")
	must(e.Client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(ns), client.MatchingLabels{"app": "web"}))
	expect("DELETE of a collection has no name", about(admissionv1.Delete, "configmaps", "collected"),
		"DELETE configmaps name=- namespace=set object=- old=ConfigMap options=DeleteOptions")

	owner := configMap(t, e, ns, "owner")
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owned",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}}}
	must(e.Client.Create(ctx, owned))
	must(e.Client.Delete(ctx, owner))
	mustGo(t, e, owned)
	expect("the garbage collector deletes one by one", by("generic-garbage-collector", about(admissionv1.Delete, "configmaps", "owned")),
		"DELETE configmaps name=set namespace=set object=- old=ConfigMap options=DeleteOptions")

	finalized := configMap(t, e, ns, "finalized")
	finalized.Finalizers = []string{"example.com/hold"}
	must(e.Client.Update(ctx, finalized))
	must(e.Client.Delete(ctx, finalized))
	before := r.count(about(admissionv1.Delete, "configmaps", "finalized"))
	must(e.Client.Patch(ctx, finalized, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	mustGo(t, e, finalized)
	if got := r.count(about(admissionv1.Delete, "configmaps", "finalized")); got != before {
		t.Errorf("removing the last finalizer made %d more DELETE requests, want none", got-before)
	}

	podYAML := func(name, node string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {nodeName: "` + node + `", containers: [{name: c, image: i}]}}`
	}
	e.Apply(t, ns, podYAML("evicted", ""))
	evicted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "evicted", Namespace: ns}}
	must(e.Client.SubResource("eviction").Create(ctx, evicted, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "evicted", Namespace: ns}}))
	mustGo(t, e, evicted)
	expect("an eviction carries no pod", about(admissionv1.Create, "pods/eviction", "evicted"),
		"CREATE pods/eviction name=set namespace=set object=Eviction old=- options=CreateOptions")
	expect("and the delete behind it is not asked about", about(admissionv1.Delete, "pods", "evicted"))

	e.Apply(t, ns, podYAML("bound", ""))
	bound := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bound", Namespace: ns}}
	must(e.Client.SubResource("binding").Create(ctx, bound, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "bound", Namespace: ns, Labels: map[string]string{"from": "binding"}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "n1"},
	}))
	expect("a binding is a CREATE without the pod", about(admissionv1.Create, "pods/binding", "bound"),
		"CREATE pods/binding name=set namespace=set object=Binding old=- options=CreateOptions")
	must(e.Client.Get(ctx, client.ObjectKeyFromObject(bound), bound))
	if bound.Labels["from"] != "binding" {
		t.Errorf("a binding no longer writes the pod's labels, which are %v", bound.Labels)
	}

	must(e.Client.Delete(ctx, bound)) // on a node, so it waits for its kubelet
	must(e.Client.Get(ctx, client.ObjectKeyFromObject(bound), bound))
	node := e.As(t, "system:node:n1", "system:masters")
	before = r.count(about(admissionv1.Delete, "pods", "bound"))
	must(node.Delete(ctx, bound, client.GracePeriodSeconds(0)))
	// Once for the grace, once for the delete itself, and again for each conflict.
	if got := r.count(about(admissionv1.Delete, "pods", "bound")) - before; got < 2 {
		t.Errorf("a kubelet's last delete was asked about %d times, want at least 2", got)
	}

	e.Apply(t, ns, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: scaled, labels: {app: web}}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}`)
	scaled := &unstructured.Unstructured{}
	decodeYAML(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: scaled}}`, scaled)
	scaled.SetNamespace(ns)
	must(e.Client.SubResource("scale").Update(ctx, scaled, client.WithSubResourceBody(&autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "scaled", Namespace: ns}, Spec: autoscalingv1.ScaleSpec{Replicas: 0},
	})))
	expect("scaling carries Scale objects, which have no labels", about(admissionv1.Update, "deployments/scale", "scaled"),
		"UPDATE deployments/scale name=set namespace=set object=Scale old=Scale options=UpdateOptions")

	namespace := &corev1.Namespace{}
	must(e.Client.Get(ctx, client.ObjectKey{Name: ns}, namespace))
	must(e.Client.Status().Patch(ctx, namespace.DeepCopy(), mergeLabels(map[string]any{"through": "status"})))
	expect("a status patch of a Namespace comes as an update", about(admissionv1.Update, "namespaces/status", ns),
		"UPDATE namespaces/status name=set namespace=set object=Namespace old=Namespace options=UpdateOptions")
	must(e.Client.Get(ctx, client.ObjectKey{Name: ns}, namespace))
	if namespace.Labels["through"] != "status" {
		t.Errorf("namespaces/status no longer writes labels, which are %v", namespace.Labels)
	}

	t.Run("a namespace and its content", func(t *testing.T) {
		g := gomega.NewWithT(t)
		doomed := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}}
		must(e.Client.Create(ctx, doomed))
		content := configMap(t, e, "doomed", "content")
		content.Finalizers = []string{"example.com/hold"}
		must(e.Client.Update(ctx, content))
		must(e.Client.Delete(ctx, doomed))
		expect("the first DELETE has its own name for a namespace", about(admissionv1.Delete, "namespaces", "doomed"),
			"DELETE namespaces name=set namespace=set object=- old=Namespace options=DeleteOptions")
		n := r.count(about(admissionv1.Delete, "namespaces", "doomed"))
		must(client.IgnoreNotFound(e.Client.Delete(ctx, doomed)))
		if got := r.count(about(admissionv1.Delete, "namespaces", "doomed")); got != n {
			t.Errorf("a second DELETE of a terminating namespace was asked about %d times, want never", got-n)
		}
		byController := by("namespace-controller", about(admissionv1.Delete, "configmaps", "content"))
		g.Eventually(func() int { return r.count(byController) }, "180s", "50ms").ShouldNot(gomega.BeZero())
		expect("its content goes by collection, without a name", byController,
			"DELETE configmaps name=- namespace=set object=- old=ConfigMap options=DeleteOptions")
		must(e.Client.Patch(ctx, content, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	})

	t.Run("custom resources go with their definition unasked", func(t *testing.T) {
		e.Apply(t, ns, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`)
		if out := e.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=30s"); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		e.Apply(t, ns, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}`)
		if out := e.Kubectl(t, "delete", "crd/widgets.example.com", "--timeout=180s"); out.Code != 0 {
			t.Fatal(out.Stderr)
		}
		expect("the definition", about(admissionv1.Delete, "customresourcedefinitions", "widgets.example.com"),
			"DELETE customresourcedefinitions name=set namespace=- object=- old=CustomResourceDefinition options=DeleteOptions")
		expect("the custom resource", about(admissionv1.Delete, "widgets", "w"))
	})

	t.Run("admission objects are beyond webhooks", func(t *testing.T) {
		other := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
		must(e.Client.Create(ctx, other))
		must(e.Client.Delete(ctx, other))
		expect("a webhook configuration", about(admissionv1.Delete, "validatingwebhookconfigurations", "other"))
		e.Apply(t, ns, `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: other}, spec: {matchConstraints: {resourceRules: [{apiGroups: [example.org], apiVersions: [v1], operations: [DELETE], resources: [nothing]}]}, validations: [{expression: "true"}]}}`)
		must(e.Client.Delete(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "other"}}))
		expect("a policy", about(admissionv1.Delete, "validatingadmissionpolicies", "other"))
	})

	// What the rules read out of every request that was seen.
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bad) > 0 {
		t.Errorf("requests that the rules cannot read:\n%s", strings.Join(r.bad, "\n"))
	}
}
