// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// hello is a program with few dependencies. Its tests are not parallel: each go command would compile the same packages at the same time.
func hello(t testing.TB) options {
	t.Helper()
	return options{pkg: "./testdata/hello", name: "hello", version: "1.2.3", dir: filepath.Join(t.TempDir(), "image"), platforms: []string{"linux/amd64", "linux/arm64"}}
}

// images are those for each platform, and what is in them.
func images(t testing.TB, dir string) (runnable, about []v1.Image) {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	collect := func(index v1.ImageIndex) (out []v1.Image) {
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range manifest.Manifests {
			if !d.MediaType.IsImage() {
				continue
			}
			image, err := index.Image(d.Digest)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, image)
		}
		return out
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return collect(inner), collect(index)
}

func TestBuild_twoBuildsGiveTheSameDigest(t *testing.T) {
	first, err := build(t.Context(), hello(t))
	if err != nil {
		t.Fatal(err)
	}
	second, err := build(t.Context(), hello(t))
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("%s and %s", first, second)
	}
}

func TestBuild_theImageHasTheProgramAndNothingElse(t *testing.T) {
	o := hello(t)
	if _, err := build(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	runnable, _ := images(t, o.dir)
	var platforms []string
	for _, image := range runnable {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		platforms = append(platforms, config.OS+"/"+config.Architecture)
		if config.Config.User != "65532:65532" || !config.Created.IsZero() {
			t.Errorf("it runs as %q, and was made at %s", config.Config.User, config.Created)
		}
		if diff := cmp.Diff([]string{"/hello"}, config.Config.Entrypoint); diff != "" {
			t.Errorf("entrypoint (-want +got)\n%s", diff)
		}
		files := tar.NewReader(mutate.Extract(image))
		for {
			f, err := files.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.Name != "hello" || f.Mode != 0o555 || f.Uid != 0 {
				t.Errorf("it has %s with mode %o of user %d", f.Name, f.Mode, f.Uid)
			}
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got)\n%s", diff)
	}
}

func TestBuild_saysWhatIsInIt(t *testing.T) {
	o := hello(t)
	if _, err := build(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	runnable, about := images(t, o.dir)
	for i, image := range about {
		manifest, err := image.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		digest, err := runnable[i].Digest()
		if err != nil {
			t.Fatal(err)
		}
		if manifest.Subject == nil || manifest.Subject.Digest != digest || manifest.Config.MediaType != sbomType {
			t.Errorf("it is about %v, as %s; want %s", manifest.Subject, manifest.Config.MediaType, digest)
		}
		layers, err := image.Layers()
		if err != nil {
			t.Fatal(err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		var d document
		if err := json.NewDecoder(content).Decode(&d); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range d.Packages {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != "github.com/holdfast-dev/holdfast k8s.io/utils stdlib" {
			t.Errorf("it names %s", got)
		}
	}
	if len(about) != 2 {
		t.Errorf("%d images are described, want 2", len(about))
	}
}
