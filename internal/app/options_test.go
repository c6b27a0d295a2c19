// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/features"
)

func TestOptions_Validate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		mend func(*Options)
		want string
	}{
		{name: "the defaults are good", mend: func(*Options) {}},
		{name: "a file and a ConfigMap at once", mend: func(o *Options) { o.ConfigFile, o.ConfigMap = "a", "b" }, want: "--config and --config-map"},
		{name: "no namespace", mend: func(o *Options) { o.Namespace = "" }, want: "--namespace is empty"},
		{name: "a URL that is not https", mend: func(o *Options) { o.WebhookURL = "http://h" }, want: "--webhook-url"},
		{name: "a URL with a path", mend: func(o *Options) { o.WebhookURL = "https://h/p" }, want: "--webhook-url"},
		{name: "a URL that is good", mend: func(o *Options) { o.WebhookURL = "https://h:9443" }},
		{name: "an address without a port", mend: func(o *Options) { o.WebhookBindAddress = "h" }, want: "--webhook-bind-address"},
		{name: "pauses divided by nothing", mend: func(o *Options) { o.DividePausesBy = 0 }, want: "--divide-pauses-by"},
		{name: "a port that is a name", mend: func(o *Options) { o.WebhookBindAddress = "h:https" }, want: "not a number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := NewOptions()
			tt.mend(o)
			err := o.Validate()
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestOptions_hostsOfTheCertificate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, url string
		want      []string
	}{
		{name: "behind a Service", want: []string{"holdfast-guard.holdfast-system.svc", "holdfast-guard.holdfast-system.svc.cluster.local", "holdfast-guard.holdfast-system"}},
		{name: "behind a URL", url: "https://guard.example.com:9443", want: []string{"guard.example.com"}},
		{name: "behind an address", url: "https://[::1]:9443", want: []string{"::1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := NewOptions()
			o.WebhookURL = tt.url
			if diff := cmp.Diff(tt.want, o.webhookHosts()); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
		})
	}
}

// parsed are options from a command line.
func parsed(t *testing.T, args ...string) *Options {
	t.Helper()
	o, fs := NewOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, set := range o.Flags().FlagSets {
		fs.AddFlagSet(set)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o
}

// The arguments of a Deployment of HNC can stay as they are.
func TestOptions_takeEveryFlagOfHNC(t *testing.T) {
	t.Parallel()
	o := parsed(t, strings.Fields(`--health-probe-bind-address=:8081 --metrics-addr=:8080 --enable-stackdriver=true --enable-leader-election
		--leader-election-id=x --no-webhooks=false --webhooks-only=false --debug-logs --enable-test-log --enable-internal-cert-management
		--cert-restart-on-secret-refresh --max-reconciles=10 --apiserver-qps-throttle=50 --included-namespace-regex=.* --excluded-namespace=kube-system
		--unpropagated-annotation=a --unpropagated-label=b --nopropagation-label=cattle.io/creator=norman --managed-namespace-label=c
		--managed-namespace-annotation=d --enable-hrq=false --hrq-sync-interval=1m --namespace=hnc-system --webhook-server-port=9443
		--suppress-object-tags --kubeconfig=x`)...)
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	err := parsed(t, "--enable-hrq").Validate()
	if err == nil || !strings.Contains(err.Error(), "--enable-hrq") {
		t.Errorf("got %v, want --enable-hrq to be refused", err)
	}
}

func TestLoader_flagsOfHNCGoBeforeTheFileAndBothAreChecked(t *testing.T) {
	t.Parallel()
	gates, err := features.New(gateSpecs, "")
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{options: parsed(t, "--excluded-namespace=a"), gates: gates}
	if err := g.readEnvironment(); err != nil {
		t.Fatal(err)
	}
	c, err := g.loader().Load([]byte(config.Empty + "hierarchy: {excludedNamespaces: [b]}"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, c.Hierarchy.ExcludedNamespaces); diff != "" {
		t.Errorf("excluded (-want +got):\n%s", diff)
	}
	_, err = g.loader().Load([]byte(config.Empty + `hierarchy: {managedLabels: ["("]}`))
	if err == nil || !strings.Contains(err.Error(), "hierarchy.managedLabels[0]") {
		t.Errorf("got %v, want the field", err)
	}
}

// HNC kept itself to 50 requests a second, and needed half a minute to read where
// 1,000 namespaces stand.
func TestWeakPoint17_theClientHasNoLimitOfItsOwn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}], contexts: [{name: a, context: {cluster: a}}]}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rc, err := restConfig(file, name)
	if err != nil {
		t.Fatal(err)
	}
	if rc.QPS >= 0 || rc.RateLimiter != nil {
		t.Errorf("%v requests a second, and %v", rc.QPS, rc.RateLimiter)
	}
}
