// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/platform/scope"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	rollAnnotation = v1alpha1.StrimziRollAnnotation
	passes         = `{"uid":"SOME-UUID","allowed":true}`
	stays          = `{"uid":"SOME-UUID","allowed":false,"status":{"metadata":{},"message":"The pod will be rolled by the Strimzi Cluster Operator","code":500},"auditAnnotations":{"refusal":"The pod will be rolled by the Strimzi Cluster Operator"}}`
)

// rig is the handler of the webhook, served without TLS, on a real API server. What
// it asks that API server about pods is counted, and can be answered by the test.
type rig struct {
	*judge
	url    string
	client kubernetes.Interface
	wire   *wire
	// set is what the configuration and the policies say.
	set settings
	// cache has the pods that are watched.
	cache map[string]*metav1.ObjectMeta

	mu     sync.Mutex
	events []policy.Event
	counts []policy.Verdict
}

func newRig(t testing.TB, e *testkit.Env) *rig {
	t.Helper()
	r := &rig{wire: &wire{}, set: settings{
		config: configv1alpha1.EvictionConfiguration{Mode: configv1alpha1.ModeEnforce, OnOutage: configv1alpha1.OutageAllows},
		policy: policy.Settings{
			Mode:         configv1alpha1.ModeEnforce,
			DrainCleaner: policy.DrainCleaner{Enabled: true, Kafka: true, ZooKeeper: true, Deny: true},
		},
	}}
	r.client = clientOf(t, e.Config)
	config := rest.CopyConfig(e.Config)
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return r.wire.before(next) })
	counted := clientOf(t, config)
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	r.judge = &judge{
		pods: &pods{client: counted, clock: clock.RealClock{}, pauses: timing.Production(), cached: func(_, name string) (*metav1.ObjectMeta, bool) {
			o, ok := r.cache[name]
			return o, ok
		}},
		facts:    &lookup{client: counted, metadata: meta, protected: unprotected{}, clock: clock.RealClock{}, pauses: timing.Production()},
		settings: func() settings { return r.set },
		ready:    func() error { return nil },
		counted:  func(v policy.Verdict) { r.mu.Lock(); defer r.mu.Unlock(); r.counts = append(r.counts, v) },
		events:   r,
		filter:   &filter{},
		clock:    clock.RealClock{},
	}
	server := httptest.NewServer(&handler{judge: r.judge})
	t.Cleanup(server.Close)
	r.url = server.URL + Path
	return r
}

func clientOf(t testing.TB, config *rest.Config) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type unprotected struct{}

func (unprotected) ProtectsPod(context.Context, string, *metav1.ObjectMeta) (string, error) {
	return "", nil
}

// send implements recorder.
func (r *rig) send(_ *metav1.ObjectMeta, e policy.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// watched narrows the scope as STRIMZI_DRAIN_NAMESPACES does.
func (r *rig) watched(t testing.TB, list string) {
	t.Helper()
	c, err := scope.FromDrainNamespaces(list, true)
	if err != nil {
		t.Fatal(err)
	}
	if r.set.scope, err = scope.Compile(c); err != nil {
		t.Fatal(err)
	}
}

// policies have their names and the text of their spec.
func (r *rig) policies(t testing.TB, specs map[string]string) {
	t.Helper()
	for name, spec := range specs {
		in := &v1alpha1.EvictionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := json.Unmarshal([]byte(spec), &in.Spec); err != nil {
			t.Fatal(err)
		}
		p, problems := policy.Compile(in)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		r.set.policy.Policies = append(r.set.policy.Policies, p)
	}
	policy.Sort(r.set.policy.Policies)
}

// make makes a pod that never runs: there is no node.
func (r *rig) make(t testing.TB, in *corev1.Pod) *corev1.Pod {
	t.Helper()
	in.Spec.AutomountServiceAccountToken = new(false)
	in.Spec.Containers = []corev1.Container{{Name: "c", Image: "none"}}
	var out *corev1.Pod
	gomega.NewWithT(t).Eventually(func() (err error) { // the service account of the namespace may not be there yet
		out, err = r.client.CoreV1().Pods(in.Namespace).Create(t.Context(), in.DeepCopy(), metav1.CreateOptions{})
		return err
	}, "180s", "50ms").Should(gomega.Succeed())
	return out
}

// recreate deletes a pod at once and makes another of its name.
func (r *rig) recreate(t testing.TB, in *corev1.Pod) *corev1.Pod {
	t.Helper()
	r.remove(t, in)
	return r.make(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: in.Name, Labels: in.Labels}})
}

