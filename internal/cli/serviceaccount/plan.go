// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

const planHelp = `Show what Holdfast would do to service accounts if serviceAccounts.mode were Enforce
and the feature gate ServiceAccountPatching on. Nothing is written: it only reads, and
decides as Holdfast itself does.

For each account that would be written it says which labels and annotations would be

  added      and are not on the account now
  changed    to another value
  removed    because nobody wants them any more who has set them
  kept       because they are so already, or nobody wants anything of them (--all)
  yielded    that are wanted with another value than somebody has set, who keeps it (--all)
  conflict   the same, where the template says that the whole account stays then
  withheld   that are wanted and would change what the pods of an account may do that the
             object does not own, such as cloud identities: serviceAccounts.identities

and who has set each, with which operation and how long ago; which are cloud identities
of EKS, GKE or Azure; which object wants the account, by which ServiceAccountTemplate;
and which pods that run would have to be made anew to see a cloud identity that changes.

It goes by the ServiceAccountTemplates of the cluster and Holdfast's own for Strimzi, and
by the ConfigMap holdfast in namespace holdfast-system: scope, existing, and the labels
that are not inherited. If you may not read that, the defaults are taken, and it says so.
What the manager has been told by flags or environment variables cannot be seen from here.

--existing=Replace shows what everything that is not the template's would lose: what
Strimzi's own feature gate did when it was new.

The exit code is 0 if nothing would change and 1 if something would. It is 2 if it failed
or if not everything could be looked at.

-o json and -o yaml give a ServiceAccountPlan with all accounts and all keys: settings
(from, mode, existing, identities, labelsExclusionPattern, strimziOperator), items, summary, notes and
notLookedAt (part, reason). An item has namespace, name, action (None, Create, Write,
Replace, Release or Delete), exists, adopted, template, account, object, rivals, problem,
message, keys (field, key, change, from, to, owners, identity) and restart, the pods. An
owner has manager, operation and time; an identity provider and meaning.`

const planExample = `  # What would turning it on change in this namespace?
  kubectl holdfast serviceaccount plan

  # In all namespaces, and what stays as others have set it
  kubectl holdfast sa plan -A --all

  # What one template would do, for a script
  kubectl holdfast sa plan -A --template strimzi-kafkaconnect -o json`

const tableFormat = "table"

var (
	planFormats = []string{tableFormat, ui.JSON, ui.YAML}
	existing    = []string{string(configv1alpha1.ExistingApply), string(configv1alpha1.ExistingReplace)}
)

// planOptions are what the command line of plan says.
type planOptions struct {
	everywhere, all            bool
	template, existing, output string
}

func newPlanCommand(c *client) *cobra.Command {
	o := &planOptions{}
	cmd := &cobra.Command{
		Use:     "plan",
		Short:   "Show what Holdfast would do to service accounts, and to whose labels and annotations",
		Long:    planHelp,
		Example: planExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(args); err != nil {
				return err
			}
			return c.plan(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "Look at all namespaces")
	flags.BoolVar(&o.all, "all", false, "Show all accounts and all keys, those that stay as they are with them")
	flags.StringVar(&o.template, "template", "", "Show only accounts that this ServiceAccountTemplate is about")
	flags.StringVar(&o.existing, "existing", "", "How accounts that are there would be written: Apply or Replace; default: as configured")
	flags.StringVarP(&o.output, "output", "o", "", "Output format: table, json, yaml")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(planFormats, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("template", c.completeTemplates)
	_ = cmd.RegisterFlagCompletionFunc("existing", cobra.FixedCompletions(existing, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *planOptions) validate(args []string) error {
	if len(args) > 0 {
		return usage("plan takes no arguments, but got %q: -n says the namespace, --template the template", args)
	}
	if err := oneOf("--existing", o.existing, existing); err != nil {
		return err
	}
	return oneOf("--output", o.output, planFormats)
}

func (c *client) plan(ctx context.Context, o *planOptions) error {
	namespace := ""
	if !o.everywhere {
		var err error
		if namespace, err = c.Namespace(); err != nil {
			return PlanError{err}
		}
	}
	l, err := newLooker(c.Clients)
	if err != nil {
		return PlanError{err}
	}
	seen, err := l.look(ctx, namespace, configv1alpha1.ExistingAccounts(o.existing))
	if err != nil {
		return PlanError{err}
	}
	if o.template != "" && !slices.Contains(seen.templates, o.template) {
		return PlanError{fmt.Errorf("there is no ServiceAccountTemplate %q: there is %s", o.template, strings.Join(seen.templates, ", "))}
	}
	p := planOf(seen, o.template)
	l.restarts(ctx, p)
	return c.say(p, o)
}

// say prints a plan, and says by its error how it ends.
func (c *client) say(p *Plan, o *planOptions) error {
	if o.output != "" && o.output != tableFormat {
		if err := c.Encode(o.output, p); err != nil {
			return PlanError{err}
		}
	} else {
		c.print(p, time.Now(), o.all)
	}
	switch {
	case len(p.NotLookedAt) > 0:
		return PlanError{ErrReported}
	case p.Summary.Changing > 0:
		return ErrReported
	}
	return nil
}
