// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"strings"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// meets are attempts that take more than one request, in the namespaces of TestMeet_rows.
var meets = []scenario{
	{39, "Holdfast's own objects in a source", allForbidden},
	{40, "the binding of a RootSync with another subject", func(r *rig) {
		r.Synced("subj", r.Commit("subj", cm("{shop}", "subj-1"), edits("{shop}")))
		name := r.derived("subj", "{shop}")
		r.do("nsadmin", `patch rolebinding `+name+` -n {shop} --type=merge -p {"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"{nsadmin}"}]}`, "")
		r.Synced("subj", r.Commit("subj", cm("{shop}", "subj-2"), edits("{shop}")))
		r.event(story.Syncs, "{subj}", "BindingNameTaken")
	}},
	{41, "the binding of a RootSync without its labels, and with those of another", func(r *rig) {
		r.Synced("lab", r.Commit("lab", cm("{shop}", "lab-1"), edits("{shop}")))
		name := r.derived("lab", "{shop}")
		for _, change := range []string{"configsync.gke.io/sync-kind-", "configsync.gke.io/sync-name=other --overwrite"} {
			r.do("nsadmin", "label rolebinding "+name+" -n {shop} "+change, "")
			r.See("rolebinding "+name+` -n {shop} -o jsonpath={.metadata.labels.configsync\.gke\.io/sync-kind}/{.metadata.labels.configsync\.gke\.io/sync-name}`, "RootSync/{lab}")
		}
	}},
	{42, "a finalizer on the binding of a RootSync", func(r *rig) {
		r.Synced("fin", r.Commit("fin", cm("{shop}", "fin-1"), edits("{shop}"), edits("{one}")))
		name := r.derived("fin", "{shop}")
		r.do("nsadmin", `patch rolebinding `+name+` -n {shop} --type=merge -p {"metadata":{"finalizers":["example.com/held"]}}`, "")
		r.Commit("fin", cm("{one}", "fin-1"), edits("{one}"))
		r.See("configmap fin-1 -n {one} -o name", "configmap/fin-1\n")
		r.Synced("beside", r.Commit("beside", cm("{one}", "beside"), edits("{one}")))
		r.Run("delete rootsync {fin} -n " + story.Syncs)
		r.See("rootsync {fin} -n "+story.Syncs+" -o name", "")
		r.Expect(r.Deletes("holdfast-sync", "rolebindings", "{shop}", name)).To(gomega.BeNumerically("<", 20), "it is deleted again and again")
		r.do("nsadmin", `patch rolebinding `+name+` -n {shop} --type=merge -p {"metadata":{"finalizers":null}}`, "")
		r.See("rolebinding "+name+" -n {shop} -o name", "")
	}},
	{43, "a namespace that never ends, which a RootSync declares", func(r *rig) {
		r.ApplyAs("{nsadmin}", anchor("{shop}", "{ends}"))
		r.See("rolebinding admin -n {ends} -o name", "rolebinding.rbac.authorization.k8s.io/admin\n")
		r.ApplyAs("{nsadmin}", `{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: "{ends}", finalizers: [example.com/held]}}`)
		r.do("nsadmin", "delete subns {ends} -n {shop} --wait=false", "")
		r.See("ns {ends} -o jsonpath={.status.phase}", "Terminating")
		r.Commit("ends", ns("{ends}")+cm("{one}", "ends-1"))
		r.See("configmap ends-1 -n {one} -o name", "configmap/ends-1\n")
		r.Expect(r.as("nsadmin", "create -f -", anchor("{child}", "{ends}")).Stderr).To(gomega.ContainSubstring("already"))
		r.do("", `patch configmap held -n {ends} --type=merge -p {"metadata":{"finalizers":null}}`, "")
		r.See("ns {ends} -o jsonpath={.status.phase}", "Active")
		r.Expect(r.claims("{ends}") + r.get("ns {ends} -o jsonpath={.metadata.annotations}")).NotTo(gomega.ContainSubstring("subnamespace"))
	}},
	{44, "a RootSync that has taken over a subnamespace is removed, and leaves it to its anchor", func(r *rig) {
		r.ApplyAs("{nsadmin}", anchor("{shop}", "{taken}"))
		r.See("ns {taken} -o name", "namespace/{taken}\n")
		r.Synced("takes", r.Commit("takes", ns("{taken}")+cm("{taken}", "x")))
		before := r.state("ns {taken}")
		r.do("", "annotate rootsync {takes} -n "+story.Syncs+" configsync.gke.io/deletion-propagation-policy=Foreground", "")
		r.do("", "delete rootsync {takes} -n "+story.Syncs, "")
		r.Expect(r.get("configmap x -n {taken} -o name")).To(gomega.BeEmpty())
		r.Expect(r.state("ns {taken}").UID).To(gomega.Equal(before.UID))
		r.Expect(r.get(`ns {taken} -o jsonpath={.metadata.annotations.configsync\.gke\.io/manager}{.metadata.deletionTimestamp}`)).To(gomega.BeEmpty())
		r.Eventually(func() string { return r.claims("{taken}") }, story.Patience, story.Slower).ShouldNot(gomega.ContainSubstring("rootsync"))
		r.See("subns {taken} -n {shop} -o jsonpath={.status.status}", "Ok")
		r.event(story.Syncs, "{takes}", "NamespaceLeft")
	}},
	{45, "an anchor of a namespace that a RootSync has taken over is deleted", func(r *rig) {
		r.ApplyAs("{nsadmin}", anchor("{shop}", "{stays}"))
		r.See("ns {stays} -o name", "namespace/{stays}\n")
		r.Synced("stays", r.Commit("stays", ns("{stays}")+cm("{stays}", "x")))
		before := r.state("ns {stays}")
		r.do("nsadmin", "delete subns {stays} -n {shop}", "")
		r.Expect(r.state("ns {stays}").UID).To(gomega.Equal(before.UID))
		r.See("configmap x -n {stays} -o name", "configmap/x\n")
	}},
	{46, "a subnamespace keeps its parent from being pruned, and nothing else", func(r *rig) {
		r.Synced("prune", r.Commit("prune", ns("{parent}")+ns("{rest}")+cm("{one}", "prune-1")))
		r.bind("{parent}", "admin", r.user("nsadmin"))
		r.ApplyAs("{nsadmin}", anchor("{parent}", "{sub2}"))
		r.See("ns {sub2} -o name", "namespace/{sub2}\n")
		r.Commit("prune", ns("{rest}")+cm("{one}", "prune-2"))
		r.See("configmap prune-2 -n {one} -o name", "configmap/prune-2\n")
		r.See("configmap prune-1 -n {one} -o name", "")
		r.Says("prune", "has subnamespaces ({sub2})")
		r.do("nsadmin", "delete subns {sub2} -n {parent}", "")
		r.See("ns {parent} -o name", "")
	}},
	{47, "the identity that a RootSync has declared for an account", func(r *rig) {
		const arn = ` -o jsonpath={.metadata.annotations.eks\.amazonaws\.com/role-arn}`
		r.do("", "apply --server-side --field-manager=kubectl --force-conflicts -f -", connects)
		users["kcuser"](r, r.user("kcuser"))
		r.Synced("ident", r.Commit("ident", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: ident-connect, namespace: "{shop}", annotations: {eks.amazonaws.com/role-arn: "arn:theirs"}}}`))
		r.do("kcuser", "create -f -", connect("ident", `annotations: {eks.amazonaws.com/role-arn: "arn:mine"}, labels: {team: mine}`, ""))
		r.See("sa ident-connect -n {shop} -o jsonpath={.metadata.labels.team}", "mine")
		r.See("sa ident-connect -n {shop}"+arn, "arn:theirs")
	}},
	{48, "the label by which RootSyncs see what they have, taken away", func(r *rig) {
		r.Synced("seen", r.Commit("seen", valued("{shop}", "seen", "1")))
		r.do("nsadmin", "label configmap seen -n {shop} applyset.kubernetes.io/part-of- configsync.gke.io/declared-version-", "")
		r.do("nsadmin", `patch configmap seen -n {shop} --type=merge -p {"data":{"v":"mine"},"metadata":{"annotations":null}}`, "")
		r.has("{shop}", "seen", "1")
		r.See("configmap seen -n {shop} -o jsonpath={.metadata.labels.configsync\\.gke\\.io/declared-version}", "v1")
	}},
	{49, "an object with the marks of a RootSync that has another of the name", func(r *rig) {
		marks := `annotations: {configmanagement.gke.io/managed: enabled, configsync.gke.io/manager: ":root_{forged}", configsync.gke.io/resource-id: "_configmap_{shop}_forged"}`
		r.ApplyAs("{nsadmin}", `{apiVersion: v1, kind: ConfigMap, metadata: {name: forged, namespace: "{shop}", `+marks+`}, data: {v: mine}}`)
		r.Synced("mine", r.Commit("mine", valued("{shop}", "forged", "1"), edits("{shop}")))
		r.has("{shop}", "forged", "1")
	}},
	{50, "a Role whose copies look as if a RootSync had declared them", func(r *rig) {
		marks := `configmanagement.gke.io/managed: enabled, configsync.gke.io/manager: ":root_{looks}", configsync.gke.io/resource-id: "rbac.authorization.k8s.io_role_{child}_looks"`
		r.ApplyAs("{nsadmin}", role("{shop}", "looks", marks))
		r.See(`role looks -n {child} -o jsonpath={.metadata.labels.hnc\.x-k8s\.io/inherited-from}`, "{shop}")
		before := r.state("role looks -n {child}")
		r.Synced("looks", r.Commit("looks", cm("{one}", "looks")))
		r.Commit("looks", cm("{one}", "looks")+role("{child}", "looks", ""))
		r.Says("looks", "it is a copy, which the hierarchy keeps")
		r.Synced("looks", r.Commit("looks", cm("{one}", "looks")))
		r.same("role looks -n {child}", before)
	}},
	{51, "claims of another Namespace of the name, on one that is created again", func(r *rig) {
		r.do("", "create ns {again}", "")
		written := "of " + string(r.state("ns {again}").UID) + ", declared rootsync/" + story.Syncs + "/forged 2020-01-01T00:00:00Z"
		r.do("", "delete ns {again}", "")
		r.do("", "create -f -", `{apiVersion: v1, kind: Namespace, metadata: {name: "{again}", annotations: {holdfast.dev/claims: "`+written+`"}}}`)
		r.Synced("again", r.Commit("again", ns("{again}")+cm("{again}", "x")))
		r.See("configmap x -n {again} -o name", "configmap/x\n")
		if text := r.claims("{again}"); strings.Contains(text, "forged") && strings.HasPrefix(text, "of "+string(r.state("ns {again}").UID)) {
			r.T.Errorf("claims: %s", text)
		}
	}},
	{52, "RoleBindings to the accounts of RootSyncs in all forms, down a tree", func(r *rig) {
		r.ApplyAs("{nsadmin}", binding("{shop}", "as-account", "view", account("any"), "")+
			binding("{shop}", "as-user", "view", person("system:serviceaccount:"+story.Syncs+":root-reconciler-{any}"), "")+
			binding("{shop}", "as-group", "view", `{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:serviceaccounts:`+story.Syncs+`"}`, "")+
			binding("{shop}", "fence", "view", nsadmin, ""))
		r.See("rolebinding fence -n {child} -o name", "rolebinding.rbac.authorization.k8s.io/fence\n")
		r.Expect(r.get("rolebinding as-account as-user as-group -n {child} -o name")).To(gomega.BeEmpty())
	}},
}
