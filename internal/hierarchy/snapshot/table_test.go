// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTable_isAMapThatNeverChanges makes random changes, and looks at every version
// again at the end.
func TestTable_isAMapThatNeverChanges(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var tables []Table[int]
	var want []map[string]int
	var now Table[int]
	plain := map[string]int{}
	for i := range 3000 {
		edits := map[string]*int{}
		for range r.IntN(5) {
			key := fmt.Sprint("key", r.IntN(20000))
			if edits[key], plain[key] = new(i), i; r.IntN(3) == 0 {
				edits[key] = nil
				delete(plain, key)
			}
		}
		now = now.Change(maps.All(edits))
		if i%100 == 0 {
			tables, want = append(tables, now), append(want, maps.Clone(plain))
		}
	}
	for i, table := range tables {
		if diff := cmp.Diff(want[i], maps.Collect(table.All())); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", i, diff)
		}
		for key, v := range want[i] {
			if got, ok := table.Get(key); !ok || got != v {
				t.Errorf("version %d: %s is %d, %v", i, key, got, ok)
			}
		}
	}
}

func TestTable_setAndDelete(t *testing.T) {
	t.Parallel()
	var none Table[string]
	if _, ok := none.Get("a"); ok || !none.Empty() {
		t.Error("the zero Table is not empty")
	}
	one := none.Set("a", "x")
	if v, ok := one.Get("a"); !ok || v != "x" || one.Empty() || !none.Empty() {
		t.Errorf("got %q, %v", v, ok)
	}
	if !one.Delete("a").Empty() || one.Empty() {
		t.Error("it is still there, or gone from the version before")
	}
}
