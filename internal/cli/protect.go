// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

const protectHelp = `Protect objects from deletion, by setting the label
holdfast.dev/deletion-protected=Always on them.

With -l and without a type, all kinds of the namespace are looked through at
once: everything of one application is protected by one command. Objects that
controllers make from others (the pods of a Deployment, the EndpointSlices of a
Service) are left out and counted: what they are made from is what matters, and
controllers must be able to replace them. Events and leases are never touched.
Objects made later are not protected: run the command again.

If nothing is found for a selector, that is an error.`

const protectExample = `  # Protect a namespace from being deleted
  kubectl holdfast protect namespace minio

  # Protect two deployments
  kubectl holdfast protect deploy web api -n shop

  # Protect everything of one application: all kinds of the namespace
  kubectl holdfast protect -l app=mysql -n shop

  # Let the API server judge it, and change nothing
  kubectl holdfast protect -l app=mysql -n shop --dry-run=server`

func newProtectCommand(c *clients, runF func(*changeOptions) error) *cobra.Command {
	o := newChangeOptions()
	cmd := &cobra.Command{
		Use:               "protect (TYPE NAME... | TYPE/NAME... | [TYPE] -l SELECTOR)",
		Short:             "Protect objects from deletion",
		Long:              protectHelp,
		Example:           protectExample,
		ValidArgsFunction: c.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if err := o.validate(); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			return c.protect(cmd.Context(), o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (c *clients) protect(ctx context.Context, o *changeOptions) error {
	err := c.change(ctx, o, change{
		participle: "protected",
		of:         protectChange,
		leaveOut: func(t target) bool {
			return metav1.GetControllerOfNoCopy(t.meta) != nil || leftToControllers(t.kind.GroupResource(), t.meta)
		},
		advise: func(context.Context, []target) {},
	})
	if err == nil || errors.Is(err, errReported) {
		c.warnNotInForce(ctx)
	}
	return err
}

// warnNotInForce says so if the label is set in vain: a label that nobody reads
// must not pass for protection. Where the policies cannot
// be read nothing is said: most people may not read them.
func (c *clients) warnNotInForce(ctx context.Context) {
	e := c.enforcement(ctx)
	if e.Problem != "" {
		return
	}
	switch mode := e.mode(policy.RuleDelete, allKeys()[0]); mode {
	case configv1alpha1.ModeEnforce:
	case configv1alpha1.ModeOff:
		c.Notef("warning: no policy of Holdfast reads the label in this cluster: it protects nothing until Holdfast runs and its deletion mode is Enforce")
	default:
		c.Notef("warning: the deletion mode of Holdfast is %s in this cluster: the label protects nothing until it is Enforce", mode)
	}
}
