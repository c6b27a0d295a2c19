// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOnFreePort(t *testing.T) {
	t.Parallel()
	taken := &componentError{component: etcd, ended: "exit status 1", tail: "listen tcp 127.0.0.1:20001: bind: address already in use"}
	other := &componentError{component: etcd, ended: "exit status 1", tail: "unknown flag"}
	slow := &componentError{component: etcd, tail: taken.tail}
	tests := []struct {
		name       string
		results    []error // of one start after the other
		wantStarts int
		wantErr    error
	}{
		{name: "a start that works is not repeated", results: []error{nil}, wantStarts: 1},
		{name: "a taken port is exchanged", results: []error{taken, nil}, wantStarts: 2},
		{name: "a machine whose ports are all taken is given up", results: []error{taken, taken, taken}, wantStarts: 3, wantErr: taken},
		{name: "what still runs is not started twice", results: []error{slow}, wantStarts: 1, wantErr: slow},
		{name: "another failure is not repeated", results: []error{other}, wantStarts: 1, wantErr: other},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &supervisor{progress: log.New(io.Discard, "", 0)}
			port, starts, used := 1, 0, map[int]bool{}
			err := s.onFreePort(&port, func() error {
				used[port] = true
				starts++
				return tt.results[starts-1]
			})
			if !errors.Is(err, tt.wantErr) {
				t.Errorf("error = %v, want %v", err, tt.wantErr)
			}
			if starts != tt.wantStarts || len(used) != tt.wantStarts {
				t.Errorf("started %d times on the ports %v, want %d times on different ones", starts, used, tt.wantStarts)
			}
		})
	}
}

func TestChoosePorts_keepsRememberedPortsThatAreFree(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ports.json")
	first, err := choosePorts(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.save(file); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", address(first.Etcd))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	second, err := choosePorts(file)
	if err != nil {
		t.Fatal(err)
	}
	if second.APIServer != first.APIServer {
		t.Errorf("the free port %d became %d", first.APIServer, second.APIServer)
	}
	if second.Etcd == first.Etcd {
		t.Errorf("the taken port %d was kept", first.Etcd)
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, want string
	}{
		{name: "a short text is shown whole", text: "a\nb\n", want: "a\nb"},
		{name: "a long text loses its beginning", text: "a\nb\nc\nd\n", want: "b\nc\nd"},
		{name: "an unfinished line counts", text: "a\nb\nc\nd", want: "b\nc\nd"},
		{name: "nothing stays nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, lastLines(tt.text, 3)); diff != "" {
				t.Errorf("last lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestComponentEnv_hidesWhatEtcdTakesForFlags(t *testing.T) {
	t.Parallel()
	got := componentEnv([]string{"PATH=/bin", "ETCD_DATA_DIR=/elsewhere", "HOME=/root"})
	if diff := cmp.Diff([]string{"PATH=/bin", "HOME=/root"}, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestOpenClusterDir(t *testing.T) {
	t.Parallel()

	t.Run("a folder with something else in it is refused, so that nothing foreign is ever removed", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "thesis.txt"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openClusterDir(path, true); err == nil || !strings.Contains(err.Error(), "other files") {
			t.Errorf("error = %v, want one about other files", err)
		}
	})

	t.Run("a second cluster in the same folder is refused until the first is gone", func(t *testing.T) {
		t.Parallel()
		path := t.TempDir()
		first, err := openClusterDir(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openClusterDir(path, false); err == nil || !strings.Contains(err.Error(), "another cluster") {
			t.Errorf("error = %v, want one about another cluster", err)
		}
		if err := first.close(); err != nil {
			t.Fatal(err)
		}
		again, err := openClusterDir(path, true)
		if err != nil {
			t.Fatalf("take up a kept folder: %v", err)
		}
		if err := again.close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the ephemeral folder is still there: %v", err)
		}
	})
}
