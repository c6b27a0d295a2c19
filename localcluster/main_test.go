// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDispatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		args     []string
		wantName string
		wantArgs []string
	}{
		{
			name:     "a link named kubectl is kubectl, with its arguments untouched",
			args:     []string{"/some/bin/kubectl", "etcd", "get"},
			wantName: "kubectl",
			wantArgs: []string{"/some/bin/kubectl", "etcd", "get"},
		},
		{
			name:     "the first argument names a component, and the component does not see it as an argument",
			args:     []string{"localcluster", "kube-apiserver", "--v=2"},
			wantName: "kube-apiserver",
			wantArgs: []string{"kube-apiserver", "--v=2"},
		},
		{
			name:     "a command of the binary itself is dispatched like a component",
			args:     []string{"localcluster", "run", "--dir", "x"},
			wantName: "run",
			wantArgs: []string{"run", "--dir", "x"},
		},
		{
			name: "no argument is no role",
			args: []string{"localcluster"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name, args := dispatch(tt.args)
			if name != tt.wantName {
				t.Errorf("role = %q, want %q", name, tt.wantName)
			}
			if diff := cmp.Diff(tt.wantArgs, args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		args    []string
		want    func(*options)
		wantErr string
	}{
		{
			name: "a component's flag is taken whole, although it looks like a flag of the command",
			args: []string{"--dir", "d", "--apiserver-arg", "--v=4", "--apiserver-arg=--profiling=false"},
			want: func(o *options) {
				o.dir = "d"
				o.apiServerArgs = []string{"--v=4", "--profiling=false"}
			},
		},
		{
			name: "a value with a comma stays one value",
			args: []string{"--ephemeral", "--controller-manager-arg", "--controllers=*,-ttl-controller"},
			want: func(o *options) {
				o.ephemeral = true
				o.controllerManagerArgs = []string{"--controllers=*,-ttl-controller"}
			},
		},
		{
			name:    "a cluster that is neither kept anywhere nor ephemeral is refused",
			args:    []string{"--until-eof"},
			wantErr: "--dir or --ephemeral is required",
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
			got, err := parseOptions(tt.args)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("error = %v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := options{timeout: got.timeout}
			tt.want(&want)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestComponentArgs(t *testing.T) {
	t.Parallel()
	l, p := layout{"/cluster"}, ports{Etcd: 20001, APIServer: 20002}
	o := options{
		featureGates:          []string{"A=true", "B=false"},
		runtimeConfig:         []string{"x/v1alpha1=true"},
		apiServerArgs:         []string{"--authorization-mode=AlwaysAllow"},
		controllerManagerArgs: []string{"--v=5"},
	}
	tests := []struct {
		name string
		args []string
		want []string // in this order
	}{
		{
			name: "etcd listens where the API server looks for it, and for its certificate only",
			args: etcdArgs(l, p),
			want: []string{"--listen-client-urls=https://127.0.0.1:20001", "--client-cert-auth"},
		},
		{
			name: "what the user asks of the API server comes after the defaults and so overrides them",
			args: apiServerArgs(l, p, o),
			want: []string{
				"--etcd-servers=https://127.0.0.1:20001", "--secure-port=20002", "--authorization-mode=RBAC",
				"--feature-gates=A=true,B=false", "--runtime-config=x/v1alpha1=true", "--authorization-mode=AlwaysAllow",
			},
		},
		{
			name: "an extension API server can tell the API server from others that name users",
			args: apiServerArgs(l, p, o),
			want: []string{
				"--proxy-client-cert-file=/cluster/pki/front-proxy/client.crt", "--requestheader-client-ca-file=/cluster/pki/front-proxy/ca.crt",
				"--requestheader-allowed-names=front-proxy-client",
			},
		},
		{
			name: "the controller manager gets the same feature gates",
			args: controllerManagerArgs(l, o),
			want: []string{"--kubeconfig=/cluster/controller-manager.kubeconfig", "--feature-gates=A=true,B=false", "--v=5"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rest := tt.args
			for _, want := range tt.want {
				i := slices.Index(rest, want)
				if i < 0 {
					t.Fatalf("%s is missing or out of order in %q", want, tt.args)
				}
				rest = rest[i+1:]
			}
		})
	}
}
