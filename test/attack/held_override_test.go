// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// overrides are attempts of una, who may unprotect in shop, to let go what is elsewhere. The API server accepts each
// DeletionOverride, and its target is none. UID is that of the object.
var overrides = []attempt{
	{number: 52, name: "of a Namespace in that namespace", on: "ns {shop}", input: override("Namespace", "{shop}", "UID"), says: "there is no v1 Namespace {shop} in namespace {shop}"},
	{number: 52, name: "of another Namespace in one's own", on: "ns {other}", input: override("Namespace", "{other}", "UID"), says: "there is no v1 Namespace {other} in namespace {shop}"},
	{number: 53, name: "in one's own namespace with the name and UID of another's object", on: "cm theirs -n {other}", input: override("ConfigMap", "theirs", "UID"), says: "there is no v1 ConfigMap theirs in namespace {shop}"},
	{number: 53, name: "in one's own namespace with the UID of another's object", on: "cm both -n {other}", input: override("ConfigMap", "both", "UID"), says: "has another uid"},
}

func override(kind, name, uid string) string {
	return fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: DeletionOverride, metadata: {name: "NAME"}, spec: {target: {apiVersion: v1, kind: %s, namespace: "{shop}", name: %q, uid: %s}, reason: none, duration: 5m, requestedBy: "{una}"}}`, kind, name, uid)
}

func TestHeld_overrides(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.cast("una", "wide")
	r.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: "{other}", labels: {` + protected + "}}}\n---\n" +
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: both, namespace: "{other}", labels: {` + protected + "}}}\n---\n" +
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: both, namespace: "{shop}", labels: {` + protected + "}}}\n---\n")
	for i, a := range overrides {
		t.Run(fmt.Sprintf("%d %s", a.number, a.name), func(t *testing.T) {
			t.Parallel()
			r := r.in(t)
			before := r.state(a.on)
			name := r.Long(fmt.Sprintf("{override%d}", i))
			r.do("una", "create -f -", replaced(a.input, "NAME", name, "UID", string(before.UID)))
			t.Cleanup(func() { r.as("", "delete dov "+name, "") })
			r.Eventually(func() string { return r.get("dov " + name + " -o jsonpath={.status.phase},{.status.message}") }, story.Patience, story.Slower).
				Should(gomega.And(gomega.HavePrefix("Invalid,"), gomega.ContainSubstring(r.Long(a.says))))
			r.Expect(r.as("wide", "delete "+a.on+" --wait=false", "").Code).NotTo(gomega.BeZero())
			r.same(a.on, before)
		})
	}
}
