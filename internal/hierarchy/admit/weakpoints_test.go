// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// These show that weak points of HNC are absent, by the numbers under which they were
// listed. Those that need an API server are in TestIntegration.

func resources(names ...string) (out []schema.GroupResource) {
	for _, n := range names {
		out = append(out, schema.GroupResource{Resource: n})
	}
	return out
}

// HNC's webhooks answered from a tree that they did not know yet, and allowed.
func TestWeakPoint2_askedBeforeTheTreesAreKnown(t *testing.T) {
	t.Parallel()
	const sub = "{metadata: {name: b, annotations: {hnc.x-k8s.io/subnamespace-of: a}}}"
	tests := []struct {
		webhook string
		q       request
		want    string
	}{
		{hierarchies, request{op: "CREATE", namespace: "b", object: "{spec: {parent: a}}"}, "503"},
		{hierarchies, request{op: "DELETE", namespace: "b", before: "{}"}, "503"},
		{anchors, request{op: "DELETE", namespace: "a", before: sub}, "503"},
		{configurations, request{op: "UPDATE", object: "{}"}, "503"},
		{treeNamespaces, request{op: "DELETE", before: sub}, "503"},
		// These fail open: an error of HTTP is passed over, and counted.
		{otherNames, request{op: "DELETE", before: "{metadata: {name: a}}"}, "http 503"},
		{newNamespaces, request{op: "CREATE", object: "{metadata: {name: n}}"}, "http 503"},
		{objects, request{op: "CREATE", namespace: "a", object: "{}"}, "http 503"},
	}
	for _, tt := range tests {
		t.Run(tt.webhook+" "+string(tt.q.op), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "a <- *b")
			r.unknown = errUnknown
			says := ""
			if tt.want == "503" {
				says = errUnknown.Error()
			}
			r.check(t, tt.webhook, tt.q, tt.want, says)
			r.settings = load(t, "mode: Warn")
			if tt.want == "503" {
				r.check(t, tt.webhook, tt.q, "ok", "")
			}
		})
	}
}

// HNC did not ask about the deletion of a HierarchyConfiguration, which takes a
// namespace out of its tree.
func TestWeakPoint3_deletingAHierarchyConfiguration(t *testing.T) {
	t.Parallel()
	deleted := request{op: "DELETE", namespace: "b", before: "{spec: {parent: a}}"}
	r := newRig(t, "root <- a <- b")
	r.check(t, hierarchies, deleted, "401 if in root", "you may not update")
	r = newRig(t, "root <- a <- b")
	r.may = []string{"root"}
	r.check(t, hierarchies, deleted, "ok if in root", "")
}

// HNC's rules had the resource as somebody had typed it, and matched nothing where
// that was the singular.
func TestWeakPoint5_aResourceInTheSingularIsTheSame(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"secrets", "secret", "Secret"} {
		r := newRig(t, "a <- b")
		r.world.Sources, r.others = sources("Ignore"), sources("Propagate", "a", "b")
		r.check(t, configurations, request{op: "UPDATE", object: "{metadata: {name: config}, spec: {resources: [{resource: " + resource + "}]}}"},
			"409", "Secret b/x by that in a")
		if len(r.read) != 1 || r.read[0][0].Resource.Resource != "secrets" {
			t.Errorf("%s is read as %v", resource, r.read)
		}
	}
}

// HNC panicked on a treeSelect with nothing between the commas.
func TestWeakPoint6_aTreeSelectWithNothingBetweenTheCommas(t *testing.T) {
	t.Parallel()
	for _, says := range []string{"a,", " ", ",", "!", "a,,b", "! "} {
		r := newRig(t, "a <- b")
		r.check(t, objects, request{
			op: "CREATE", namespace: "a", kind: metav1.GroupVersionKind{Version: "v1", Kind: "Secret"},
			object: `{metadata: {name: x, annotations: {propagate.hnc.x-k8s.io/treeSelect: "` + says + `"}}}`,
		}, "400", "treeSelect")
	}
}

// HNC let an exception be taken away with which objects further down were spared.
func TestWeakPoint12_anExceptionTakenAwayOverwritesNothing(t *testing.T) {
	t.Parallel()
	const with = `{metadata: {name: x, annotations: {propagate.hnc.x-k8s.io/KEY: "VALUE"}}}`
	for key, value := range map[string]string{"none": "true", "treeSelect": "!b", "select": "no=where"} {
		q := request{op: "UPDATE", namespace: "a", kind: metav1.GroupVersionKind{Version: "v1", Kind: "Secret"}}
		q.before, q.object = strings.NewReplacer("KEY", key, "VALUE", value).Replace(with), "{metadata: {name: x}}"
		newRig(t, "a <- b", "b").check(t, objects, q, "409", "in the namespaces b")
		newRig(t, "a <- b").check(t, objects, q, "ok", "")
	}
}
