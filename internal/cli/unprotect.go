// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

const unprotectHelp = `Take the protection from deletion away.

This removes the label holdfast.dev/deletion-protected, and the labels
resourcetemplate.karmada.io/deletion-protected (Karmada) and
policy.kruise.io/delete-protection (OpenKruise) with it, because with one of
them left the object would stay protected.

It needs the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev
in the namespace of the object; for namespaces and cluster-scoped objects,
cluster-wide.

What a ResourceDeletionProtection selects stays protected: that is said, with
what can be done about it, and the exit code is then 1. That something below the
object is protected, and keeps it, is said too.

With -l and without a type, all kinds of the namespace are looked through at
once. Pods and other objects that controllers make and replace all the time are
left out and counted: their labels come from a template.`

const unprotectExample = `  # Let a namespace be deleted again
  kubectl holdfast unprotect namespace minio

  # The same for everything of one application
  kubectl holdfast unprotect -l app=mysql -n shop

  # May I? Ask the API server, and change nothing
  kubectl holdfast unprotect deploy/web -n shop --dry-run=server`

func newUnprotectCommand(c *clients, runF func(*changeOptions) error) *cobra.Command {
	cmd := newChangeCommand(c, "unprotect", newChangeOptions(), orTest(c.unprotect, runF))
	cmd.Short, cmd.Long, cmd.Example = "Take the protection from deletion away", unprotectHelp, unprotectExample
	return cmd
}

func (c *clients) unprotect(ctx context.Context, o *changeOptions) error {
	return c.change(ctx, o, change{
		participle:  "unprotected",
		of:          unprotectChange,
		leaveOut:    func(t target) bool { return policy.LeftToControllers(t.kind.GroupResource(), t.meta) },
		onlyChanged: true,
		advise:      c.adviseUnprotect,
		remains:     remains,
		remark:      remarkUnprotected,
	})
}
