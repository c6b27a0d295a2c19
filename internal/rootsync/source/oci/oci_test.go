// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
	"github.com/holdfast-dev/holdfast/internal/testkit/registry"
)

func pulled(t *testing.T, i *Image) (commit string, files map[string]string, err *knv.Error) {
	t.Helper()
	if err := i.Poll(t.Context(), nil); err != nil {
		return "", nil, err
	}
	commit, err = i.Resolve(t.Context(), remote.Target{})
	if err != nil {
		return "", nil, err
	}
	dir := filepath.Join(t.TempDir(), "tree")
	t.Cleanup(func() { _ = remote.RemoveAll(dir) })
	if err := i.Export(t.Context(), remote.Target{}, commit, dir); err != nil {
		return "", nil, err
	}
	return commit, read(t, dir), nil
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if e.Type() == fs.ModeSymlink {
			out[name], err = os.Readlink(filepath.Join(dir, name))
			out[name] = "-> " + out[name]
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func opened(t *testing.T, o Options, r Remote) *Image {
	t.Helper()
	i, err := Open(o, r)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func wantError(t *testing.T, err *knv.Error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Text, w) {
			t.Errorf("got %q, want it to have %q", err.Text, w)
		}
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	server := registry.Start(t, registry.Options{TLS: true, Username: "me", Password: "geheim"})
	image := server.Image("o/config")
	digest := server.Push(t, image+":v1", registry.Layer(t, map[string]string{"d/f": "x"}))
	server.Push(t, image, registry.Layer(t, map[string]string{"d/f": "latest"}))
	plain := registry.Start(t, registry.Options{})
	plain.Push(t, plain.Image("o/config"), registry.Layer(t, map[string]string{"d/f": "plain"}))
	tests := []struct {
		name   string
		remote Remote
		want   string
		words  []string
	}{
		{"a tag", Remote{Image: image + ":v1", Username: "me", Password: "geheim", CA: server.CA()}, "x", nil},
		{"a digest", Remote{Image: image + "@" + digest, Username: "me", Password: "geheim", CA: server.CA()}, "x", nil},
		{"a tag and a digest", Remote{Image: image + ":v9@" + digest, Username: "me", Password: "geheim", CA: server.CA()}, "x", nil},
		{"neither is the tag latest", Remote{Image: image, Username: "me", Password: "geheim", CA: server.CA()}, "latest", nil},
		{"no encryption on this machine", Remote{Image: plain.Image("o/config")}, "plain", nil},
		{"no credentials", Remote{Image: image, CA: server.CA()}, "", []string{"wants credentials", "401", "spec.oci.secretRef"}},
		{"the wrong password", Remote{Image: image, Username: "me", Password: "falsch", CA: server.CA()}, "", []string{"does not take the credentials", `"username" and "password"`}},
		{"a tag that is not there", Remote{Image: image + ":nope", Username: "me", Password: "geheim", CA: server.CA()}, "", []string{"does not exist", "404"}},
		{"an image that is not there", Remote{Image: server.Image("nope"), Username: "me", Password: "geheim", CA: server.CA()}, "", []string{"does not exist"}},
		{"a digest that is not there", Remote{Image: image + "@sha256:" + strings.Repeat("0", 64), Username: "me", Password: "geheim", CA: server.CA()}, "", []string{"does not exist"}},
		{"a certificate that nobody trusts", Remote{Image: image, Username: "me", Password: "geheim"}, "", []string{"certificate that is not trusted", "caCertSecretRef"}},
		{"a host that is not there", Remote{Image: "nowhere.invalid/o/config"}, "", []string{"host is not known"}},
		{"a server that is not there", Remote{Image: "127.0.0.1:1/o/config"}, "", []string{"cannot be reached"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			commit, files, err := pulled(t, opened(t, Options{}, tt.remote))
			if tt.words != nil {
				wantError(t, err, tt.words...)
				if strings.Contains(err.Message(), "geheim") || strings.Contains(err.Message(), "falsch") {
					t.Errorf("the error shows the password: %s", err.Message())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "x" && "sha256:"+commit != digest {
				t.Errorf("got commit %s, want %s", commit, digest)
			}
			if diff := cmp.Diff(map[string]string{"d/f": tt.want}, files); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, image := range []string{"", "UPPER/case", "a b", "host/image@sha256:short", "https://host/image"} {
		if _, err := Open(Options{}, Remote{Image: image}); err == nil {
			t.Errorf("%q was taken", image)
		}
	}
	if _, err := Open(Options{}, Remote{Image: "a", CA: "x"}); err == nil {
		t.Error("a CA that is none was taken")
	}
}

func TestPoll_costsOneHead(t *testing.T) {
	t.Parallel()
	server := registry.Start(t, registry.Options{})
	image := server.Image("o/config")
	server.Push(t, image, registry.Layer(t, map[string]string{"f": "1"}))
	before := server.Counts()
	i := opened(t, Options{}, Remote{Image: image})
	for range 3 {
		if err := i.Poll(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if c := server.Counts(); c.Heads-before.Heads != 3 || c.Manifests != before.Manifests || c.Blobs != before.Blobs {
		t.Errorf("before %+v, after %+v", before, c)
	}
	server.Push(t, image, registry.Layer(t, map[string]string{"f": "2"}))
	_, files, err := pulled(t, i)
	if err != nil || files["f"] != "2" {
		t.Errorf("got %v, %v", files, err)
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	server := registry.Start(t, registry.Options{})
	many := map[string]string{}
	for i := range 60 {
		many[strings.Repeat("x", i+1)] = "x"
	}
	entries := func(e ...*registry.Entry) []v1.Layer { return []v1.Layer{registry.EntriesLayer(t, e...)} }
	tests := []struct {
		name   string
		layers []v1.Layer
		want   map[string]string
		words  []string
	}{
		{"no layer", nil, map[string]string{}, nil},
		{"a layer over another one", []v1.Layer{
			registry.Layer(t, map[string]string{"a/f": "1", "a/g": "1", "b/f": "1", "b/g": "1", "c": "1"}),
			registry.Layer(t, map[string]string{"a/f": "2", "a/.wh.g": "", "b/.wh..wh..opq": "", "b/h": "2", "./d": "2"}),
		}, map[string]string{"a/f": "2", "b/h": "2", "c": "1", "d": "2"}, nil},
		{"links that stay inside", entries(&registry.Entry{Name: "./", Typeflag: tar.TypeDir}, &registry.Entry{Name: "d/", Typeflag: tar.TypeDir}, &registry.Entry{Name: "d/e", Typeflag: tar.TypeReg},
			&registry.Entry{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "d/e"}, &registry.Entry{Name: "h", Typeflag: tar.TypeLink, Linkname: "d/e"}),
			map[string]string{"d/e": "", "l": "-> d/e", "h": ""}, nil},
		{"a link out stays a link", entries(&registry.Entry{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "../x"}), map[string]string{"l": "-> ../x"}, nil},
		{"a hard link out", entries(&registry.Entry{Name: "l", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}), nil, []string{`"/etc/passwd" is no path inside`}},
		{"a hard link through a link out", entries(&registry.Entry{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, &registry.Entry{Name: "h", Typeflag: tar.TypeLink, Linkname: "l/passwd"}), nil, []string{"h cannot be written"}},
		{"a path out", entries(&registry.Entry{Name: "../x", Typeflag: tar.TypeReg}), nil, []string{`"../x" is no path inside`}},
		{"an absolute path", entries(&registry.Entry{Name: "/x", Typeflag: tar.TypeReg}), nil, []string{`"/x" is no path inside`}},
		{"a file through a link out", entries(&registry.Entry{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, &registry.Entry{Name: "l/x", Typeflag: tar.TypeReg}), nil, []string{"l cannot be written"}},
		{"a device", entries(&registry.Entry{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}), nil, []string{"null is a device"}},
		{"a whiteout of the folder above", entries(&registry.Entry{Name: "d/.wh...", Typeflag: tar.TypeReg}), nil, []string{"takes out what is no file"}},
		{"no tar", []v1.Layer{registry.RawLayer(t, bytes.Repeat([]byte("x"), 2048))}, nil, []string{"no tar"}},
		{"too many files", []v1.Layer{registry.Layer(t, many)}, nil, []string{"more than 50 files"}},
		{"too many bytes when unpacked", []v1.Layer{registry.Layer(t, map[string]string{"f": strings.Repeat("x", 2<<20)})}, nil, []string{"more than 1 MiB"}},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			image := server.Image("o/i" + string(rune('a'+i)))
			server.Push(t, image, tt.layers...)
			_, files, err := pulled(t, opened(t, Options{Limits: remote.Limits{TreeFiles: 50, TreeBytes: 1 << 20}}, Remote{Image: image}))
			if tt.words != nil {
				wantError(t, err, tt.words...)
				if !remote.IsContent(err) {
					t.Error("it is to be tried again only with another image")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, files); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPull_thatBringsTooMuch(t *testing.T) {
	t.Parallel()
	server := registry.Start(t, registry.Options{})
	image := server.Image("o/config")
	server.Push(t, image, registry.Layer(t, map[string]string{"f": "x"}))
	_, _, err := pulled(t, opened(t, Options{Limits: remote.Limits{FetchBytes: 10}}, Remote{Image: image}))
	wantError(t, err, "layers have more than")
}

func TestBrokenRegistries(t *testing.T) {
	t.Parallel()
	server := registry.Start(t, registry.Options{Username: "me", Password: "a"})
	image := server.Image("o/config")
	server.Push(t, image, registry.Layer(t, map[string]string{"f": strings.Repeat("abc", 1000)}))
	i := opened(t, Options{}, Remote{Image: image, Username: "me", Password: "a"})
	good := func() {
		t.Helper()
		if _, _, err := pulled(t, i); err != nil {
			t.Fatal(err)
		}
	}
	good()
	server.SetFault(registry.Fault{CutBlobAfter: 20})
	_, _, err := pulled(t, i)
	wantError(t, err, "broke off")
	server.SetFault(registry.Fault{Status: 503})
	_, _, err = pulled(t, i)
	wantError(t, err, "the registry has an error (503)")
	server.SetFault(registry.Fault{})
	good()
	server.SetPassword("b")
	_, _, err = pulled(t, i)
	wantError(t, err, "expired")
	server.SetPassword("a")
	good()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, i.Poll(ctx, nil), "Holdfast ends")
}

func FuzzUnpack(f *testing.F) {
	add := func(entries ...*tar.Header) {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, e := range entries {
			if err := w.WriteHeader(e); err != nil {
				f.Fatal(err)
			}
		}
		_ = w.Close()
		f.Add(b.Bytes())
	}
	add(&tar.Header{Name: "f", Typeflag: tar.TypeReg}, &tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "f"})
	add(&tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: ".."}, &tar.Header{Name: "l/outside", Typeflag: tar.TypeReg})
	add(&tar.Header{Name: "d/.wh.f", Typeflag: tar.TypeReg}, &tar.Header{Name: "h", Typeflag: tar.TypeLink, Linkname: "../h"})
	f.Fuzz(func(t *testing.T, data []byte) {
		above := t.TempDir()
		dir := filepath.Join(above, "tree")
		w, err := remote.NewWriter(dir, remote.Limits{TreeFiles: 100, TreeBytes: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = w.Close()
			_ = remote.RemoveAll(dir)
		}()
		if err := unpack(t.Context(), bytes.NewReader(data), w); err == nil {
			_ = w.Finish()
		}
		if entries, err := os.ReadDir(above); err != nil || len(entries) != 1 {
			t.Errorf("something was written outside: %v, %v", entries, err)
		}
	})
}
