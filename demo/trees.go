// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

const treesTitle = "A namespace has a parent, and gets from it what is shared"

// forest is what makes trees possible: kinds, and rights to copy.
var forest = []string{"-f", "config/crd/hnc", "-f", "config/rbac/hierarchy.yaml"}

// keepTrees turns trees on, on an existing cluster for the story's namespaces
// alone: the others would get labels that nobody asked for.
func keepTrees(p place) string { return keepTreesAnd(p, "") }

// keepTreesAnd is keepTrees with more in the configuration.
func keepTreesAnd(p place, more string) string {
	included := ""
	if !p.local {
		included = `\n  includedNamespaces: ` + p.namespace + `(-.*)?`
	}
	return `{"data": {"config.yaml": "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\nhierarchy:\n  mode: Enforce` +
		included + `\n` + more + `"}}`
}

// The stages of a team, below the namespace of the story.
func stageLive(ns string) string { return ns + "-live" }
func stageTest(ns string) string { return ns + "-test" }
func stageLoad(ns string) string { return stageTest(ns) + "-load" }
func stageNext(ns string) string { return ns + "-next" }

// trees are told where nobody has any.
func trees(p place) chapter {
	if !p.tellsTrees() {
		return chapter{title: treesTitle, about: "Left out: this cluster has trees of somebody's (" + p.theirTrees + "), and the demo leaves them alone"}
	}
	steps := []step{
		{
			why:     "Trees of namespaces are the kinds of HNC, and take rights of their own",
			kubectl: append([]string{"apply", "--server-side"}, forest...), says: "subnamespaceanchors.hnc.x-k8s.io serverside-applied",
		},
		{kubectl: []string{"patch", "configmap", "holdfast", "-n", "holdfast-system", "--type=merge", "-p", keepTrees(p)}, says: "patched"},
	}
	steps = append(steps, team(p.namespace)...)
	steps = append(steps, shared(p.namespace)...)
	steps = append(steps, mistakes(p.namespace)...)
	steps = append(steps, treesAlone(p)...)
	return chapter{title: treesTitle, steps: steps}
}

// team is a tree.
func team(ns string) []step {
	create := func(name, parent string) step {
		return step{kubectl: []string{"hns", "create", name, "-n", parent}, says: "Successfully created", soon: true}
	}
	first := create(stageLive(ns), ns)
	first.why = "A team has namespaces below its own, and makes them itself: a right there is enough"
	complete := step{
		why:     "One can wait until all that is shared is there",
		kubectl: []string{"wait", "namespace/" + stageLoad(ns), "--for=condition=holdfast.dev/PropagationComplete", "--timeout=30s"}, says: "condition met", soon: true,
	}
	return []step{
		first, create(stageTest(ns), ns), create(stageLoad(ns), stageTest(ns)), complete,
		{kubectl: []string{"hns", "tree", ns}, says: "[s] " + stageLoad(ns)},
	}
}

// shared is what comes from above, and what does not.
func shared(ns string) []step {
	in := func(args ...string) []string { return append(args, "-n", ns) }
	return []step{
		{
			why:     "Roles and RoleBindings come from above",
			kubectl: in("create", "role", "reader", "--verb=get", "--resource=pods"), says: "created",
		},
		{kubectl: in("hns", "get", "roles"), says: stageLoad(ns), soon: true},
		{
			why:     "Of other kinds what asks for it, and to where it says: this Secret is not for the tests",
			kubectl: []string{"hns", "config", "set-resource", "secrets", "--mode", "AllowPropagate"},
		},
		{kubectl: in("create", "secret", "generic", "payment", "--from-literal=token=s3cr3t"), says: "created"},
		{kubectl: in("annotate", "secret", "payment", "propagate.hnc.x-k8s.io/treeSelect=!"+stageTest(ns)), says: "annotated"},
		{kubectl: in("hns", "get", "secrets"), says: stageLive(ns), soon: true},
		{kubectl: []string{"get", "secret", "payment", "-n", stageTest(ns)}, refused: true, says: "not found"},
	}
}

// mistakes are refused, with the reason.
func mistakes(ns string) []step {
	return []step{
		{
			why:     "A kind that has just been added is guarded a moment later, when the API server acts on the rule",
			kubectl: []string{"delete", "secret", "payment", "-n", stageLive(ns), "--dry-run=server"}, refused: true, says: "this is a copy", soon: true,
		},
		{
			why:     "What is refused says why: a copy is changed where it comes from",
			kubectl: []string{"delete", "secret", "payment", "-n", stageLive(ns)}, refused: true,
			says: fmt.Sprintf("this is a copy; delete what it was copied from, in the namespace %q", ns),
		},
		{kubectl: []string{"hns", "set", ns, "--parent", stageLoad(ns)}, refused: true, says: "would be its own ancestor"},
		{
			why:     "A subtree does not go by accident, nor with something protected in it",
			kubectl: []string{"hns", "delete", stageTest(ns), "-n", ns}, refused: true, says: fmt.Sprintf("has namespaces below it (%s)", stageLoad(ns)),
		},
		{kubectl: []string{"create", "configmap", "results", "-n", stageTest(ns)}, says: "created"},
		{kubectl: []string{"holdfast", "protect", "configmap/results", "-n", stageTest(ns)}, says: "protected"},
		{
			kubectl: []string{"hns", "delete", stageTest(ns), "-n", ns, "--allowCascadingDeletion"}, refused: true,
			says: "1 protected object: configmaps/results",
		},
	}
}

// treesAlone is an outage.
func treesAlone(p place) []step {
	ns := p.namespace
	steps := []step{
		{
			why:     "kube-system is excluded from trees",
			kubectl: []string{"hns", "set", "kube-system", "--parent", ns}, refused: true, says: `the namespace "kube-system" is not managed`,
		},
		{does: "the manager is killed, as in a crash", do: func(_ context.Context, s *stage) error { return s.manager.Kill() }},
		{
			why:     "Copies stay as they are",
			kubectl: []string{"delete", "role", "reader", "-n", stageLoad(ns)}, refused: true, says: "this is a copy",
		},
	}
	steps = append(steps, inKubeSystem(p.local)...)
	return append(steps, []step{
		{
			why:     "Only what changes a tree waits",
			kubectl: []string{"hns", "create", stageNext(ns), "-n", ns}, refused: true, says: `failed calling webhook "subnamespaceanchors.hnc.x-k8s.io"`,
		},
		{does: "the manager starts again", do: func(ctx context.Context, s *stage) error { return s.startManager(ctx) }},
		{kubectl: []string{"hns", "create", stageNext(ns), "-n", ns}, says: "Successfully created", soon: true},
	}...)
}

// inKubeSystem writes where no tree reaches. On an existing cluster it only asks
// whether it could.
func inKubeSystem(local bool) []step {
	in := func(args ...string) []string { return append(args, "-n", "kube-system") }
	create := step{
		why:     "In kube-system everything goes on: the rules leave its name out, so it needs no label for that, and no Holdfast",
		kubectl: in("create", "secret", "generic", "restored"), says: "secret/restored created",
	}
	if !local {
		create.kubectl = append(create.kubectl, "--dry-run=server")
		return []step{create}
	}
	return []step{
		create,
		{
			why:     "Even what elsewhere only copies may carry",
			kubectl: in("label", "secret", "restored", hncv1alpha2.LabelInheritedFrom+"=elsewhere"), says: "labeled",
		},
		{kubectl: in("delete", "secret", "restored"), says: "deleted"},
	}
}
