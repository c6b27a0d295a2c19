// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// madeLabel is on everything cluster-scoped that an Env makes for a test.
const madeLabel = "holdfast.dev/testkit"

func made() map[string]string { return map[string]string{madeLabel: "made"} }

// takeAway removes what start and the tests made from a cluster that stays.
func (e *Env) takeAway(ctx context.Context) error {
	if e.Client == nil {
		return nil // nothing was made yet
	}
	// What the tests protected can be deleted only after the policies.
	if err := manager.StopEnforcing(ctx, e.Cluster); err != nil {
		return err
	}
	if err := e.WaitNotEnforced(ctx); err != nil {
		return err
	}
	if err := e.deleteMade(ctx); err != nil {
		return fmt.Errorf("take away what the tests made: %w", err)
	}
	return manager.Uninstall(ctx, e.Cluster)
}

// deleteMade deletes the namespaces and roles of the tests, and the objects of
// the cluster that the tests named after their namespaces.
func (e *Env) deleteMade(ctx context.Context) error {
	said, err := manager.Kubectl(ctx, e.Cluster, "get", "namespaces", "-l", madeLabel, "-o", "name")
	if err != nil {
		return err
	}
	namespaces := map[string]bool{}
	for name := range strings.FieldsSeq(said) {
		namespaces[strings.TrimPrefix(name, "namespace/")] = true
	}
	said, err = manager.Kubectl(ctx, e.Cluster, "get", "customresourcedefinitions,clusterroles", "-o", "name")
	if err != nil {
		return err
	}
	args := []string{"delete", "--ignore-not-found"}
	for name := range strings.FieldsSeq(said) {
		if namedAfter(name, namespaces) {
			args = append(args, name)
		}
	}
	if len(args) > 2 {
		if _, err := manager.Kubectl(ctx, e.Cluster, args...); err != nil {
			return err
		}
	}
	_, err = manager.Kubectl(ctx, e.Cluster, "delete", "namespaces,clusterroles,clusterrolebindings", "-l", madeLabel)
	return err
}

// namedAfter says whether the name of an object, such as clusterrole.…/test-abc or
// customresourcedefinition.…/widgets.test-abc.example.com, has that of a namespace.
func namedAfter(object string, namespaces map[string]bool) bool {
	_, name, _ := strings.Cut(object, "/")
	for part := range strings.SplitSeq(name, ".") {
		if namespaces[part] {
			return true
		}
	}
	return false
}
