// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func hello(t testing.TB) options {
	t.Helper()
	return options{
		pkg: "../image/testdata/hello", name: "kubectl-hello", license: "../../LICENSE", version: "1.2.3", url: "https://example.com/download", dir: t.TempDir(),
		platforms: []string{"linux/amd64", "linux/arm64"},
	}
}

func read(t testing.TB, o options) (p plugin) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.dir, "hello.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// What krew demands of a manifest: krew.sigs.k8s.io/docs/developer-guide/plugin-manifest.
func TestManifest_isOneThatKrewTakes(t *testing.T) {
	o := hello(t)
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	p := read(t, o)
	if p.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || p.Kind != "Plugin" || p.Metadata.Name != "hello" {
		t.Errorf("it is %s %s %s", p.APIVersion, p.Kind, p.Metadata.Name)
	}
	if p.Spec.Version != "v1.2.3" || p.Spec.Short == "" || len(p.Spec.Short) > 50 || strings.HasSuffix(p.Spec.Short, ".") || p.Spec.Description == "" {
		t.Errorf("its version and descriptions are %+v", p.Spec)
	}
	for i, on := range p.Spec.Platforms {
		if diff := cmp.Diff(o.platforms[i], on.Selector.MatchLabels["os"]+"/"+on.Selector.MatchLabels["arch"]); diff != "" {
			t.Errorf("platform (-want +got)\n%s", diff)
		}
		if !regexp.MustCompile(`^https://example\.com/download/v1\.2\.3/kubectl-hello-linux-(amd64|arm64)\.tar\.gz$`).MatchString(on.URI) {
			t.Errorf("it is at %s", on.URI)
		}
		packed, err := os.ReadFile(filepath.Join(o.dir, path.Base(on.URI)))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(packed); hex.EncodeToString(sum[:]) != on.SHA256 {
			t.Errorf("%s has another sum than the manifest says", on.URI)
		}
		if got := contents(t, packed); got != on.Bin+" LICENSE" {
			t.Errorf("%s has %s", on.URI, got)
		}
	}
}

func contents(t testing.TB, packed []byte) string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	files := tar.NewReader(unzipped)
	for {
		f, err := files.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(names, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
	}
}

func TestArchive_isTheSameEachTime(t *testing.T) {
	first, second := hello(t), hello(t)
	for _, o := range []options{first, second} {
		if err := run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, first), read(t, second)); diff != "" {
		t.Errorf("(-first +second)\n%s", diff)
	}
}

func TestRun_refusesWhatIsNoVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "v1.2.3", "1.2", "latest"} {
		o := hello(t)
		o.version = version
		if err := run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "1.2.3") {
			t.Errorf("%q: got %v", version, err)
		}
	}
}
