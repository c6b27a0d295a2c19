// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// A client of the webhook port sends what no API server sends. It gets an error and no other information, and the API server
// gets its answers meanwhile.
func TestMeet_portAndReviews(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{empty}") + ns("{shop}") + protectedCM)
	r.reviewed()
	uid := r.Run("get ns {shop} -o jsonpath={.metadata.uid}").Stdout
	shop := r.Long("{shop}")
	namespace := forgedDelete("namespaces", "Namespace", shop, uid, "{}")
	review := func(request string) string {
		return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"forged","operation":"DELETE",` + request + `}}`
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write([]byte(review(namespace)))
	r.Expect(err).NotTo(gomega.HaveOccurred())
	r.Expect(z.Close()).To(gomega.Succeed())
	paths := []string{"/confirm-deletion", "/marks", "/validate-objects", "/drainer", "/validate-hnc-x-k8s-io-v1alpha2-subnamespaceanchors"}
	for _, tt := range []struct {
		name, body string
		header     http.Header
	}{
		{name: "56: no request", body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`},
		{name: "57: null", body: `null`},
		{name: "58: a gzip body", body: zipped.String(), header: http.Header{"Content-Encoding": {"gzip"}}},
		{name: "59: an object that is nested 100,000 times", body: review(`"name":"x","oldObject":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000))},
		{name: "60: another version", body: strings.Replace(review(`"name":"x"`), "k8s.io/v1", "k8s.io/v9", 1)},
		{name: "61: an object of another type", body: review(`"name":"x","oldObject":[1,2,3],"resource":{"resource":"namespaces","version":"v1"}`)},
		{name: "62: a list where the request is", body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":[]}`},
	} {
		for _, path := range paths {
			code, text := r.send(path, tt.body, tt.header)
			broken := code >= http.StatusInternalServerError && !strings.Contains(text, "has no request") // /drainer answers so, as the Drain Cleaner
			if strings.Contains(text, "configmaps/kept") || strings.Contains(text, "panic") || strings.Contains(text, "goroutine") || broken {
				t.Errorf("%s: %s: got %d %s", tt.name, path, code, text)
			}
		}
	}
	for name, request := range map[string]string{
		"63: the UID of an earlier key":       strings.Replace(namespace, `"uid":"`+uid+`"`, `"uid":"`+uid+`","uid":"x"`, 1),
		"64: another resource, with that UID": strings.Replace(forgedDelete("namespaces", "Namespace", shop, uid, "{}"), `"resource":"namespaces"`, `"resource":"pods"`, 1),
		"65: an update":                       namespace + `,"operation":"UPDATE"`,
		"66: a subresource":                   namespace + `,"subResource":"finalize"`,
	} {
		if _, text := r.send("/confirm-deletion", review(request), nil); strings.Contains(text, "configmaps/kept") {
			t.Errorf("%s: got %s", name, text)
		}
	}
	// 67: what a query says of timeouts does not count.
	for _, query := range []string{"?timeout=0s", "?timeout=-1s", "?timeout=999h", "?timeout=x", "?dryRun=All", "?%zz"} {
		if code, text := r.send("/confirm-deletion"+query, review(namespace), nil); code == http.StatusOK && !strings.Contains(text, `"allowed":false`) {
			t.Errorf("67: %s: got %d %s", query, code, text)
		}
	}
	r.reviewed()
}

// 68, 69: a client sends many requests on each of many connections before the first is answered, so that all of them are at
// work. The API server is answered meanwhile.
func TestMeet_busyConnections(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.Apply(ns("{empty}") + ns("{shop}") + protectedCM)
	r.reviewed()
	body := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"forged","operation":"DELETE",` +
		forgedDelete("namespaces", "Namespace", r.Long("{shop}"), r.Run("get ns {shop} -o jsonpath={.metadata.uid}").Stdout, "{}") + `}}`
	var group sync.WaitGroup
	for range 60 {
		group.Go(func() {
			c := tls.Client(stranger(t, r.Manager.Webhooks), &tls.Config{InsecureSkipVerify: true})
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(60 * time.Second))
			request := fmt.Sprintf("POST /confirm-deletion?timeout=1s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			go func() { _, _ = io.WriteString(c, strings.Repeat(request, 20)) }() // until the server has left
			in := bufio.NewReader(c)
			for range 20 {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					return // it may prefer others
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	for range 5 {
		r.reviewed()
		r.Expect(r.Metric(t, "holdfast_webhook_connections")).To(gomega.BeNumerically("<=", 1024))
	}
	group.Wait()
	r.Eventually(func() string { return r.Run("delete namespace {empty} --dry-run=server").Stderr }, story.Patience, story.Slower).Should(gomega.BeEmpty())
}
