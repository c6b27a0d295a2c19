// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// leaveTimeout bounds the clean-up, which goes on after an interrupt.
const leaveTimeout = 60 * time.Second

// run tells the whole story on a cluster of its own.
func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "holdfast-demo-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := newStage(ctx, dir, os.Stderr)
	if s != nil {
		defer func() { err = errors.Join(err, leave(ctx, s)) }()
	}
	if err != nil {
		return err
	}
	results, err := tell(ctx, os.Stdout, s, []chapter{installation(), protectionByLabel(), outage(), emergencyStop()})
	if err != nil {
		return err
	}
	return table(os.Stdout, results)
}

// leave ends what was started; on a cluster that is not ours it also takes
// Holdfast and the story's objects away again.
func leave(ctx context.Context, s *stage) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	var errs []error
	if !s.local {
		for _, args := range [][]string{
			{"delete", "clusterrole", "holdfast-anchor", "--ignore-not-found"},
			{"wait", "--for=delete", "validatingadmissionpolicy", "-l", "app.kubernetes.io/managed-by=holdfast", "--timeout=30s"},
			{"delete", "namespace", "shop", "--ignore-not-found"},
			{"delete", "--ignore-not-found", "-f", "config/install"},
		} {
			if said, code, err := s.kubectl(ctx, "", args...); err != nil || code != 0 {
				errs = append(errs, fmt.Errorf("clean up with kubectl %s: %w: %s", quoted(args), err, said))
			}
		}
	}
	return errors.Join(append(errs, s.close())...)
}

func installation() chapter {
	return chapter{title: "Installing Holdfast", steps: []step{
		{
			why:     "Holdfast's manifests: a CRD, a namespace, an identity with exactly the rights it needs, and the anchor",
			kubectl: manager.InstallArgs, says: "clusterrole.rbac.authorization.k8s.io/holdfast-anchor",
		},
		{
			does: "the manager starts, as a process of this machine under its own service account",
			do:   func(ctx context.Context, s *stage) error { return s.startManager(ctx) },
		},
		{
			why:     "It says of itself that everything is in place",
			kubectl: []string{"wait", "--for=condition=Ready", "holdfast/holdfast", "--timeout=30s"}, says: "condition met", soon: true,
		},
		{
			why:     "The rules are policies inside the API server; no request has to leave it to be judged",
			kubectl: []string{"get", "validatingadmissionpolicies", "-l", "app.kubernetes.io/managed-by=holdfast", "-o", "name"}, says: "holdfast-deletion-karmada",
		},
	}}
}
