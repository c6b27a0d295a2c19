// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
)

// FuzzWebhooks posts whatever comes to every webhook: none panics, each answers, and
// what is refused says why.
func FuzzWebhooks(f *testing.F) {
	const secretWith = `{"kind":"Secret","metadata":{"name":"x","annotations":{"propagate.hnc.x-k8s.io/treeSelect":"`
	for _, seed := range [][4]string{
		{"CREATE", "a", secretWith + `a,"}}}`, ``},
		{"UPDATE", "a", secretWith + ` "}}}`, secretWith + `!"}}}`},
		{"CREATE", "b", `{"spec":{"parent":"a","labels":[{"key":"team","value":"x"}]}}`, ``},
		{"UPDATE", "b", `{"metadata":{"ownerReferences":[{"uid":"1"}]},"spec":{"parent":"q"}}`, `{"spec":null}`},
		{"DELETE", "b", ``, `{"metadata":{"name":"b","annotations":{"hnc.x-k8s.io/subnamespace-of":"a"}}}`},
		{"UPDATE", "", `{"metadata":{"name":"config"},"spec":{"resources":[{"resource":"Secret"},{"resource":""}],"excludedNamespaces":["re:("]}}`, `{}`},
		{"UPDATE", "x", `{"metadata":{"name":"x","labels":{"a.tree.hnc.x-k8s.io/depth":"1"}}}`, `{"metadata":{"labels":null}}`},
		{"CONNECT", "", `null`, `[]`},
		{"CREATE", "a", `{"metadata":{"labels":{"hnc.x-k8s.io/inherited-from":1}},"type":{},"data":1e400}`, `{"metadata":0}`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], "Secret")
	}
	r := newRig(f, "a <- *b <- c, ~e, ?z <- o, p <- q <- p, -d, !x", "a", "c:!b")
	r.may, r.others = []string{"a"}, sources(hncv1alpha2.ModePropagate, "a", "b")
	all := r.webhooks(f)
	f.Fuzz(func(t *testing.T, op, namespace, object, before, kind string) {
		body := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":%s,"namespace":%s,`+
			`"kind":{"group":"","version":"v1","kind":%s},"userInfo":{"username":"ann"}`, strconv.Quote(op), strconv.Quote(namespace), strconv.Quote(kind))
		if object != "" {
			body += `,"object":` + object
		}
		if before != "" {
			body += `,"oldObject":` + before
		}
		for _, w := range all {
			answered(t, w, body+"}}")
		}
		r.mu.Lock()
		r.asked, r.read = nil, nil
		r.mu.Unlock()
	})
}

func answered(t *testing.T, w admission.Webhook, body string) {
	t.Helper()
	response, _ := call(t.Context(), t, w.Handler, []byte(body))
	if response == nil || response.Allowed {
		return
	}
	switch d := response.Result; {
	case d == nil || d.Code < 400 || d.Message == "":
		t.Errorf("%s refuses without saying why: %+v", w.Name, d)
	case strings.HasPrefix(d.Message, "panic: "):
		t.Errorf("%s: %s", w.Name, d.Message)
	}
}
