// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// forgedTries is the number of requests with forged marks in the test, and shortForgedTries with -short.
const (
	forgedTries      = 10_000
	shortForgedTries = 320
	forgers          = 16
)

// A user with all rights but unprotect writes random marks to three objects: one that its label protects, one that a
// ResourceDeletionProtection selects, and one that nothing protects. After each request the first two cannot be
// deleted, and the third can.
func TestForged_marksProtectAndFreeNothing(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	tries := forgedTries
	if testing.Short() {
		tries = shortForgedTries
	}
	ns := e.Namespace(t)
	user := "forger-" + ns
	everything(t, e, user)
	configMap(t, e, ns, "selected")
	protectOne(t, e, ns, "v1", "ConfigMap", "selected")
	var group errgroup.Group
	for i := range forgers {
		f := &forger{Client: e.As(t, user), random: rand.New(rand.NewPCG(uint64(i), 16)), namespace: ns, uids: []string{"", "true", "0b4d0d5a-0000-4000-8000-000000000000"}}
		f.add(t, e, "selected", true)
		f.add(t, e, configMap(t, e, ns, fmt.Sprintf("labelled-%d", i), strict+"=Always").Name, true)
		f.add(t, e, configMap(t, e, ns, fmt.Sprintf("free-%d", i)).Name, false)
		group.Go(func() error {
			for range tries / forgers {
				if err := f.try(t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

// forger writes marks to objects at random.
type forger struct {
	client.Client
	random    *rand.Rand
	namespace string
	objects   []*corev1.ConfigMap
	protected []bool
	// uids are values of the label that binds marks.
	uids []string
}

func (f *forger) add(t *testing.T, e *testkit.Env, name string, protected bool) {
	t.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	f.objects, f.protected, f.uids = append(f.objects, o), append(f.protected, protected), append(f.uids, string(o.UID))
}

// labels are random marks; nil for one that a patch removes.
func (f *forger) labels() map[string]any {
	out := map[string]any{}
	for _, key := range v1alpha1.Marks {
		if f.random.IntN(2) == 0 {
			out[key] = []any{nil, "", "true", "x", f.namespace}[f.random.IntN(5)]
		}
	}
	switch i := f.random.IntN(len(f.uids) + 2); {
	case i < len(f.uids):
		out[v1alpha1.MarkedLabel] = f.uids[i]
	case i == len(f.uids):
		out[v1alpha1.MarkedLabel] = nil
	}
	return out
}

// try sends one request with forged marks and then tries to delete the object.
func (f *forger) try(t *testing.T) error {
	i := f.random.IntN(len(f.objects))
	o, labels, ctx := f.objects[i], f.labels(), t.Context()
	set := map[string]string{}
	for key, value := range labels {
		if value, ok := value.(string); ok {
			set[key] = value
		}
	}
	written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}
	var way string
	var err error
	switch f.random.IntN(5) {
	case 0:
		way, err = "merge patch", f.Patch(ctx, written, mergeLabels(labels))
	case 1:
		body, encodeErr := json.Marshal([]map[string]any{{"op": "replace", "path": "/metadata/labels", "value": set}})
		if encodeErr != nil {
			return encodeErr
		}
		if way, err = "JSON patch", f.Patch(ctx, written, client.RawPatch(types.JSONPatchType, body)); apierrors.IsInvalid(err) {
			err = nil // the object has no labels to replace
		}
	case 2:
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		u.SetNamespace(o.Namespace)
		u.SetName(o.Name)
		u.SetLabels(set)
		way, err = "apply", f.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(fmt.Sprintf("forger-%d", f.random.IntN(3))), client.ForceOwnership)
	case 3:
		written.Labels = set
		if value := o.Labels[strict]; value != "" {
			written.Labels[strict] = value
		}
		way, err = "PUT", f.Update(ctx, written)
	case 4:
		copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, GenerateName: "copy-", Labels: set}}
		if err := f.Create(ctx, copied); err != nil {
			return fmt.Errorf("create with %v: %w", set, err)
		}
		if err := f.Delete(ctx, copied); err != nil {
			return fmt.Errorf("delete what was created with %v: %w", set, err)
		}
	}
	// A JSON patch of all labels removes the protecting one, which needs the verb unprotect.
	if err != nil && !(way == "JSON patch" && apierrors.IsForbidden(err)) {
		return fmt.Errorf("%s of %s with %v: %w", way, o.Name, labels, err)
	}
	if err := f.Get(ctx, client.ObjectKeyFromObject(o), written); err != nil {
		return err
	}
	if was, is := v1alpha1.MarkOf(o, v1alpha1.ProtectedByMark), v1alpha1.MarkOf(written, v1alpha1.ProtectedByMark); is != was || v1alpha1.Marked(written) != v1alpha1.Marked(o) {
		return fmt.Errorf("%s has the labels %v after %s with %v, and had %v", o.Name, written.Labels, way, labels, o.Labels)
	}
	err = f.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}, client.DryRunAll)
	if apierrors.IsForbidden(err) != f.protected[i] || err != nil && !f.protected[i] {
		return fmt.Errorf("delete %s, protected is %t, after %s with %v: %w", o.Name, f.protected[i], way, labels, err)
	}
	return nil
}
