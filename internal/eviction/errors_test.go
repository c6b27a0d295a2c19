// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func kafkaPod(t testing.TB, r *rig, ns string) *corev1.Pod {
	t.Helper()
	return r.make(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "my-cluster-kafka-", Labels: strimzi("my-cluster-kafka")}})
}

// What the API server does not answer is left to the failure policy, by an error of
// HTTP. A client of the API server asks again by itself after some of them.
func TestErrors_whatCannotBeJudgedIsNotAnswered(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for _, tt := range []struct {
		name     string
		instead  func(*http.Request) (*http.Response, error)
		onOutage configv1alpha1.OutageRule
		mode     configv1alpha1.Mode
		want     string // the answer begins so
		patches  int
	}{
		{
			name: "the pod may not be read", want: "500 Internal Server Error: get pod: pods is forbidden",
			instead: refusal(http.MethodGet, 403, metav1.StatusReasonForbidden, "pods is forbidden: User \"holdfast\" cannot get resource \"pods\""),
		},
		{
			name: "the API server fails to read the pod", want: "500 Internal Server Error: get pod: it broke",
			instead: refusal(http.MethodGet, 500, metav1.StatusReasonInternalError, "it broke"),
		},
		{
			name: "the pod may not be written", want: "500 Internal Server Error: patch pod: pods is forbidden", patches: 1,
			instead: refusal(http.MethodPatch, 403, metav1.StatusReasonForbidden, "pods is forbidden: User \"holdfast\" cannot patch resource \"pods\""),
		},
		{
			name: "the API server fails to write the pod", want: "500 Internal Server Error: patch pod: it broke", patches: 1,
			instead: refusal(http.MethodPatch, 500, metav1.StatusReasonInternalError, "it broke"),
		},
		{
			name: "the pod is another each time it is written", want: "500 Internal Server Error: patch pod: another", patches: tries,
			instead: refusal(http.MethodPatch, 409, metav1.StatusReasonConflict, "another"),
		},
		{
			name: "the pod is gone each time it is written", want: passes, patches: tries,
			instead: refusal(http.MethodPatch, 404, metav1.StatusReasonNotFound, "gone"),
		},
		{
			name: "the configuration refuses what cannot be judged", onOutage: configv1alpha1.OutageRefuses,
			instead: refusal(http.MethodGet, 500, metav1.StatusReasonInternalError, "it broke"),
			want: `{"uid":"SOME-UUID","allowed":false,"status":{"metadata":{},` +
				`"message":"Holdfast cannot judge this eviction now: get pod: it broke","reason":"TooManyRequests","code":429},` +
				`"auditAnnotations":{"refusal":"Holdfast cannot judge this eviction now: get pod: it broke"}}`,
		},
		{
			name: "the configuration refuses what cannot be judged, but is not enforced", onOutage: configv1alpha1.OutageRefuses, mode: configv1alpha1.ModeWarn,
			instead: refusal(http.MethodGet, 500, metav1.StatusReasonInternalError, "it broke"),
			want:    "500 Internal Server Error: get pod: it broke",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e)
			p := kafkaPod(t, r, ns)
			r.wire.instead, r.set.config.OnOutage = tt.instead, tt.onOutage
			if tt.mode != "" {
				r.set.config.Mode, r.set.policy.Mode = tt.mode, tt.mode
			}
			if got := r.ask(t, asks(ns, p.Name)); !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if _, patches := r.wire.calls(); patches != tt.patches {
				t.Errorf("got %d PATCHes, want %d", patches, tt.patches)
			}
			if got := r.annotations(t, ns, p.Name); got != nil {
				t.Errorf("the pod has %v", got)
			}
		})
	}
}

// A policy says itself what becomes of an eviction when its action fails.
func TestErrors_aPolicyWhoseActionFails(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for onError, want := range map[string]string{
		"Refuse": `{"uid":"SOME-UUID","allowed":false,"status":{"metadata":{},"message":"Holdfast could not judge this eviction: patch pod: it broke","reason":"TooManyRequests","code":429},"auditAnnotations":{"refusal":"Holdfast could not judge this eviction: patch pod: it broke"}}`,
		"Allow":  `{"uid":"SOME-UUID","allowed":true,"warnings":["Holdfast could not judge this eviction: patch pod: it broke"]}`,
	} {
		t.Run(onError, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e)
			r.policies(t, map[string]string{"p": fmt.Sprintf(`{"match":{"podSelector":{}},"verdict":{"type":"Deny","message":"m"},"onError":%q}`, onError)})
			p := kafkaPod(t, r, ns)
			r.wire.instead = refusal(http.MethodPatch, 500, metav1.StatusReasonInternalError, "it broke")
			if diff := cmp.Diff(want, r.ask(t, asks(ns, p.Name))); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if len(r.events) > 0 {
				t.Errorf("events were sent: %v", r.events)
			}
		})
	}
}