func (r *rig) remove(t testing.TB, in *corev1.Pod) {
	t.Helper()
	if err := r.client.CoreV1().Pods(in.Namespace).Delete(t.Context(), in.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) annotations(t testing.TB, namespace, name string) map[string]string {
	t.Helper()
	p, err := r.client.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Annotations
}

// ask posts a body as API servers do. The answer is the response of the review, or
// the status line and the text of an error.
func (r *rig) ask(t testing.TB, body string) string {
	t.Helper()
	resp, text := r.post(t, strings.NewReader(body), "?timeout=5s")
	if resp.StatusCode != http.StatusOK {
		return resp.Status + ": " + strings.TrimSpace(text)
	}
	var out struct {
		Kind, APIVersion string
		Response         json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if out.Kind != "AdmissionReview" || out.APIVersion != "admission.k8s.io/v1" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %s with %v", text, resp.Header)
	}
	return string(out.Response)
}

func (r *rig) post(t testing.TB, body io.Reader, query string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+query, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// question is an AdmissionReview, by its parts.
type question map[string]any

// asks is the question of an API server about a pod's eviction.
func asks(namespace, name string, changes ...func(request, eviction question)) string {
	evicted := question{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": question{"name": name, "namespace": namespace}}
	request := question{
		"uid": "SOME-UUID", "operation": "CREATE", "name": name, "namespace": namespace, "subResource": "eviction", "dryRun": false,
		"userInfo": question{"username": "drainer"}, "object": evicted,
	}
	for _, change := range changes {
		change(request, evicted)
	}
	text, err := json.Marshal(question{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
	if err != nil {
		panic(err) // it is made of maps and text
	}
	return string(text)
}

func withUID(uid string) func(_, eviction question) {
	return func(_, eviction question) {
		eviction["deleteOptions"] = question{"preconditions": question{"uid": uid}}
	}
}

func dryRun(request, _ question) { request["dryRun"] = true }

// wire counts what is asked about pods.
type wire struct {
	mu            sync.Mutex
	gets, patches int
	bodies        []string
	// instead may answer a request; nil for none, and it goes on if it returns nil.
	instead func(*http.Request) (*http.Response, error)
}

func (w *wire) before(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if strings.Contains(req.URL.Path, "/pods/") {
			w.count(req)
		}
		w.mu.Lock()
		instead := w.instead
		w.mu.Unlock()
		if instead != nil {
			if resp, err := instead(req); resp != nil || err != nil {
				return resp, err
			}
		}
		return next.RoundTrip(req)
	})
}

func (w *wire) count(req *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch req.Method {
	case http.MethodGet:
		w.gets++
	case http.MethodPatch:
		w.patches++
		body, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(body))
		w.bodies = append(w.bodies, req.Header.Get("Content-Type")+" "+string(body))
	}
}

func (w *wire) calls() (gets, patches int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gets, w.patches
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// refusal answers requests of one method with a status of the API server.
func refusal(method string, code int, reason metav1.StatusReason, message string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		if req.Method != method || !strings.Contains(req.URL.Path, "/pods/") {
			return nil, nil //nolint:nilnil // it goes on
		}
		text, err := json.Marshal(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		})
		if err != nil {
			return nil, err
		}
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Request: req, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(bytes.NewReader(text)),
		}, nil
	}
}

// said is what all tests of the package log, in order.
var said struct {
	sync.Mutex
	lines []string
}

func init() {
	ctrl.SetLogger(funcr.New(func(_, line string) {
		said.Lock()
		defer said.Unlock()
		said.lines = append(said.lines, line)
	}, funcr.Options{Verbosity: 1}))
}

// saidAbout returns the lines of the log that name something.
func saidAbout(what string) string {
	said.Lock()
	defer said.Unlock()
	var out []string
	for _, line := range said.lines {
		if strings.Contains(line, what) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
