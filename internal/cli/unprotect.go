// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"
)

const unprotectHelp = `Take the protection from deletion away.

This removes the label holdfast.dev/deletion-protected, and the labels
resourcetemplate.karmada.io/deletion-protected (Karmada) and
policy.kruise.io/delete-protection (OpenKruise) with it, because with one of
them left the object would stay protected.

It needs the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev
in the namespace of the object; for namespaces and cluster-scoped objects,
cluster-wide.

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
	o := newChangeOptions()
	cmd := &cobra.Command{
		Use:               "unprotect (TYPE NAME... | TYPE/NAME... | [TYPE] -l SELECTOR)",
		Short:             "Take the protection from deletion away",
		Long:              unprotectHelp,
		Example:           unprotectExample,
		ValidArgsFunction: c.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if err := o.validate(); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			return c.unprotect(cmd.Context(), o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (c *clients) unprotect(ctx context.Context, o *changeOptions) error {
	return c.change(ctx, o, change{
		participle:  "unprotected",
		of:          unprotectChange,
		leaveOut:    func(t target) bool { return leftToControllers(t.kind.GroupResource(), t.meta) },
		onlyChanged: true,
		advise:      c.adviseUnprotect,
	})
}
