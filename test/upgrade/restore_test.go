// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// restore creates what the first version has left, with the UIDs and the ages of this cluster wherever the recorded objects
// have those of theirs, and returns it.
func restore(t *testing.T, s *story.Story) []*unstructured.Unstructured {
	t.Helper()
	recorded := read(t, s, strings.NewReplacer())
	replaced := make([]string, 0, 4*len(recorded))
	for _, o := range recorded {
		c := bare(o)
		if err := s.Client.Create(t.Context(), c); err != nil {
			t.Fatalf("create %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		replaced = append(replaced, string(o.GetUID()), string(c.GetUID()))
		if o.GetKind() == "RootSync" {
			age := func(u *unstructured.Unstructured) string { return u.GetCreationTimestamp().UTC().Format(time.RFC3339) }
			replaced = append(replaced, age(o), age(c))
			s.Eventually(func() bool { return time.Since(c.GetCreationTimestamp().Time) > time.Second }, "10s", "100ms").Should(gomega.BeTrue(), "the next one is younger")
		}
	}
	all := read(t, s, strings.NewReplacer(replaced...))
	for _, o := range all {
		// The API server makes the client that changes a field its manager. So managedFields are written when nothing else changes.
		for _, change := range []func(live *unstructured.Unstructured){
			func(live *unstructured.Unstructured) {
				live.SetLabels(o.GetLabels())
				live.SetAnnotations(o.GetAnnotations())
				live.SetOwnerReferences(o.GetOwnerReferences())
				live.SetFinalizers(o.GetFinalizers())
			},
			func(live *unstructured.Unstructured) { live.SetManagedFields(o.GetManagedFields()) },
		} {
			live := o.DeepCopy()
			if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(o), live); err != nil {
				t.Fatal(err)
			}
			change(live)
			if err := s.Client.Update(t.Context(), live); err != nil {
				t.Fatalf("update %s %s: %v", o.GetKind(), o.GetName(), err)
			}
			if status := o.Object["status"]; status != nil && o.GetKind() != "Namespace" {
				live.Object["status"] = status
				if err := s.Client.Status().Update(t.Context(), live); client.IgnoreNotFound(err) != nil {
					t.Fatalf("update the status of %s %s: %v", o.GetKind(), o.GetName(), err)
				}
			}
		}
	}
	return all
}

// bare is an object without what refers to others.
func bare(o *unstructured.Unstructured) *unstructured.Unstructured {
	out := o.DeepCopy()
	delete(out.Object, "status")
	out.Object["metadata"] = map[string]any{"name": o.GetName()}
	out.SetNamespace(o.GetNamespace())
	return out
}

// read reads what was recorded, with some texts replaced.
func read(t *testing.T, s *story.Story, with *strings.Replacer) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, kind := range kinds {
		text, err := os.ReadFile(filepath.Join("testdata", "first", kind+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		recorded := with.Replace(string(text))
		for _, name := range repositories {
			url, placeholder := place(s, name)
			recorded = strings.ReplaceAll(recorded, placeholder, url)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(recorded)), 4<<10)
		for {
			o := &unstructured.Unstructured{}
			err := decoder.Decode(&o.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			out = append(out, o)
		}
	}
	return out
}
