// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
	"github.com/holdfast-dev/holdfast/internal/testkit/pki"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// An API server that has a certificate is the only client that is answered.
func TestClientCertificates_onlyTheAPIServerIsAnswered(t *testing.T) {
	t.Parallel()
	dir, address := t.TempDir(), loopback.FreeAddress(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(file(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	authority, other := pki.NewAuthority(t, "clients"), pki.NewAuthority(t, "others")
	pki.Files(t, authority.Issue(t, "kube-apiserver"), file("client.crt"), file("client.key"))
	write("ca.crt", authority.PEM)
	// As docs/runbooks/webhook-port.md has it, but for the paths and the address.
	runbook := page.Read(t, "docs/runbooks/webhook-port.md")
	for name, section := range map[string]string{"admission.yaml": "The admission configuration", "webhooks.kubeconfig": "The kubeconfig"} {
		text := runbook.YAML(t, section)
		text = strings.ReplaceAll(text, "/etc/kubernetes/holdfast", dir)
		write(name, []byte(strings.ReplaceAll(text, "holdfast-guard.holdfast-system.svc", address)))
	}
	e := testkit.New(t, testkit.Options{
		Cluster:       cluster.Options{APIServerArgs: []string{"--admission-control-config-file=" + file("admission.yaml")}},
		Configuration: "admission: {webhookClients: {caFile: " + file("ca.crt") + ", commonNames: [kube-apiserver]}}\n",
		ManagerArgs:   []string{"--webhook-bind-address", address, "--webhook-url", "https://" + address},
	})
	r := story.On(t, e, "x")
	r.Apply(`
{apiVersion: v1, kind: Namespace, metadata: {name: "{empty}"}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: "{shop}"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: "{shop}", labels: {holdfast.dev/deletion-protected: Always}}}`)
	reviewed := func() {
		r.Eventually(func() string { return r.Run("delete namespace {empty} --dry-run=server").Stderr }, story.Patience, story.Slower).Should(gomega.BeEmpty())
		r.Eventually(func() string { return r.Run("delete namespace {shop} --dry-run=server").Stderr }, story.Patience, story.Slower).Should(gomega.ContainSubstring("configmaps/kept"))
	}
	reviewed()

	answered := func(certificates ...tls.Certificate) error {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}, DisableKeepAlives: true}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, path := range []string{"/confirm-deletion", "/drainer", "/audit", "/none"} {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := c.Do(req); err == nil {
				_ = resp.Body.Close()
				return fmt.Errorf("%s answers %s", path, resp.Status)
			}
		}
		return nil
	}
	r.Expect(answered()).To(gomega.Succeed(), "without a certificate")
	r.Expect(answered(other.Issue(t, "kube-apiserver"))).To(gomega.Succeed(), "of another authority")
	r.Expect(answered(authority.Issue(t, "kubelet"))).To(gomega.Succeed(), "of another name")
	r.Expect(answered(authority.Issue(t, "kube-apiserver"))).NotTo(gomega.Succeed(), "of the API server")

	// The authority is replaced, and the API server has no certificate of the new one.
	write("ca.crt", other.PEM)
	r.Eventually(func() string { return r.Run("delete namespace {empty} --dry-run=server").Stderr }, story.Patience, story.Slower).Should(
		gomega.ContainSubstring("failed calling webhook"))
	write("ca.crt", append(other.PEM, authority.PEM...))
	reviewed()
}
