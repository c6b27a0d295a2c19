// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseExtensionOptions(t *testing.T) {
	t.Parallel()
	const required = "--dir, --group and --service NAMESPACE/NAME are required"
	tests := []struct {
		name    string
		args    []string
		want    extensionOptions
		wantErr string
	}{
		{
			name: "admission is off unless it is asked for",
			args: []string{"--dir", "d", "--group", "a.example.org", "--service", "default/a"},
			want: extensionOptions{dir: "d", group: "a.example.org", service: "default/a"},
		},
		{
			name: "admission is on when it is asked for",
			args: []string{"--dir", "d", "--group", "a.example.org", "--service", "default/a", "--admission"},
			want: extensionOptions{dir: "d", group: "a.example.org", service: "default/a", admission: true},
		},
		{
			name:    "a service without a namespace is refused",
			args:    []string{"--dir", "d", "--group", "a.example.org", "--service", "a"},
			wantErr: required,
		},
		{
			name:    "a server without a cluster is refused",
			args:    []string{"--group", "a.example.org", "--service", "default/a"},
			wantErr: required,
		},
		{
			name:    "a stray argument is refused",
			args:    []string{"--dir", "d", "now"},
			wantErr: `unexpected argument "now"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseExtensionOptions(tt.args)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("error = %v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(extensionOptions{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServerName_isTheOneThatTheAPIServerExpectsOfAService(t *testing.T) {
	t.Parallel()
	got := extensionOptions{service: "shop/flunders"}.serverName()
	if want := "flunders.shop.svc"; got != want {
		t.Errorf("server name = %q, want %q", got, want)
	}
}

func TestRunExtension_needsAFolderThatAClusterRanIn(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	err := runExtension(t.Context(), extensionOptions{dir: t.TempDir(), group: "a.example.org", service: "default/a"}, &stdout)
	if err == nil || !strings.Contains(err.Error(), "remembered ports") {
		t.Errorf("error = %v, want one about the ports of the cluster", err)
	}
	if stdout.Len() > 0 {
		t.Errorf("it said that it is ready: %s", stdout.String())
	}
}
