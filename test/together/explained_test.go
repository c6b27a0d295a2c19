// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package together

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// Whoever meets a tree, a RootSync and a protection at once is told whose it is, who is in
// the way, and what becomes of a change that is allowed. Other rows have more of it.
func TestTogether_6_ownerAndWhyExplainWhatMeets(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.Apply(ns("p"))
	r.Apply(anchor("p", "s"))
	r.Apply(role("p", "view", "get"))
	r.See("role view -n {s}"+verbs, "get")
	r.Synced("sync", r.Commit("sync", ns("c")+cm("c", "own", "1")))

	for _, tt := range []struct {
		name, yaml string
		code       int
		words      []string
	}{
		{"what may be made", role("p", "edit", "get"), 0, []string{"the create would be allowed"}},
		{"what is in a namespace of a RootSync", cm("c", "other", "1"), 0, []string{"rootsync/config-management-system/{sync} owns it (declared)"}},
		{
			"a copy from a backup", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: faked, namespace: "{s}", labels: {hnc.x-k8s.io/inherited-from: "{p}"}}}`, 0,
			[]string{"created without the label hnc.x-k8s.io/inherited-from", "anchor/{p} owns it (subnamespace)"},
		},
		{
			"an anchor for a namespace that is there", anchor("p", "c"), 3,
			[]string{"the webhook subnamespaceanchors.hnc.x-k8s.io (Holdfast: hierarchy)", "409 Conflict", `there is a namespace "{c}" already`},
		},
		{
			"a label on nothing that it could mean", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: "{c}", labels: {holdfast.dev/deletion-protected: "yes"}}}`, 3,
			[]string{"the policy holdfast-deletion-holdfast-value (Holdfast: deletion)", "kubectl holdfast protect configmaps/x -n {c}"},
		},
		{"a namespace from a backup", `{apiVersion: v1, kind: Namespace, metadata: {name: "{x}", annotations: {holdfast.dev/claims: "of 59ab, declared rootsync/a/b -"}}}`, 0, nil},
		{"a namespace that is there", ns("s"), 3, []string{"refused by     the API server", "already exists"}},
	} {
		file := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(file, []byte(r.Long(tt.yaml)), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Log(tt.name)
		r.answers("why create -f "+file, tt.code, tt.words...)
	}

	r.answers("why update cm own -n {c}", 0, "owner          RootSync {sync} (declared)", "RootSync {sync} puts back what it declares of it, within seconds: change it in the source, x.yaml")
	r.answers("why update ns {s} --patch {\"metadata\":{\"labels\":{\"{p}.tree.hnc.x-k8s.io/depth\":\"7\"}}}", 3,
		"the policy holdfast-hierarchy-namespaces (Holdfast: hierarchy)", "labels that say where a namespace stands cannot be changed")
	r.answers("why delete ns {s}", 3, `"{s}" is a subnamespace; delete its anchor in "{p}" instead`, "kubectl delete subns {s} -n {p}")
	r.answers("owner ns {c}", 0, "owner: RootSync {sync} (declared)")
	r.answers("owner ns {s}", 0, "owner: the anchor in namespace {p} (subnamespace)", "{p} > {s}, by the anchor in {p}")
	r.answers("owner sa root-reconciler-{sync} -n "+story.Syncs, 0, "owner: RootSync {sync}, of which it is the account")
	r.answers("owner resourcegroup {sync} -n "+story.Syncs, 0, "owner: RootSync {sync}, of which it is the inventory")
	r.answers("owner validatingadmissionpolicy holdfast-hierarchy-copies", 0, "owner: Holdfast, which puts it back")
}
