// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// Whatever the files are, there is a result, the same for every order, and what is in
// it can be sent to an API server.
func FuzzParse(f *testing.F) {
	f.Add([]byte(configMap+"---\n"+configMap), []byte(pumps+pump))
	f.Add([]byte(bomb(5, 3)), []byte(annotated("configmanagement.gke.io/managed: disabled")))
	f.Add([]byte(`{"apiVersion": "v1", "kind": "List", "items": [{"kind": "X"}, null, []]}`), []byte("a: &a [*a]\n...\n%YAML 1.1\n--- !!binary x\n"))
	f.Add([]byte("? [a]\n: b\n"), []byte("\xef\xbb\xbfkind: .nan\napiVersion: 0x\n1: 2\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		in := []File{{Path: "a.yaml", Data: a}, {Path: "b.json", Data: b}}
		got := Parse(in, cluster)
		slices.Reverse(in)
		if diff := cmp.Diff(got, Parse(in, cluster), cmpopts.IgnoreFields(knv.Error{}, "Err"), cmpopts.EquateNaNs()); diff != "" {
			t.Fatal("another order has another result:", diff)
		}
		if got.Blocked && len(got.Objects) > 0 {
			t.Fatal("there are objects, though it is blocked")
		}
		for _, d := range slices.Concat(got.Objects, got.Withheld) {
			if _, err := json.Marshal(d.Object); err != nil {
				t.Fatal(err)
			}
			d.Object.DeepCopy() // panics at what JSON does not know
		}
		for _, e := range got.Errors {
			if e.Message() == "" {
				t.Fatal("an error says nothing")
			}
		}
	})
}
