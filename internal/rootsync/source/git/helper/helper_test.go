// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnswerTo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, prompt, want string
		ok                 bool
	}{
		{"the user name", "Username for 'https://git.example.com': ", "u", true},
		{"the password, once the user name is known", "Password for 'https://u@git.example.com': ", "p", true},
		{"another host, to which the server has sent git on", "Password for 'https://u@evil.example.com': ", "", false},
		{"another port", "Password for 'https://u@git.example.com:8443': ", "", false},
		{"the same host without encryption", "Password for 'http://u@git.example.com': ", "", false},
		{"a host that pretends to be the user", "Password for 'https://git.example.com@evil.example.com': ", "", false},
		{"another question", "Enter the passphrase for 'https://git.example.com': ", "", false},
		{"no question", "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := answerTo(tt.prompt, "https://git.example.com", "u", "p")
			if got != tt.want || ok != tt.ok {
				t.Errorf("got %q, %t", got, ok)
			}
		})
	}
}

func TestParseArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want destination
		fail bool
	}{
		{"a host", []string{"git@example.com", "git-upload-pack '/r'"}, destination{"git", "example.com:22", "git-upload-pack '/r'"}, false},
		{"a port and the newer protocol", []string{"-o", "SendEnv=GIT_PROTOCOL", "-p", "2222", "me@example.com", "c"}, destination{"me", "example.com:2222", "c"}, false},
		{"a host without a user", []string{"example.com", "c"}, destination{"git", "example.com:22", "c"}, false},
		{"an address of IPv6", []string{"git@[::1]", "c"}, destination{"git", "[::1]:22", "c"}, false},
		{"an option that git does not give", []string{"-F", "file", "example.com", "c"}, destination{}, true},
		{"no command", []string{"example.com"}, destination{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseArgs(tt.args)
			if (err != nil) != tt.fail {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(destination{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
