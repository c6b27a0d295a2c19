// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	secrets := func(name string, pairs ...string) Secrets {
		data := map[string][]byte{}
		for i := 0; i < len(pairs); i += 2 {
			data[pairs[i]] = []byte(pairs[i+1])
		}
		return Secrets{name: data}
	}
	tests := []struct {
		name    string
		source  Source
		secrets Secrets
		want    Credentials
		refused string
	}{
		{"none", Source{Type: "git", Auth: "none", Proxy: "p"}, nil, Credentials{Proxy: "p"}, ""},
		{"a key", Source{Type: "git", Auth: "ssh", Secret: "s"}, secrets("s", "ssh", "k"), Credentials{SSHKey: "k"}, ""},
		{
			"a key and hosts", Source{Type: "git", Auth: "ssh", Secret: "s"}, secrets("s", "ssh", "k", "known_hosts", "h", "token", "t"),
			Credentials{SSHKey: "k", KnownHosts: "h"}, "",
		},
		{
			"no key", Source{Type: "git", Auth: "ssh", Secret: "s"}, secrets("s", "token", "t"), Credentials{},
			`git authType was set as "ssh" but "ssh" key is not present in "s" Secret`,
		},
		{
			"a token", Source{Type: "git", Auth: "token", Secret: "s"}, secrets("s", "token", "t", "username", "u"),
			Credentials{Username: "u", Password: "t"}, "",
		},
		{
			"a token and a proxy", Source{Type: "git", Auth: "token", Secret: "s"}, secrets("s", "token", "t", "username", "u", "https_proxy", "p"),
			Credentials{Username: "u", Password: "t", Proxy: "p"}, "",
		},
		{
			"no token", Source{Type: "git", Auth: "token", Secret: "s"}, secrets("s", "token", ""), Credentials{},
			`git authType was set as "token" but "token" key is not present in "s" Secret`,
		},
		{
			"no user", Source{Type: "git", Auth: "token", Secret: "s"}, secrets("s", "token", "t"), Credentials{},
			`git authType was set as "token" but "username" key is not present in "s" Secret`,
		},
		{
			"a password of a registry", Source{Type: "oci", Auth: "token", Secret: "s"}, secrets("s", "password", "p", "username", "u", "https_proxy", "p"),
			Credentials{Username: "u", Password: "p"}, "",
		},
		{
			"no password of a registry", Source{Type: "oci", Auth: "token", Secret: "s"}, secrets("s", "username", "u", "token", "t"), Credentials{},
			`oci authType was set as "token" but "password" key is not present in "s" Secret`,
		},
		{
			"no Secret", Source{Type: "git", Auth: "ssh", Secret: "s"}, secrets("other"), Credentials{},
			"Secret s not found: create one to allow client authentication",
		},
		{"an authority", Source{Type: "git", Auth: "none", CASecret: "c"}, secrets("c", "cert", "PEM"), Credentials{CA: "PEM"}, ""},
		{
			"no authority", Source{Type: "git", Auth: "none", CASecret: "c"}, secrets("c", "ca.crt", "PEM"), Credentials{},
			`caCertSecretRef was set, but "cert" key is not present in "c" Secret`,
		},
		{
			"no Secret of an authority", Source{Type: "git", Auth: "none", CASecret: "c"}, nil, Credentials{},
			"Secret c not found: create one to allow client authentication",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.source.Credentials(tt.secrets)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.refused != "" {
				refused(t, err, tt.refused)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSource_Secrets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source Source
		want   []string
	}{
		{Source{}, []string{}},
		{Source{Secret: "b", CASecret: "a"}, []string{"a", "b"}},
		{Source{Secret: "a", CASecret: "a"}, []string{"a"}},
	} {
		if diff := cmp.Diff(tt.want, tt.source.Secrets()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.source, diff)
		}
	}
}
