// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// source is an attempt by what a RootSync names, or by what is committed there.
type source struct {
	number int
	name   string
	// git are fields of spec.git: a repo, a branch or a dir in the place of the test's. RAN is a file that no command writes.
	git string
	// yaml is committed; UID is that of the object. The RootSync has the roles; without any it may edit in shop.
	yaml, roles string
	// says is a part of its state. Where it is empty, the RootSync synchronizes without errors.
	says string
	// on is an object that does not change, and absent one that is not created, as arguments of "kubectl get".
	on, absent string
}

const (
	inRepo    = "spec.git.repo is"
	inBranch  = "which is no name in a repository"
	notMaySet = "KNV2013"

	admins   = `{kind: ClusterRole, name: admin, namespace: "{shop}"}`
	everyone = `{kind: ClusterRole, name: cluster-admin}`
	toAdmin  = `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: none}]}`
)

func claims(namespace string) string {
	return `{apiVersion: v1, kind: Namespace, metadata: {name: "` + namespace + `", annotations: {holdfast.dev/claims: "of UID, declared rootsync/forged/x -"}}}`
}

func roleBinding(name string) string {
	return `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: ` + name + `, namespace: "{shop}"}, ` + toAdmin
}

var sources = []source{
	{number: 79, name: "repo --upload-pack", git: `repo: "--upload-pack=touch RAN"`, says: inRepo},
	{number: 79, name: "repo --upload-pack with a path", git: `repo: "--upload-pack=touch RAN:r"`, says: inRepo},
	{number: 80, name: "repo ext::sh", git: `repo: "ext::sh -c touch% RAN"`, says: inRepo},
	{number: 81, name: "repo with a newline and -oProxyCommand", git: `repo: "ssh://127.0.0.1/r\n-oProxyCommand=touch RAN"`, says: inRepo},
	{number: 82, name: "repo ssh://-oProxyCommand", git: `repo: "ssh://-oProxyCommand=touch${IFS}RAN/r"`, says: inRepo},
	{number: 83, name: "branch --upload-pack", git: `branch: "--upload-pack=touch RAN"`, says: inBranch},
	{number: 84, name: "branch refs/heads/*:refs/heads/x", git: `branch: "refs/heads/*:refs/heads/x"`, says: `has no branch "refs/heads/*:refs/heads/x"`},
	{number: 85, name: "dir ../../etc", git: "dir: ../../etc", says: "which leads out of the source"},
	{number: 90, name: "an object outside its roles", yaml: cm("{other}", "outside"), says: notMaySet, absent: "cm outside -n {other}"},
	{number: 91, name: "a ClusterRoleBinding to cluster-admin, by edit", yaml: `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: "{crb}"}, ` + toAdmin, says: notMaySet, absent: "clusterrolebinding {crb}"},
	{number: 92, name: "a RoleBinding to cluster-admin, by edit", yaml: roleBinding("edited"), says: notMaySet, absent: "rolebinding edited -n {shop}"},
	{number: 92, name: "a RoleBinding to cluster-admin, by admin", roles: admins, yaml: roleBinding("admitted"), says: notHeld, absent: "rolebinding admitted -n {shop}"},
	{number: 93, name: "claims on a Namespace, by edit", yaml: claims("{one}"), says: notMaySet, on: "ns {one}"},
	{number: 93, name: "claims on a Namespace, by cluster-admin", roles: everyone, yaml: claims("{two}"), says: "is written by Holdfast alone", on: "ns {two}"},
	{number: 94, name: "an override's stamp", yaml: `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: "{shop}", labels: {holdfast.dev/deletion-override: mine, holdfast.dev/marked: "UID"}}}`, on: "cm kept -n {shop}"},
	{number: 95, name: "a protected ConfigMap taken over without its label", yaml: `{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, namespace: "{shop}", labels: {holdfast.dev/deletion-protected: ""}}}`, says: needsVerb, on: "cm taken -n {shop}"},
}

// syncs are the attempts with RootSyncs that take more.
var syncs = []scenario{
	{87, "repo http://127.0.0.1 metrics", metricsAsSource},
	{89, "a RootSync in another namespace", inAnotherNamespace},
	{103, "secrets in what others read", secretsShown},
}

func TestHeld_rootSyncs(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.cast()
	r.Apply(namespace("{one}") + namespace("{two}") + `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: "{shop}", labels: {` + protected + "}}}\n---\n" +
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, namespace: "{shop}", labels: {` + protected + "}}}\n---\n")
	ran := filepath.Join(t.TempDir(), "ran")
	for i, s := range sources {
		t.Run(fmt.Sprintf("%d %s", s.number, s.name), func(t *testing.T) {
			t.Parallel()
			r.in(t).trySource(s, fmt.Sprintf("s%dx%d", s.number, i), ran)
		})
	}
	r.play(syncs)
}

func (r *rig) trySource(s source, name, ran string) {
	r.T.Helper()
	var before state
	if s.on != "" {
		before = r.state(s.on)
	}
	commit := r.Repo(name).Commit(r.T, map[string]string{"x.yaml": r.Long(replaced(s.yaml, "UID", string(before.UID)))})
	r.rootSync(name, story.Syncs, replaced(s.git, "RAN", ran), s.roles)
	want := gomega.ContainSubstring(s.says)
	if s.says == "" {
		want = gomega.Equal("synced " + commit)
	}
	r.Eventually(func() string { return r.State(name) }, story.Patience, story.Often).Should(want)
	if s.on != "" {
		r.same(s.on, before)
		r.Expect(r.get(s.on + " -o jsonpath={.metadata.annotations}")).NotTo(gomega.ContainSubstring("forged"))
	}
	if s.absent != "" {
		r.Expect(r.get(s.absent+" -o name")).To(gomega.BeEmpty(), s.absent)
	}
	if _, err := os.Stat(ran); err == nil {
		r.T.Error("a command ran")
	}
}

// rootSync creates a RootSync of the repository of its name. Fields of spec.git, in the flow style of YAML, replace those of the test.
func (r *rig) rootSync(name, namespace, git, roles string) {
	r.T.Helper()
	fields := []string{"period: 1s"}
	if !strings.Contains(git, "repo: ") {
		fields = append(fields, "repo: "+r.Repo(name).URL())
	}
	for key, value := range map[string]string{"branch": "main", "auth": "none"} {
		if !strings.Contains(git, key+": ") {
			fields = append(fields, key+": "+value)
		}
	}
	if git != "" {
		fields = append(fields, git)
	}
	override := "namespaceStrategy: explicit"
	if roles != noRoles {
		override += ", roleRefs: [" + cmp.Or(roles, edits("{shop}")) + "]"
	}
	r.do("", "apply --server-side -f -", fmt.Sprintf(`{apiVersion: configsync.gke.io/v1beta1, kind: RootSync, metadata: {name: "{%s}", namespace: %q}, spec: {sourceFormat: unstructured, git: {%s}, override: {%s}}}`,
		name, namespace, strings.Join(fields, ", "), override))
}

// noRoles has a RootSync act as cluster-admin.
const noRoles = "none"