// A deadline that cannot be written down counts as well.
func TestErrors_aPodThatCannotBeWrittenToForLong(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	r := newRig(t, e)
	clock := clocktesting.NewFakeClock(time.Now())
	r.clock = clock
	r.policies(t, map[string]string{"p": `{"match":{"podSelector":{}},"deadline":{"after":"5m"},"verdict":{"type":"Deny","message":"m"}}`})
	p := kafkaPod(t, r, ns)
	r.wire.instead = refusal(http.MethodPatch, 500, metav1.StatusReasonInternalError, "it broke")
	for _, want := range []string{
		`{"uid":"SOME-UUID","allowed":false,"status":{"metadata":{},"message":"Holdfast could not judge this eviction: patch pod: it broke","reason":"TooManyRequests","code":429},"auditAnnotations":{"refusal":"Holdfast could not judge this eviction: patch pod: it broke"}}`,
		`{"uid":"SOME-UUID","allowed":true,"warnings":["EvictionPolicy p cannot be applied, and its deadline of 5m0s has passed: patch pod: it broke"]}`,
	} {
		if diff := cmp.Diff(want, r.ask(t, asks(ns, p.Name))); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		clock.Step(5 * time.Minute)
	}
}

// The pod is replaced between the look and the write: the write is refused by its
// UID, and the new pod is judged by what it is.
func TestErrors_aPodThatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	for _, tt := range []struct {
		name, want    string
		byUID, cached bool
		// late says that the new pod comes a moment after the old one has gone.
		late bool
		// never says that it does not come at all.
		never     bool
		patches   int
		annotated map[string]string
	}{
		{name: "the new pod counts too", want: stays, patches: 2, annotated: rolled},
		{name: "the eviction names the UID of the old pod", byUID: true, want: passes, patches: 1},
		{name: "the cache has the old pod", cached: true, want: stays, patches: 2, annotated: rolled},
		{name: "the old pod has gone, and none comes", never: true, want: passes, patches: 1},
		{name: "the old pod has gone, and the new one comes a moment later", late: true, want: stays, patches: 2, annotated: rolled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e)
			p := kafkaPod(t, r, e.Namespace(t))
			if tt.cached {
				r.cache = map[string]*metav1.ObjectMeta{p.Name: &p.ObjectMeta}
			}
			gone, replaced := false, false
			r.wire.instead = func(req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodPatch && !gone {
					gone = true
					r.remove(t, p)
				}
				if gone && !replaced && !tt.never && (!tt.late || req.Method == http.MethodGet) {
					replaced = true
					r.make(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: p.Labels}})
				}
				return nil, nil //nolint:nilnil // it goes on
			}
			var changes []func(_, _ question)
			if tt.byUID {
				changes = append(changes, withUID(string(p.UID)))
			}
			if diff := cmp.Diff(tt.want, r.ask(t, asks(p.Namespace, p.Name, changes...))); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if _, patches := r.wire.calls(); patches != tt.patches {
				t.Errorf("got %d PATCHes, want %d: %v", patches, tt.patches, r.wire.bodies)
			}
			if tt.never {
				return
			}
			if diff := cmp.Diff(tt.annotated, r.annotations(t, p.Namespace, p.Name)); diff != "" {
				t.Errorf("annotations of the new pod (-want +got):\n%s", diff)
			}
		})
	}
}

