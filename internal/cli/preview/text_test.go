// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	const (
		before = `{kind: ConfigMap, metadata: {name: x, resourceVersion: "1", managedFields: [{manager: m}], annotations: {configmanagement.gke.io/token: c1}}, data: {k: v}}`
		after  = `{kind: ConfigMap, metadata: {name: x, resourceVersion: "2", annotations: {configmanagement.gke.io/token: c2}}, data: {k: w}}`
		secret = `{apiVersion: v1, kind: Secret, metadata: {name: x, annotations: {kubectl.kubernetes.io/last-applied-configuration: one}}, data: {a: one, b: same, c: gone}}`
		other  = `{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {a: two, b: same, d: new}}`
	)
	tests := []struct {
		name          string
		action        Action
		kind          string
		before, after string
		exact         bool
		want          string
	}{
		{
			name: "a field", action: Update, kind: "ConfigMap", before: before, after: after,
			want: "--- live/a/ConfigMap/x\n+++ next/a/ConfigMap/x\n@@ -1,5 +1,5 @@\n data:\n-  k: v\n+  k: w\n kind: ConfigMap\n metadata:\n   annotations: {}\n",
		},
		{
			name: "the commit, where it counts", action: Update, kind: "ConfigMap", before: before, after: after, exact: true,
			want: "--- live/a/ConfigMap/x\n+++ next/a/ConfigMap/x\n@@ -1,7 +1,7 @@\n data:\n-  k: v\n+  k: w\n kind: ConfigMap\n metadata:\n   annotations:\n" +
				"-    configmanagement.gke.io/token: c1\n+    configmanagement.gke.io/token: c2\n   name: x\n",
		},
		{
			name: "what is made", action: Create, kind: "ConfigMap", after: `{kind: ConfigMap}`,
			want: "--- live/a/ConfigMap/x\n+++ next/a/ConfigMap/x\n@@ -0,0 +1,1 @@\n+kind: ConfigMap\n",
		},
		{name: "what goes", action: Delete, kind: "ConfigMap", before: before},
		{name: "what stays", action: Keep, kind: "ConfigMap", before: before},
		{
			name: "a Secret, with neither of its contents", action: Update, kind: "Secret", before: secret, after: other,
			want: "--- live/a/Secret/x\n+++ next/a/Secret/x\n@@ -1,9 +1,8 @@\n apiVersion: v1\n data:\n-  a: '*** (before)'\n+  a: '*** (after)'\n   b: '***'\n-  c: '***'\n+  d: '***'\n" +
				" kind: Secret\n metadata:\n-  annotations: {}\n   name: x\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Change{Action: tt.action, ID: object.ID{Kind: tt.kind, Namespace: "a", Name: "x"}}
			if tt.before != "" {
				c.Before = parse(t, tt.before)
			}
			if tt.after != "" {
				c.After = parse(t, tt.after)
			}
			got, err := c.Diff(tt.exact)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
