// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs tests that what the documents say can be done: links lead somewhere, the API server accepts
// manifests and configurations and every field of the reference of RootSyncs, tests that are named are there, and a
// reader can follow the guide to protection. Guides that need more than a cluster with Holdfast are followed in test/cli and
// test/operators.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const root = "../.."

func TestMain(m *testing.M) {
	os.Exit(testkit.RunWith(m, testkit.Options{Manifests: []string{"config/crd/hnc", "config/crd/configsync", "internal/testkit/strimzi/crds.yaml"}}))
}

// pages are the documents by their path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	read := func(path string) error {
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		return read(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	beside, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range beside {
		if err := read(path); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

var (
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notKept = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors of a page, as GitHub makes them of its headings.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		out[strings.ReplaceAll(notKept.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return out
}

func TestLinks_leadSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if to, ours := all[target]; ours && anchor != "" && !anchors(to)[anchor] {
				t.Errorf("%s links to %s, and there is no such heading", page, m[1])
			}
		}
	}
}

// block is one of YAML, with the indent that it has in a list.
var block = regexp.MustCompile("(?s)\n( *)```yaml\n(.*?)\n *```")

func TestManifests_areAccepted(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	for page, text := range pages(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			for manifest := range strings.SplitSeq(strings.ReplaceAll("\n"+m[2], "\n"+m[1], "\n"), "\n---\n") {
				var o unstructured.Unstructured
				if err := yaml.Unmarshal([]byte(manifest), &o.Object); err != nil {
					t.Errorf("%s: %v:\n%s", page, err, manifest)
					continue
				}
				if o.GetAPIVersion() == "" {
					if err := partAccepted(t, &o); err != "" {
						t.Errorf("%s: %s:\n%s", page, err, manifest)
					}
					continue
				}
				if err := accepted(t, e, &o, manifest); err != "" {
					t.Errorf("%s: %s:\n%s", page, err, manifest)
				}
			}
		}
	}
}

// partAccepted says what is wrong with a part of a configuration; other manifests are not known by a part.
func partAccepted(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	for key := range o.Object {
		if !configured[key] {
			return ""
		}
	}
	part, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.Load(append([]byte(config.Empty), part...)); err != nil {
		return err.Error()
	}
	return ""
}

// configured are the fields of a HoldfastConfiguration.
var configured = func() map[string]bool {
	out := map[string]bool{}
	for f := range reflect.TypeFor[configv1alpha1.HoldfastConfiguration]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = true
	}
	return out
}()

// accepted says what is wrong with a manifest or a configuration.
func accepted(t *testing.T, e *testkit.Env, o *unstructured.Unstructured, manifest string) string {
	t.Helper()
	switch o.GetKind() {
	case "AdmissionConfiguration", "Config": // files of API servers, which tests start with them
		return ""
	case "HoldfastConfiguration":
		if _, err := config.Load([]byte(manifest)); err != nil {
			return err.Error()
		}
		return ""
	}
	if ns := o.GetNamespace(); ns != "" {
		err := e.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	if out := e.KubectlInput(t, manifest, "create", "--dry-run=server", "-f", "-"); out.Code != 0 {
		return out.Stderr
	}
	return ""
}