// Where Holdfast has no rights it does not go on asking at every eviction.
func TestErrors_aNamespaceWithoutRightsIsLeftAlone(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	ns, other := e.Namespace(t), e.Namespace(t)
	p, q := kafkaPod(t, r, ns), kafkaPod(t, r, other)
	config := rest.CopyConfig(e.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "guard-" + ns}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return r.wire.before(next) })
	e.Grant(t, other, "guard-"+ns, testkit.Rule("", []string{"pods"}, "get", "patch"))
	now := clocktesting.NewFakePassiveClock(time.Now())
	r.pods.client, r.pods.clock = clientOf(t, config), now

	for range 3 {
		if got := r.ask(t, asks(ns, p.Name)); !strings.HasPrefix(got, "500 ") {
			t.Errorf("got %s", got)
		}
	}
	if gets, _ := r.wire.calls(); gets != 1 {
		t.Errorf("got %d GETs for three evictions, want 1", gets)
	}
	if diff := cmp.Diff([]string{ns}, r.pods.withoutRights()); diff != "" {
		t.Errorf("namespaces without rights (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(stays, r.ask(t, asks(other, q.Name))); diff != "" {
		t.Errorf("another namespace (-want +got):\n%s", diff)
	}
	e.Grant(t, ns, "guard-"+ns, testkit.Rule("", []string{"pods"}, "get", "patch"))
	now.SetTime(now.Now().Add(timing.Production().ForbiddenPods + time.Second))
	if diff := cmp.Diff(stays, r.ask(t, asks(ns, p.Name))); diff != "" {
		t.Errorf("after the right was given (-want +got):\n%s", diff)
	}
	if got := r.pods.withoutRights(); got != nil {
		t.Errorf("still without rights: %v", got)
	}
}

// Somebody's policy that forbids a change of one pod says nothing about the others.
func TestErrors_onePodThatNobodyMayChange(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	ns := e.Namespace(t)
	p, q := kafkaPod(t, r, ns), kafkaPod(t, r, ns)
	r.wire.instead = func(req *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, "/"+p.Name) {
			return nil, nil //nolint:nilnil // it goes on
		}
		return refusal(http.MethodPatch, 403, metav1.StatusReasonForbidden,
			`pods "p" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: frozen`)(req)
	}
	if got := r.ask(t, asks(ns, p.Name)); !strings.HasPrefix(got, "500 ") {
		t.Errorf("got %s", got)
	}
	if diff := cmp.Diff(stays, r.ask(t, asks(ns, q.Name))); diff != "" {
		t.Errorf("another pod of the namespace (-want +got):\n%s", diff)
	}
}

// The answer comes while the API server still waits for it, whatever the API server
// does about the pod.
func TestErrors_theAnswerComesBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	ns := e.Namespace(t)
	for _, method := range []string{http.MethodGet, http.MethodPatch} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, e)
			p := kafkaPod(t, r, ns)
			r.wire.instead = func(req *http.Request) (*http.Response, error) {
				if req.Method != method {
					return nil, nil //nolint:nilnil // it goes on
				}
				if _, ok := req.Context().Deadline(); !ok {
					t.Error("the question to the API server has no deadline")
				}
				<-req.Context().Done() // no answer ever comes
				return nil, req.Context().Err()
			}
			resp, text := r.post(t, strings.NewReader(asks(ns, p.Name)), "?timeout=600ms")
			if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(text, context.DeadlineExceeded.Error()) {
				t.Errorf("got %s: %s", resp.Status, text)
			}
		})
	}
}

func TestErrors_patience(t *testing.T) {
	for timeout, want := range map[string]time.Duration{
		"10s": 9750 * time.Millisecond, "1s": 750 * time.Millisecond, "100ms": 50 * time.Millisecond,
		"": 4750 * time.Millisecond, "soon": 4750 * time.Millisecond, "0s": 4750 * time.Millisecond, "-1s": 4750 * time.Millisecond,
	} {
		if got := patience(timeout); got != want {
			t.Errorf("%q: got %s, want %s", timeout, got, want)
		}
	}
}

// The configuration can bound each question more tightly than the API server does.
func TestErrors_theConfiguredTimeoutBoundsEachQuestion(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	p := kafkaPod(t, r, e.Namespace(t))
	r.set.config.RequestTimeout.Duration = time.Millisecond
	r.wire.instead = func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	resp, text := r.post(t, strings.NewReader(asks(p.Namespace, p.Name)), "?timeout=1h")
	if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(text, context.DeadlineExceeded.Error()) {
		t.Errorf("got %s: %s", resp.Status, text)
	}
}

// A replica that does not know the policies yet cannot judge.
func TestErrors_aReplicaThatIsNotReady(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	r := newRig(t, e)
	r.ready = func() error { return context.Canceled }
	if got := r.ask(t, asks("default", "p")); !strings.HasPrefix(got, "503 ") {
		t.Errorf("got %s", got)
	}
	r.watched(t, "another")
	if diff := cmp.Diff(passes, r.ask(t, asks("default", "p"))); diff != "" {
		t.Errorf("what is out of scope needs no policies (-want +got):\n%s", diff)
	}
	if gets, _ := r.wire.calls(); gets != 0 {
		t.Errorf("got %d GETs, want none", gets)
	}
}
