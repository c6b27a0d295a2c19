// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Owned is a digest of the fields that a RootSync has applied and still owns, and of when the API server noted that they
// changed, by which a write of another client with the same field manager shows; empty if there are none.
func Owned(o metav1.Object) string {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return ownedOf(u)
	}
	for _, e := range o.GetManagedFields() {
		if e.Manager != object.FieldManager || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		// The text of the same fields is not the same in each encoding.
		var fields map[string]any
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) == nil {
			return Digest([]any{fields, e.Time})
		}
	}
	return ""
}

func ownedOf(u *unstructured.Unstructured) string {
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		e, _ := e.(map[string]any)
		if e["manager"] != object.FieldManager || e["operation"] != string(metav1.ManagedFieldsOperationApply) {
			continue
		}
		if sub, _ := e["subresource"].(string); sub != "" {
			continue
		}
		if fields, ok := e["fieldsV1"].(map[string]any); ok {
			return Digest([]any{fields, e["time"]})
		}
	}
	return ""
}

// Digest tells two values of JSON apart.
func Digest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // not of JSON
	}
	sum := sha256.Sum256(text)
	return base64.RawStdEncoding.EncodeToString(sum[:16])
}

// Same says whether two answers about an object differ in nothing but times.
func Same(a, b *unstructured.Unstructured) bool {
	if Owned(a) != Owned(b) {
		return false
	}
	bare := func(o *unstructured.Unstructured) string {
		o = &unstructured.Unstructured{Object: o.DeepCopy().Object}
		o.SetManagedFields(nil)
		return Digest(o.Object)
	}
	return bare(a) == bare(b)
}
