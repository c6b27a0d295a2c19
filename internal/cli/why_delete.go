// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

const whyDeleteHelp = `Explain whether an object can be deleted, by whom, and if not, which rule is in
the way and what to do about it; and what would happen to all that hangs below
it. Nothing is changed.

What hangs below a Namespace are the objects in it; below a
CustomResourceDefinition its instances, which the API server removes with it and
asks nobody about; below anything else what names it as its owner, and what
names that. Of a Namespace and a definition those are shown that are protected.
What extension API servers serve is named and not looked at.

RBAC and Holdfast's rules are asked, for you or for whom --as names; where they have
nothing against it, the API server is by a dry run, and with it the trees of namespaces,
and webhooks and policies of others. Finalizers are not.

With -f no cluster is asked: the objects of the files take its place, with the
ResourceDeletionProtections among them, and each is explained for somebody who
holds no right of Holdfast's. All labels are read, and everything is enforced.

The exit code is 0 if the delete would be allowed and 3 if it would be refused;
with several objects, one is enough.

-o json and -o yaml give a DeleteExplanationList: for each item the object,
allowed, the user, mayDelete, mayEdit, mayUnprotect, the state of the policies and of the
anchor, the labels and marks with their effect, rule, policy, mode and message,
protections, overrides, refusal (who else refuses: by, name, binding, feature, code,
reason, message, because), below (relation, protected, others, and items with fate,
protected and because), and texts: notes and nextSteps. fate is Deleted, Refused,
Stays or Lost.`

// whyDeleteOptions are what the command line of why delete says.
type whyDeleteOptions struct {
	selection
	output string
	// files take the place of the cluster.
	files []string
	// everything shows all that hangs below an object.
	everything bool
	shallow    bool
}

// offline says whether files take the place of the cluster.
func (o *whyDeleteOptions) offline() bool { return len(o.files) > 0 }

var whyFormats = []string{ui.JSON, ui.YAML}

func newWhyDeleteCommand(c *clients, runF func(*whyDeleteOptions) error) *cobra.Command {
	o := &whyDeleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete (TYPE NAME... | TYPE/NAME... | -f FILE)",
		Short: "Explain whether an object can be deleted, and what would go with it",
		Long:  whyDeleteHelp,
		Example: `  # Why can I not delete this?
  kubectl holdfast why delete deploy web -n shop

  # Could a deployment robot?
  kubectl holdfast why delete deploy web -n shop --as system:serviceaccount:ci:deployer

  # What would go with this namespace?
  kubectl holdfast why delete namespace shop --all

  # What would be protected, if this were applied? Without a cluster
  kustomize build . | kubectl holdfast why delete -f -`,
		ValidArgsFunction: c.completeObjects,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			if err := o.validate(); err != nil {
				return err
			}
			if runF != nil {
				return runF(o)
			}
			return c.whyDelete(cmd.Context(), o)
		},
	}
	cmd.Flags().StringSliceVarP(&o.files, "filename", "f", nil, "Files of objects, or - for standard input, that take the place of the cluster: nothing is asked of it")
	cmd.Flags().BoolVar(&o.everything, "all", false, "Show all that hangs below the object, and not only the first few of each kind")
	cmd.Flags().BoolVar(&o.shallow, "shallow", false, "Do not look at what hangs below the object")
	addOutputFlag(cmd, &o.output, whyFormats)
	return cmd
}

func (o *whyDeleteOptions) validate() error {
	if err := validateOutput(o.output, whyFormats); err != nil {
		return err
	}
	switch {
	case !o.offline():
		return o.selection.validate()
	case o.shallow:
		return usageError{errors.New("--shallow saves asking the cluster, which -f does not: leave one out")}
	case len(o.args) > 0:
		return o.validateNames()
	}
	return nil
}

func (c *clients) whyDelete(ctx context.Context, o *whyDeleteOptions) error {
	explain := c.explainCluster
	if o.offline() {
		explain = c.explainFiles
	}
	explanations, problems, err := explain(ctx, o)
	if err != nil {
		return err
	}
	if err := c.printExplanations(o, explanations); err != nil {
		return err
	}
	for _, err := range problems {
		c.Error(err)
	}
	if len(problems) > 0 {
		return errReported
	}
	for _, e := range explanations {
		if !e.Allowed {
			return errRefused
		}
	}
	return nil
}

// explainCluster explains objects of the cluster.
func (c *clients) explainCluster(ctx context.Context, o *whyDeleteOptions) ([]explanation, []error, error) {
	targets, problems := c.named(ctx, o.selection)
	if len(targets) == 0 {
		return nil, problems, nil
	}
	common, err := c.whyFacts(ctx)
	if err != nil {
		return nil, nil, err
	}
	var explanations []explanation
	for _, t := range targets {
		facts, err := c.factsAbout(ctx, common, t, o.shallow)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		x := explainDelete(facts)
		if x.Allowed {
			r, err := c.wouldRefuse(ctx, t)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			x.refusedBy(r)
		}
		explanations = append(explanations, x)
	}
	return explanations, problems, nil
}
