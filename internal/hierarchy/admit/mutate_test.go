// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	restoredNamespaces = "restored-namespaces.hnc.x-k8s.io"
	restoredObjects    = "restored-objects.hnc.x-k8s.io"
)

// patches is a JSON patch as sorted lines "op path value".
func patches(t *testing.T, patch []byte) (out []string) {
	t.Helper()
	if len(patch) == 0 {
		return nil
	}
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		t.Fatal(err)
	}
	for _, o := range operations {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", o.Op, strings.TrimPrefix(o.Path, "/metadata/"), o.Value)))
	}
	slices.Sort(out)
	return out
}

func TestRestored(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, webhook, object string
		want                  []string
		warning               string
	}{
		{
			"a namespace loses where it stood in a tree", restoredNamespaces,
			"{metadata: {name: b, labels: {app: x, b.tree.hnc.x-k8s.io/depth: '0', a.tree.hnc.x-k8s.io/depth: '1', holdfast.dev/has-subnamespaces: 'true'}}}",
			[]string{"remove labels/a.tree.hnc.x-k8s.io~1depth", "remove labels/b.tree.hnc.x-k8s.io~1depth", "remove labels/holdfast.dev~1has-subnamespaces"},
			"without the labels a.tree.hnc.x-k8s.io/depth, b.tree.hnc.x-k8s.io/depth, holdfast.dev/has-subnamespaces",
		},
		{"a namespace keeps that it is managed", restoredNamespaces, "{metadata: {name: b, labels: {hnc.x-k8s.io/included-namespace: 'true'}}}", nil, ""},
		{
			"a namespace that is not managed does not", restoredNamespaces, "{metadata: {name: x, labels: {hnc.x-k8s.io/included-namespace: 'true'}}}",
			[]string{"remove labels/hnc.x-k8s.io~1included-namespace"}, "hnc.x-k8s.io/included-namespace",
		},
		{
			"a managed namespace loses that it is excluded", restoredNamespaces, "{metadata: {name: b, labels: {hnc.x-k8s.io/excluded-namespace: 'true'}}}",
			[]string{"remove labels/hnc.x-k8s.io~1excluded-namespace"}, "hnc.x-k8s.io/excluded-namespace",
		},
		{
			"a managed namespace does not say that it is not, and then gets the label from the other webhook", restoredNamespaces, "{metadata: {name: b, labels: {hnc.x-k8s.io/included-namespace: 'false'}}}",
			[]string{"remove labels/hnc.x-k8s.io~1included-namespace"}, "hnc.x-k8s.io/included-namespace",
		},
		{"the policy judges a generated name", restoredNamespaces, "{metadata: {generateName: b-, labels: {hnc.x-k8s.io/included-namespace: 'true'}}}", nil, ""},
		{
			"a copy becomes an object that is not copied", restoredObjects,
			"{metadata: {name: x, labels: {app: x, hnc.x-k8s.io/inherited-from: a, app.kubernetes.io/managed-by: hnc.x-k8s.io}}, data: {k: dg==}}",
			[]string{`add annotations {"holdfast.dev/restored-copy-of":"a"}`, "remove labels/app.kubernetes.io~1managed-by", "remove labels/hnc.x-k8s.io~1inherited-from"},
			"without the label hnc.x-k8s.io/inherited-from",
		},
		{
			"a copy keeps who else manages it", restoredObjects,
			"{metadata: {name: x, annotations: {note: text}, labels: {hnc.x-k8s.io/inherited-from: a, app.kubernetes.io/managed-by: Helm}}}",
			[]string{`add annotations/holdfast.dev~1restored-copy-of "a"`, "remove labels/hnc.x-k8s.io~1inherited-from"}, "holdfast.dev/restored-copy-of",
		},
		{"what cannot be read is left to the API server", restoredNamespaces, "{metadata: 1}", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "a")
			r.unknown = errUnknown // the webhooks decide by the names alone
			got, _ := r.answer(t, tt.webhook, request{op: "CREATE", object: tt.object}.review(t))
			if diff := cmp.Diff(tt.want, patches(t, got.Patch)); diff != "" || !got.Allowed {
				t.Errorf("allowed: %t, patch (-want +got):\n%s", got.Allowed, diff)
			}
			if warnings := strings.Join(got.Warnings, ""); !strings.Contains(warnings, tt.warning) || (tt.warning == "") != (warnings == "") {
				t.Errorf("warnings %q, want %q", warnings, tt.warning)
			}
		})
	}
}
