// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

const (
	syncTitle = "Git says what is in the cluster, and nobody fights over a namespace"
	// syncHome is where RootSyncs are, and common the namespace that all of them use.
	syncHome = "config-management-system"
	common   = "namespace-a"

	syncConfiguration = "apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\nrootSync: {allowFileSources: true}\n"
)

// syncFiles are the kinds that RootSyncs take, and the rights of their workload.
var syncFiles = []string{"-f", "config/namespaces/config-management-system.yaml", "-f", "config/crd/configsync", "-f", "config/rbac/sync.yaml"}

// declares is the Namespace, and greeting an object in it.
const declares = "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + common + "}\n"

func greeting(name, text string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-%s, namespace: %s}\ndata: {greeting: %q}\n", name, common, "from "+text)
}

// rootSync is one of a repository of its name.
func rootSync(dir, name string) string {
	return fmt.Sprintf(`apiVersion: configsync.gke.io/v1beta1
kind: RootSync
metadata: {name: sync-%s, namespace: %s}
spec:
  sourceFormat: unstructured
  git: {repo: "file://%s", branch: main, auth: none, period: 1s}
---
`, name, syncHome, repository(dir, name))
}

// rootSyncs are told on a local control plane only: each of them is a cluster
// administrator.
func rootSyncs(p place) chapter {
	if !p.local {
		return chapter{title: syncTitle, about: "Left out: a RootSync that names no roles is cluster administrator, and this cluster is somebody's"}
	}
	steps := []step{
		{
			why:     "RootSyncs are the kind of Config Sync, and take a workload and an identity of their own",
			kubectl: append([]string{"apply", "--server-side"}, syncFiles...), says: "rootsyncs.configsync.gke.io serverside-applied",
		},
		{
			does: "three Git repositories are made, and one process starts that is to sync all of them",
			do:   startSync,
		},
	}
	steps = append(steps, threeSyncs(p.dir)...)
	steps = append(steps, drift()...)
	return chapter{title: syncTitle, steps: append(steps, noFight(p.dir)...)}
}

func startSync(ctx context.Context, s *stage) error {
	for name, content := range map[string]string{"a": declares, "x": greeting("x", "x"), "y": greeting("y", "y")} {
		if err := commit(ctx, s.dir, name, content); err != nil {
			return err
		}
	}
	file := filepath.Join(s.dir, "sync.yaml")
	if err := os.WriteFile(file, []byte(syncConfiguration), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return s.runSync(ctx, "--config", file, "--config-map", "")
}

// runSync runs the workload that syncs as a process of this machine.
func (s *stage) runSync(ctx context.Context, args ...string) error {
	err := manager.AwaitServed(ctx, s.cluster, "config/crd/configsync") // or it ends again
	if err != nil {
		return err
	}
	s.sync, err = manager.Start(ctx, s.cluster, manager.Options{
		Workload: manager.Sync, Binary: s.binary, Dir: s.dir,
		Args: append(args, "--cache-dir", filepath.Join(s.dir, "sources")),
	})
	return err
}

// threeSyncs are those of the seed, in the order that goes wrong in Config Sync.
func threeSyncs(dir string) []step {
	whose := []string{"get", "namespace", common, "-o", `jsonpath={.metadata.annotations.configsync\.gke\.io/manager}`}
	return []step{
		{
			why:     "sync-x and sync-y have objects in a namespace that neither declares. They come first",
			kubectl: []string{"apply", "-f", "-"}, stdin: rootSync(dir, "x") + rootSync(dir, "y"), says: "sync-y created",
		},
		{kubectl: []string{"get", "configmap", "cm-y", "-n", common}, says: "cm-y", soon: true},
		{why: "One of the two has made it along the way, whichever was fetched first", kubectl: whose, says: ":root_sync-", soon: true},
		{
			why:     "sync-a declares the namespace, and comes last",
			kubectl: []string{"apply", "-f", "-"}, stdin: rootSync(dir, "a"), says: "sync-a created",
		},
		{why: "Who declares it has it. It was handed over: it is the same namespace, with all that is in it", kubectl: whose, says: ":root_sync-a", soon: true},
		{
			kubectl: []string{"get", "namespace", common, "-o", `jsonpath={.metadata.annotations.holdfast\.dev/claims}`},
			says:    "declared rootsync/" + syncHome + "/sync-a",
		},
		{
			why:     "All three are synced, without an error",
			kubectl: []string{"wait", "rootsyncs", "--all", "-n", syncHome, "--for=jsonpath={.status.lastSyncedCommit}", "--timeout=30s"}, says: "sync-y condition met", soon: true,
		},
	}
}

// drift is put back.
func drift() []step {
	in := func(args ...string) []string { return append(args, "-n", common) }
	return []step{
		{
			why:     "What somebody changes is put back, and what somebody deletes",
			kubectl: in("patch", "configmap", "cm-x", "--type=merge", "-p", `{"data": {"greeting": "from somebody"}}`), says: "patched",
		},
		{kubectl: in("get", "configmap", "cm-x", "-o", "jsonpath={.data.greeting}"), says: "from x", soon: true},
		{kubectl: in("delete", "configmap", "cm-y"), says: "deleted"},
		{kubectl: in("get", "configmap", "cm-y", "-o", "jsonpath={.data.greeting}"), says: "from y", soon: true},
	}
}

// noFight has one object declared twice.
func noFight(dir string) []step {
	return []step{
		{
			does: "a commit to the repository of sync-y declares the ConfigMap of sync-x as well, with another content",
			do: func(ctx context.Context, _ *stage) error {
				return commit(ctx, dir, "y", greeting("x", "y")+"---\n"+greeting("y", "y, again"))
			},
		},
		{
			why:     "Of two that declare one object the older RootSync has it, and the other is told; nobody writes it to and fro",
			kubectl: []string{"get", "rootsync", "sync-y", "-n", syncHome, "-o", "jsonpath={.status.sync.errors[*].errorMessage}"}, says: `management conflict with the ":root_sync-x" reconciler`, soon: true,
		},
		{kubectl: []string{"get", "configmap", "cm-x", "-n", common, "-o", "jsonpath={.data.greeting}"}, says: "from x"},
		{
			why:     "The rest of that commit is applied",
			kubectl: []string{"get", "configmap", "cm-y", "-n", common, "-o", "jsonpath={.data.greeting}"}, says: "from y, again", soon: true,
		},
		{kubectl: []string{"get", "rootsyncs", "-n", syncHome}, says: "sync-y"},
	}
}

func repository(dir, name string) string { return filepath.Join(dir, "git", name) }

// commit makes a commit with this content, and a repository if there is none.
func commit(ctx context.Context, dir, name, content string) error {
	repo := repository(dir, name)
	if err := os.MkdirAll(repo, 0o755); err != nil {
		return fmt.Errorf("make folder for a repository: %w", err)
	}
	if err := os.WriteFile(filepath.Join(repo, "objects.yaml"), []byte(content), 0o600); err != nil {
		return fmt.Errorf("write into a repository: %w", err)
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, // which changes nothing where it was done
		{"add", "."},
		{"-c", "user.name=demo", "-c", "user.email=demo@example.com", "commit", "--quiet", "--no-gpg-sign", "-m", "demo"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = repo
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}
