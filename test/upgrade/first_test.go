// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// This version starts on what the first one has left. It recognises all of it: no object is created anew, nothing is granted
// twice, and each feature goes on where it was.
func TestFirst_whatItLeftIsRecognised(t *testing.T) {
	t.Parallel()
	o := options
	o.NoManager = true
	o.Manifests = append(o.Manifests, "config/crd/configsync", "config/namespaces/config-management-system.yaml", "config/rbac/hierarchy.yaml", "config/rbac/serviceaccounts.yaml")
	e := testkit.New(t, o)
	s := story.On(t, e, prefix)
	s.Apply(definitions)
	s.See("crd kafkaconnects.kafka.strimzi.io -o jsonpath={.status.acceptedNames.kind}", "KafkaConnect")
	s.Repo("platform").Commit(t, map[string]string{"x.yaml": s.Long(platform)})
	s.Repo("app").Commit(t, map[string]string{"x.yaml": s.Long(app)})
	before := restore(t, s)
	e.Manager = e.StartManager(t)
	if err := e.WaitEnforced(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Sync = e.StartSync(t)

	t.Log("RootSyncs go on with what they have, under the same bindings")
	v := func(name, in string) string { return "configmap " + name + " -n " + in + " -o jsonpath={.data.v}" }
	two := func(text string) string { return strings.ReplaceAll(text, "v: one", "v: two") }
	s.Synced("platform", s.Repo("platform").Commit(t, map[string]string{"x.yaml": s.Long(two(platform))}))
	s.See(v("settings", "{shop}"), "two")
	s.See(v("tool", "{tools}"), "two")
	s.Repo("app").Commit(t, map[string]string{"x.yaml": s.Long(two(app))})
	s.See(v("feature", "{shop}"), "two")
	s.Says("app", "KNV2013: ") // it may not write the namespace, and has no claim any more
	s.Eventually(func() string {
		return s.Run("get ns {shop} -o jsonpath={.metadata.annotations.holdfast\\.dev/claims}").Stdout
	}, story.Patience, story.Slower).
		ShouldNot(gomega.ContainSubstring(s.Long("{app}")))

	t.Log("protections hold")
	refused := func(line, why string) {
		s.Eventually(func() string { return s.Run("delete --dry-run=server " + line).Stderr }, story.Patience, story.Slower).Should(gomega.ContainSubstring(s.Long(why)), line)
	}
	refused("configmap ledger -n {data}", "protected from deletion")
	refused("secret key -n {data}", "{vital}")
	refused("namespace {data}", "{data}")

	t.Log("trees and accounts follow")
	s.ApplyAs("", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: deployer, namespace: "{acme}"}, rules: [{apiGroups: [apps], resources: [deployments], verbs: [get, list]}]}`)
	s.See("role deployer -n {team} -o jsonpath={.rules[0].verbs}", `["get","list"]`)
	s.Apply(strings.ReplaceAll(accounts, "arn:one", "arn:two"))
	s.See(`sa lake-connect -n {data} -o jsonpath={.metadata.annotations.eks\.amazonaws\.com/role-arn}`, "arn:two")

	t.Log("all that was there is still the same")
	for _, o := range before {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(o.GroupVersionKind())
		if err := e.Client.Get(t.Context(), client.ObjectKeyFromObject(o), now); err != nil || now.GetUID() != o.GetUID() {
			t.Errorf("%s %s/%s was %s, and is %s: %v", o.GetKind(), o.GetNamespace(), o.GetName(), o.GetUID(), now.GetUID(), err)
		}
	}
	for _, kind := range []string{"rolebindings", "clusterrolebindings", "serviceaccounts"} {
		if got, want := held(t, s, kind), count(before, kind); got != want {
			t.Errorf("%d %s of RootSyncs, want %d", got, kind, want)
		}
	}

	t.Log("and it goes")
	s.Synced("platform", s.Repo("platform").Commit(t, map[string]string{"x.yaml": s.Long(strings.SplitAfter(two(platform), "---")[0])}))
	s.See(v("settings", "{shop}"), "")
	s.Run("delete subns {team} -n {acme}")
	s.See("ns {team} -o name", "")
	s.Run("delete resourcedeletionprotection {vital}")
	s.Eventually(func() string { return s.Run("delete secret key -n {data}").Stderr }, story.Patience, story.Slower).Should(gomega.BeEmpty())
	s.Run("delete rootsync {app} -n " + story.Syncs)
	s.See("rolebindings -n {shop} -o name", "")
}

// held counts the objects of a kind that RootSyncs have for their rights.
func held(t *testing.T, s *story.Story, kind string) int {
	t.Helper()
	return len(strings.Fields(s.Run("get " + kind + " -A -l configsync.gke.io/sync-kind=RootSync -o jsonpath={.items[*].metadata.name}").Stdout))
}

func count(all []*unstructured.Unstructured, kind string) (n int) {
	for _, o := range all {
		if strings.EqualFold(o.GetKind()+"s", kind) && o.GetLabels()["configsync.gke.io/sync-kind"] == "RootSync" {
			n++
		}
	}
	return n
}
