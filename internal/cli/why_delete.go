// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

const whyDeleteHelp = `Explain whether an object can be deleted, by whom, and if not, which rule is in
the way and what to do about it. Nothing is changed.

RBAC and Holdfast's rules are asked, for you or for whom --as names. Webhooks of
others and finalizers are not; "kubectl delete --dry-run=server" asks those too.

The exit code is 0 if the delete would be allowed and 3 if it would be refused.

-o json and -o yaml give a DeleteExplanationList: for each item the object,
allowed, the user, mayDelete, mayEdit, mayUnprotect, the state of the policies and of the
anchor, the labels with their effect, rule, policy, mode and message, and texts:
notes and nextSteps.`

// whyDeleteOptions are what the command line of why delete says.
type whyDeleteOptions struct {
	selection
	output string
}

var whyFormats = []string{ui.JSON, ui.YAML}

func newWhyDeleteCommand(c *clients, runF func(*whyDeleteOptions) error) *cobra.Command {
	o := &whyDeleteOptions{}
	cmd := &cobra.Command{
		Use:   "delete (TYPE NAME... | TYPE/NAME...)",
		Short: "Explain whether an object can be deleted",
		Long:  whyDeleteHelp,
		Example: `  # Why can I not delete this?
  kubectl holdfast why delete deploy web -n shop

  # Could a deployment robot?
  kubectl holdfast why delete deploy web -n shop --as system:serviceaccount:ci:deployer`,
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
	addOutputFlag(cmd, &o.output, whyFormats)
	return cmd
}

func (o *whyDeleteOptions) validate() error {
	if err := validateOutput(o.output, whyFormats); err != nil {
		return err
	}
	return o.selection.validate()
}

func (c *clients) whyDelete(ctx context.Context, o *whyDeleteOptions) error {
	targets, problems := c.named(ctx, o.selection)
	var explanations []explanation
	if len(targets) > 0 {
		common, err := c.whyFacts(ctx)
		if err != nil {
			return err
		}
		for _, t := range targets {
			facts, err := c.factsAbout(ctx, common, t)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			explanations = append(explanations, explainDelete(facts))
		}
	}
	if err := c.printExplanations(o.output, explanations); err != nil {
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

// whyFacts are what is the same for all objects.
type whyFacts struct {
	user        authenticationv1.UserInfo
	enforcement enforcement
	anchor      anchorState
}

func (c *clients) whyFacts(ctx context.Context) (whyFacts, error) {
	user, err := c.whoAmI(ctx)
	if err != nil {
		return whyFacts{}, err
	}
	return whyFacts{user: user, enforcement: c.enforcement(ctx), anchor: c.anchor(ctx)}, nil
}

// deleteFacts are all that an explanation is made of.
type deleteFacts struct {
	whyFacts
	target       target
	mayDelete    access
	mayEdit      access
	mayUnprotect access
	// namespaceLabels are nil where they are not known.
	namespaceLabels map[string]string
	// contents are what is labelled inside a namespace.
	contents []target
	// contentProblems say what of it could not be looked at.
	contentProblems []error
}

func (c *clients) factsAbout(ctx context.Context, common whyFacts, t target) (deleteFacts, error) {
	facts := deleteFacts{whyFacts: common, target: t}
	var err error
	if facts.mayDelete, err = c.mayOn(ctx, "delete", t); err != nil {
		return facts, err
	}
	if facts.mayEdit, err = c.mayOn(ctx, "patch", t); err != nil {
		return facts, err
	}
	if facts.mayUnprotect, err = c.mayUnprotect(ctx, t); err != nil {
		return facts, err
	}
	if t.kind == namespacesKind {
		facts.contents, facts.contentProblems = c.contents(ctx, t.meta.Name)
	}
	facts.namespaceLabels = c.namespaceLabels(ctx, common.enforcement, []target{t})[t.meta.Namespace]
	return facts, nil
}

// contents are the labelled objects inside a namespace.
func (c *clients) contents(ctx context.Context, namespace string) ([]target, []error) {
	found, problems := c.labelled(ctx, namespace, "")
	var inside []target
	for _, t := range found {
		if t.meta.Namespace == namespace {
			inside = append(inside, t)
		}
	}
	return inside, problems
}

// anchorName is the ClusterRole that owns all that Holdfast has in the API
// server; to delete it is Holdfast's emergency stop.
const anchorName = "holdfast-anchor"

// anchorState says whether the anchor is there.
type anchorState string

const (
	anchorPresent anchorState = "Present"
	anchorMissing anchorState = "Missing"
	anchorUnknown anchorState = "Unknown"
)

func (c *clients) anchor(ctx context.Context) anchorState {
	client, err := c.metadata()
	if err != nil {
		return anchorUnknown
	}
	_, err = get(ctx, client, clusterRolesKind, "", anchorName)
	switch {
	case err == nil:
		return anchorPresent
	case apierrors.IsNotFound(err):
		return anchorMissing
	}
	return anchorUnknown
}
