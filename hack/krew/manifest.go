// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/hack/build"
)

// plugin is krew's kind, as far as it is needed here.
type plugin struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type spec struct {
	Version     string     `json:"version"`
	Homepage    string     `json:"homepage"`
	Short       string     `json:"shortDescription"`
	Description string     `json:"description"`
	Platforms   []platform `json:"platforms"`
}

type platform struct {
	Selector selector `json:"selector"`
	URI      string   `json:"uri"`
	SHA256   string   `json:"sha256"`
	Bin      string   `json:"bin"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type options struct {
	pkg, name, license, version, url, dir string
	platforms                             []string
}

// semver is what krew takes for a version, behind a v.
var semver = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func run(ctx context.Context, o options) error {
	if !semver.MatchString(o.version) {
		return fmt.Errorf("-version %q is not of the form 1.2.3", o.version)
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	p := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: metadata{Name: strings.TrimPrefix(o.name, "kubectl-")}, Spec: spec{
		Version: "v" + o.version, Homepage: "https://github.com/holdfast-dev/holdfast",
		Short:       "Say what Holdfast would refuse, and why",
		Description: "Protects objects from deletion and says what is protected, whose an object is, what would\nhold up a drain, and how RootSyncs are doing, on clusters with Holdfast.\n",
	}}
	for _, on := range o.platforms {
		built, err := o.archive(ctx, on)
		if err != nil {
			return fmt.Errorf("%s: %w", on, err)
		}
		p.Spec.Platforms = append(p.Spec.Platforms, built)
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.dir, p.Metadata.Name+".yaml"), text, 0o644)
}

// archive builds that of one platform, with nothing in it that depends on when.
func (o options) archive(ctx context.Context, on string) (platform, error) {
	system, arch, ok := strings.Cut(on, "/")
	if !ok {
		return platform{}, errors.New("not of the form OS/ARCH")
	}
	bin := o.name
	if system == "windows" {
		bin += ".exe"
	}
	path := filepath.Join(o.dir, o.name+"-"+system+"-"+arch)
	if err := build.Compile(ctx, build.Program{Package: o.pkg, OS: system, Arch: arch, Version: o.version}, path); err != nil {
		return platform{}, err
	}
	packed, err := pack(map[string]string{bin: path, "LICENSE": o.license}, bin, "LICENSE")
	if err != nil {
		return platform{}, err
	}
	if err := os.Remove(path); err != nil {
		return platform{}, err
	}
	sum := sha256.Sum256(packed)
	return platform{
		Selector: selector{MatchLabels: map[string]string{"os": system, "arch": arch}},
		URI:      o.url + "/v" + o.version + "/" + filepath.Base(path) + ".tar.gz",
		SHA256:   hex.EncodeToString(sum[:]), Bin: bin,
	}, os.WriteFile(path+".tar.gz", packed, 0o644)
}

// pack puts files into an archive, in the order of the names. The first can be run.
func pack(files map[string]string, names ...string) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for i, name := range names {
		text, err := os.ReadFile(files[name])
		if err != nil {
			return nil, err
		}
		mode := int64(0o644)
		if i == 0 {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(text))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
	}
	err := errors.Join(w.Close(), zipped.Close())
	return out.Bytes(), err
}
