// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit/pki"
)

// file is one of authorities.
func file(t *testing.T, authorities ...*pki.Authority) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.crt")
	rewrite(t, path, authorities...)
	return path
}

func rewrite(t *testing.T, path string, authorities ...*pki.Authority) {
	t.Helper()
	var text []byte
	for _, a := range authorities {
		text = append(text, a.PEM...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// again has the file read at the next look.
func (r *rig) again() {
	c := r.Server.clients
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readAt = time.Time{}
}

func (r *rig) answers(t *testing.T, c *http.Client) bool {
	t.Helper()
	resp, _, err := r.post(c, "/echo", strings.NewReader("x"))
	return err == nil && resp.StatusCode == http.StatusOK
}

func TestClients(t *testing.T) {
	t.Parallel()
	good, bad := pki.NewAuthority(t, "clients"), pki.NewAuthority(t, "others")
	for _, tt := range []struct {
		name  string
		names []string
		has   *tls.Certificate
		want  bool
	}{
		{name: "no certificate"},
		{name: "one of another authority", has: new(bad.Issue(t, "api"))},
		{name: "one of the authority", has: new(good.Issue(t, "api")), want: true},
		{name: "one with a name that counts", names: []string{"other", "api"}, has: new(good.Issue(t, "api")), want: true},
		{name: "one with another name", names: []string{"api"}, has: new(good.Issue(t, "kubelet"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, production(), configv1alpha1.WebhookClients{CAFile: file(t, good), CommonNames: tt.names}, map[string]http.Handler{"/echo": echo})
			c := r.client(tt.has)
			for range 2 { // the second on the connection of the first
				if got := r.answers(t, c); got != tt.want {
					t.Errorf("answered: %t", got)
				}
			}
		})
	}
}

// What changes holds for connections that are open as well.
func TestClients_changeWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	first, second := pki.NewAuthority(t, "first"), pki.NewAuthority(t, "second")
	r := start(t, production(), anybody, map[string]http.Handler{"/echo": echo})
	stranger, old, current := r.client(nil), r.client(new(first.Issue(t, "api"))), r.client(new(second.Issue(t, "api")))
	expect := func(when string, strangers, olds, currents bool) {
		t.Helper()
		for _, tt := range []struct {
			who  string
			c    *http.Client
			want bool
		}{{"a stranger", stranger, strangers}, {"the old client", old, olds}, {"the new client", current, currents}} {
			if got := r.answers(t, tt.c); got != tt.want {
				t.Errorf("%s: %s is answered: %t", when, tt.who, got)
			}
		}
	}
	expect("without a file", true, true, true)

	path := file(t, first)
	r.clients.Store(&configv1alpha1.WebhookClients{CAFile: path})
	expect("with a file", false, true, false)
	rewrite(t, path, first, second)
	r.again()
	expect("in a rotation", false, true, true)
	rewrite(t, path, second)
	r.again()
	expect("after it", false, false, true)
	r.clients.Store(&configv1alpha1.WebhookClients{CAFile: path, CommonNames: []string{"other"}})
	expect("with another name", false, false, false)
	r.clients.Store(&configv1alpha1.WebhookClients{CAFile: path})
	expect("with the name again", false, false, true)

	for name, breaks := range map[string]func(){
		"an empty file": func() { rewrite(t, path) },
		"no file":       func() { _ = os.Remove(path) },
		"another file that is not there": func() {
			r.clients.Store(&configv1alpha1.WebhookClients{CAFile: path + ".new"})
		},
	} {
		breaks()
		r.again()
		expect(name, false, false, true)
		if err := r.CheckClients(); err == nil || !strings.Contains(err.Error(), "admission.webhookClients.caFile") {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.clients.Store(&configv1alpha1.WebhookClients{})
	expect("without a file again", true, true, true)
	if err := r.CheckClients(); err != nil {
		t.Error(err)
	}
}

// A file that cannot be read when the configuration first names it changes nothing in a server that runs. A server that
// starts does not start.
func TestClients_aFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	missing := configv1alpha1.WebhookClients{CAFile: filepath.Join(t.TempDir(), "ca.crt")}
	r := start(t, production(), anybody, map[string]http.Handler{"/echo": echo})
	r.clients.Store(&missing)
	if !r.answers(t, r.client(nil)) || r.CheckClients() == nil {
		t.Error("a rollout that has not reached this replica stops it")
	}
	s := NewServer(Options{Host: "127.0.0.1", Clients: func() configv1alpha1.WebhookClients { return missing }})
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "read admission.webhookClients.caFile") {
		t.Errorf("got %v", err)
	}
}
