// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

func anchor(namespace, name string) string {
	return `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: "` + name + `", namespace: "` + namespace + `"}}` + "\n---\n"
}

func hierarchy(namespace, parent string) string {
	return `{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy, namespace: "` + namespace + `"}, spec: {parent: "` + parent + `"}}` + "\n---\n"
}

// anchors are attempts to take over a namespace by an anchor of its name.
var anchors = []attempt{
	{number: 69, name: "holdfast-system", users: "nsadmin", on: "ns holdfast-system", line: "create -f -", input: anchor("{shop}", "holdfast-system"), says: "cannot be a subnamespace", absent: "subns holdfast-system -n {shop}"},
	{number: 70, name: "kube-system", users: "nsadmin", on: "ns kube-system", line: "create -f -", input: anchor("{shop}", "kube-system"), says: "cannot be a subnamespace", absent: "subns kube-system -n {shop}"},
	{number: 71, name: "default", users: "nsadmin", on: "ns default", line: "create -f -", input: anchor("{shop}", "default"), says: "already", absent: "subns default -n {shop}"},
	{number: 72, name: "a namespace of another", users: "nsadmin", on: "ns {other}", line: "create -f -", input: anchor("{shop}", "{other}"), says: "already", absent: "subns {other} -n {shop}"},
}

const (
	of     = "hierarchyconfiguration hierarchy -n "
	below  = of + "{below}"
	asked  = "this changes the tree of the namespace"
	parent = "patch hierarchyconfiguration hierarchy -n {below} --type=merge -p "
)

// parents are attempts to change trees with rights on one side alone: nsadmin is admin in free, which is in no tree, and in below,
// whose parent is other.
var parents = []attempt{
	{number: 73, name: "below a namespace of another", users: "nsadmin", line: "create -n {free} -f -", input: hierarchy("{free}", "{other}"), says: asked, absent: of + "{free}"},
	{number: 73, name: "below a namespace of Kubernetes", users: "nsadmin", line: "create -n {free} -f -", input: hierarchy("{free}", "kube-system"), says: "cannot be a parent", absent: of + "{free}"},
	{number: 73, name: "a namespace of another below one's own", users: "nsadmin", line: "create -n {alien} -f -", input: hierarchy("{alien}", "{free}"), says: "is forbidden", absent: of + "{alien}"},
	{number: 73, name: "out of the tree of another", users: "nsadmin", on: below, line: parent + `{"spec":{"parent":null}}`, says: asked},
	{number: 73, name: "out of the tree of another into one's own", users: "nsadmin", on: below, line: parent + `{"spec":{"parent":"{free}"}}`, says: asked},
	{number: 73, name: "out of the tree of another by a deletion", users: "nsadmin", on: below, line: "delete hierarchyconfiguration hierarchy -n {below}", says: asked},
}

const (
	labelled = "subns {labelled} -n {shop}"
	holding  = "subns {holding} -n {shop}"
)

// subnamespaces are attempts to delete subnamespaces: labelled is protected, and holding has something protected.
var subnamespaces = []attempt{
	{number: 75, name: "the anchor of a protected Namespace", users: "nsadmin wide", on: labelled, line: "delete subns {labelled} --wait=false", says: "{labelled}"},
	{number: 75, name: "the Namespace of that anchor", users: "wide", on: "ns {labelled}", line: "delete ns {labelled} --wait=false", says: "{labelled}"},
	{number: 75, name: "the anchor of protected contents", users: "nsadmin wide", on: holding, line: "delete subns {holding} --wait=false", says: "configmaps/kept"},
	{number: 75, name: "the Namespace of protected contents", users: "wide", on: "ns {holding}", line: "delete ns {holding} --wait=false", says: "{holding}"},
	{number: 77, name: "all anchors", users: "nsadmin wide", on: holding, line: "delete subns --all --wait=false", says: "configmaps/kept"},
	{number: 77, name: "the collection of anchors", users: "nsadmin wide", on: labelled, line: "delete --raw /apis/hnc.x-k8s.io/v1alpha2/namespaces/{shop}/subnamespaceanchors", says: "cannot be deleted"},
}

func TestHeld_trees(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.cast("nsadmin", "wide")
	r.Apply(namespace("{below}") + namespace("{free}") + namespace("{alien}"))
	r.bind("{below}", "admin", r.user("nsadmin"))
	r.bind("{free}", "admin", r.user("nsadmin"))
	r.Apply(hierarchy("{below}", "{other}"))
	r.ApplyAs("{nsadmin}", anchor("{shop}", "{labelled}")+anchor("{shop}", "{holding}")+anchor("{shop}", "{cut}"))
	for _, in := range []string{"{holding}", "{cut}"} {
		r.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: "` + in + `", labels: {` + protected + `}}}`)
	}
	r.do("", "label ns {labelled} holdfast.dev/deletion-protected=Always", "")
	for _, name := range []string{"{labelled}", "{holding}", "{cut}"} {
		r.Eventually(func() int { return r.Run("delete subns " + name + " -n {shop} --dry-run=server").Code }, story.Patience, story.Slower).ShouldNot(gomega.BeZero(), name)
	}
	r.hold(anchors)
	r.hold(parents)
	r.hold(subnamespaces)
	r.play(cuts)
}

// cuts are attempts to have an anchor deleted past the webhook, which takes its subnamespace with it.
var cuts = []scenario{
	{76, "an anchor without finalizers, with an owner that does not exist", func(r *rig) {
		contents := r.state("cm kept -n {cut}")
		space := r.state("ns {cut}")
		r.do("nsadmin", `patch subns {cut} -n {shop} --type=merge -p {"metadata":{"finalizers":null}}`, "")
		r.Expect(r.as("nsadmin", "delete subns {cut} -n {shop}", "").Stderr).To(gomega.ContainSubstring("configmaps/kept"))
		r.do("nsadmin", `patch subns {cut} -n {shop} --type=merge -p {"metadata":{"finalizers":null,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"`+anotherUID+`"}]}}`, "")
		r.tried("generic-garbage-collector", "subnamespaceanchors", "{cut}")
		if r.state("subns {cut} -n {shop}").Terminating {
			r.T.Error("the anchor is being deleted")
		}
		r.same("cm kept -n {cut}", contents)
		r.same("ns {cut}", space)
	}},
}
