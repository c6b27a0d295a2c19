// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/kwok"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// run tells the whole story on a cluster of its own.
func (d demo) run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "holdfast-demo-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if d.kubeconfig == "" { // what it says of a first build comes before the story
		if _, err := kwok.Binary(ctx, d.progress); err != nil {
			return err
		}
	}
	s, err := newStage(ctx, dir, d.kubeconfig, d.progress)
	if s != nil {
		defer func() { err = errors.Join(err, s.leave(ctx)) }()
	}
	if err != nil {
		return err
	}
	return table(d.out, tell(ctx, d.out, s, story(s.place())))
}

// place is where the story is told.
type place struct {
	// namespace of the story, which the story makes.
	namespace string
	// local says that the cluster is the demo's own.
	local bool
	// dir has what the story keeps on this machine.
	dir string
	// theirTrees says what an existing cluster has of trees of namespaces, which the
	// demo leaves alone.
	theirTrees string
}

// tellsTrees says whether the chapter about trees is told.
func (p place) tellsTrees() bool { return p.theirTrees == "" }

// story is everything that is told.
func story(p place) []chapter {
	return []chapter{
		installation(), protectionByLabel(p.namespace), consequences(p.namespace), evictions(p.local), trees(p), rootSyncs(p),
		serviceAccounts(p), outage(p), emergencyStop(p.namespace),
	}
}

// isReady waits until Holdfast says that it is ready, of which there is nothing
// at first.
var isReady = step{
	why:     "It says of itself that everything is in place",
	kubectl: []string{"wait", "--for=condition=Ready", "holdfast/holdfast", "--timeout=30s"}, says: "condition met", soon: true,
}

func installation() chapter {
	return chapter{title: "Installing Holdfast", steps: []step{
		{
			why:     "A real API server, of the version that was asked for",
			kubectl: []string{"version"}, says: "Server Version: v" + os.Getenv(cluster.VersionVariable),
		},
		{
			why:     "Holdfast's manifests: a CRD, a namespace, an identity with exactly the rights it needs, and the anchor",
			kubectl: manager.InstallArgs, says: "clusterrole.rbac.authorization.k8s.io/holdfast-anchor",
		},
		{
			does: "the manager starts, as a process of this machine under its own service account",
			do:   func(ctx context.Context, s *stage) error { return s.startManager(ctx) },
		},
		isReady,
		{
			why:     "The rules are policies inside the API server; no request has to leave it to be judged",
			kubectl: []string{"get", "validatingadmissionpolicies", "-l", "app.kubernetes.io/managed-by=holdfast", "-o", "name"}, says: "holdfast-deletion-karmada",
		},
	}}
}
