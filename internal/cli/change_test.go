// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func testChanger(client *dynamicfake.FakeDynamicClient, ch change) (*changer, *strings.Builder) {
	streams, _, _ := testStreams()
	out := &strings.Builder{}
	streams.Out = out
	return &changer{clients: newClients(streams), changeOptions: newChangeOptions(), change: ch, client: client}, out
}

// A patch that misses the object it was meant for must not hit another one.
func TestChange_sendsTheUID(t *testing.T) {
	t.Parallel()
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	var sent string
	client.PrependReactor("patch", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch, ok := action.(clienttesting.PatchAction)
		if !ok {
			return false, nil, nil
		}
		sent = string(patch.GetPatch())
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("v1")
		o.SetKind("ConfigMap")
		o.SetName("web")
		return true, o, nil
	})
	r, out := testChanger(client, change{of: protectChange("Always")})
	object := labelled("app", "web")
	object.UID = "u-1"
	if failed := r.apply(t.Context(), []target{newTarget(configMapKind, object)}); failed != 0 {
		t.Fatalf("%d failed", failed)
	}
	if diff := cmp.Diff(`{"metadata":{"labels":{"holdfast.dev/deletion-protected":"Always"},"uid":"u-1"}}`, sent); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff("configmap/web protected\n", out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestChange_saysThatTheObjectWasReplaced(t *testing.T) {
	t.Parallel()
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("patch", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInvalid(configMapKind.gvk().GroupKind(), "web",
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "u-1", "field is immutable")})
	})
	r, _ := testChanger(client, change{of: protectChange("Always")})
	got := r.one(t.Context(), newTarget(configMapKind, labelled("app", "web"))).err
	const want = "configmaps/web in namespace shop was replaced by another object of this name in the meantime; look at it and run the command again"
	if got == nil || got.Error() != want {
		t.Errorf("got %v", got)
	}
}

// An API server that does not answer does not keep the command for ever.
func TestRun_requestTimeout(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		close(done)
		server.Close()
	})
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"protected", "protect -l app=web", "why delete cm web", "version"} {
		streams, _, errOut := testStreams()
		args := append([]string{"kubectl-holdfast", "--kubeconfig", kubeconfig, "--server", server.URL, "--request-timeout=200ms",
			"--cache-dir", t.TempDir()}, strings.Fields(verb)...)
		start := time.Now()
		code := run(t.Context(), args, streams.IOStreams)
		if want := map[bool]int{true: exitOK, false: exitError}[verb == "version"]; code != want {
			t.Errorf("%s: got exit code %d, want %d", verb, code, want)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s took %s", verb, took)
		}
		if errOut.Len() == 0 {
			t.Errorf("%s said nothing", verb)
		}
	}
}
