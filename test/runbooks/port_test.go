// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package runbooks

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/page"
	"github.com/holdfast-dev/holdfast/internal/testkit/pki"
)

// forged is a review that no API server has sent.
func forged(request string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"forged","userInfo":{"username":"kubernetes-admin","groups":["system:masters"]},` + request + `}}`
}

func eviction(ns, pod string) string {
	return forged(`"operation":"CREATE","kind":{"group":"policy","version":"v1","kind":"Eviction"},"resource":{"group":"","version":"v1","resource":"pods"},"subResource":"eviction",` +
		`"name":"` + pod + `","namespace":"` + ns + `","object":{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"` + pod + `","namespace":"` + ns + `"}}`)
}

// post posts as a stranger does, who has no certificate and checks none.
func (b *book) post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+b.webhooks+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	stranger := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := stranger.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// pod makes one that never runs, and returns how to look at it again.
func (b *book) pod(t *testing.T, ns, name, labels string) func() *corev1.Pod {
	t.Helper()
	b.done(t, "wait", "--for=create", "serviceaccount/default", "-n", ns, "--timeout=180s")
	b.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: `+name+`, labels: {`+labels+`}}, spec: {containers: [{name: c, image: none}]}}`)
	return func() *corev1.Pod {
		var p corev1.Pod
		if err := b.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, &p); err != nil {
			t.Fatal(err)
		}
		return &p
	}
}

func webhookPort(t *testing.T, b *book, p *page.Page) {
	t.Helper()
	const rolled = "strimzi.io/manual-rolling-update"
	b.start(t)
	ns := b.kept(t)
	broker := b.pod(t, ns, "a-kafka-0", "strimzi.io/kind: Kafka, strimzi.io/name: a-kafka")
	other := b.pod(t, ns, "b", "app: b")
	before := other().ResourceVersion

	// Evictions: the one that has an effect.
	for _, name := range []string{"a-kafka-0", "b", "missing"} {
		if code, said := b.post(t, "/drainer?timeout=5s", eviction(ns, name)); code != http.StatusOK {
			t.Errorf("the eviction of %s: %d %s", name, code, said)
		}
	}
	if got := broker(); got.Annotations[rolled] != "true" || got.DeletionTimestamp != nil || len(got.Annotations) != 1 {
		t.Errorf("the page says that a forged eviction annotates what matches, and nothing else: %v", got.ObjectMeta)
	}
	if got := other(); got.ResourceVersion != before {
		t.Errorf("a pod that no rule matches was written to: %v", got.ObjectMeta)
	}

	// The deletion of a namespace: names for an answer, and the namespace stays.
	for uid, knows := range map[string]bool{"": false, b.done(t, "get", "namespace", ns, "-o", "jsonpath={.metadata.uid}"): true} {
		code, said := b.post(t, "/confirm-deletion", forged(`"operation":"DELETE","kind":{"group":"","version":"v1","kind":"Namespace"},"resource":{"group":"","version":"v1","resource":"namespaces"},`+
			`"name":"`+ns+`","namespace":"`+ns+`","oldObject":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+ns+`","uid":"`+uid+`"}},"options":{"apiVersion":"meta.k8s.io/v1","kind":"DeleteOptions"}`))
		if code != http.StatusOK || strings.Contains(said, "configmaps/kept") != knows {
			t.Errorf("the deletion of a namespace: %d %s", code, said)
		}
	}
	b.isGuarded(t, ns)

	// A configuration: an answer, and the one in force stays.
	if code, said := b.post(t, "/validate-config", forged(`"operation":"UPDATE","kind":{"group":"","version":"v1","kind":"ConfigMap"},"resource":{"group":"","version":"v1","resource":"configmaps"},`+
		`"name":"holdfast","namespace":"holdfast-system","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"holdfast","namespace":"holdfast-system"},"data":{}},`+
		`"oldObject":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"holdfast","namespace":"holdfast-system"}}`)); code != http.StatusOK {
		t.Errorf("a configuration: %d %s", code, said)
	}
	if code, said := b.post(t, "/audit", `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[]}`); code != http.StatusUnauthorized {
		t.Errorf("audit events: %d %s", code, said)
	}
	b.isGuarded(t, ns)

	b.applyNetworkPolicy(t)
	r := b.with("CONTROL_PLANE=10.0.0.0/28")
	r.Does(t, p, do)
	r.Does(t, p, isOver)
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, pki.NewAuthority(t, "clients").PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	b.with("AUTHORITY="+authority).Does(t, p, "Ask clients for a certificate")
	if got := broker(); got.Annotations[rolled] != "" {
		t.Errorf("the annotation is still there: %v", got.Annotations)
	}
}

// applyNetworkPolicy applies that of the manifests. Nothing here enforces it.
func (b *book) applyNetworkPolicy(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(root + "/config/workloads/guard.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for manifest := range strings.SplitSeq(string(text), "\n---\n") {
		if strings.Contains(manifest, "kind: NetworkPolicy") {
			b.Apply(t, "holdfast-system", manifest)
			return
		}
	}
	t.Fatal("the manifests have no NetworkPolicy")
}
