// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
)

// afterwards does something once between the first answer of some code and its arrival.
type afterwards struct {
	http.RoundTripper
	code int
	do   func()
	once sync.Once
}

func (a *afterwards) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(req)
	if err == nil && resp.StatusCode == a.code && req.Method == http.MethodPatch {
		a.once.Do(a.do)
	}
	return resp, err
}

// That the namespace has appeared may be told before the answer that it is missing has
// arrived: nobody tells it again.
func TestEngine_aMissingNamespaceAppearsBeforeTheAnswerArrives(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var e *engine
	e = r.start("missing-late", func(o *apply.Options) {
		config := rest.CopyConfig(r.e.Config)
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return &afterwards{RoundTripper: rt, code: http.StatusNotFound, do: func() {
				r.e.Apply(t, "", namespace("missing-late"))
				e.ObserveNamespace("missing-late")
			}}
		})
		o.Client = must(dynamic.NewForConfig(config))(t)
	})
	e.hears(false) // of nothing but what it is told above
	t.Cleanup(func() {
		_ = r.e.Client.Delete(context.WithoutCancel(t.Context()), named("v1/Namespace", "", "missing-late"))
	})
	e.Set(timed(declared(t, configMap("missing-late", "a", "v")), "c1", "30s"))
	r.Eventually(func() bool { return r.get("v1/ConfigMap", "missing-late", "a") != nil }, patience, often).Should(gomega.BeTrue())
}

// What is answered about something that is declared no longer says nothing about it.
func TestEngine_whatWaitsIsDeclaredNoLongerBeforeTheAnswerArrives(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var e *engine
	e = r.start("missing-dropped", func(o *apply.Options) {
		config := rest.CopyConfig(r.e.Config)
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return &afterwards{RoundTripper: rt, code: http.StatusNotFound, do: func() {
				e.Set(timed(nil, "c2", "30s"))
				r.Eventually(func() string { return e.State().Version.Commit }, patience, often).Should(gomega.Equal("c2"))
			}}
		})
		o.Client = must(dynamic.NewForConfig(config))(t)
	})
	e.Set(timed(declared(t, configMap("missing-dropped", "a", "v")), "c1", "30s"))
	if errors := errorsOf(e.settled("c2")); len(errors) > 0 {
		t.Errorf("got %v", errors)
	}
	r.Eventually(e.inventory, patience, often).Should(gomega.BeEmpty())
}
