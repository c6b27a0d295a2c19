// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
