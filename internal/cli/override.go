// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// overridePolicy is the policy that pins who asks and who consents; refusals name
// it.
const overridePolicy = "holdfast-deletion-override"

const (
	// answerTimeout is how long the manager is given to say where an override
	// stands.
	answerTimeout = 10 * time.Second
	pollInterval  = 200 * time.Millisecond
)

func newOverrideCommand(c *clients) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "override",
		Short: "Let one protected object be deleted, for a while",
		Long: `Let one protected object be deleted, for a while, and leave a record of who
asked, who approved, and why.

An override is bound to the object that is there now: one of the same name that is made
later is protected again. Where the configuration asks for it, a second person
must approve.`,
		Args: knownSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newOverrideAskCommand(c, nil),
		newOverrideApproveCommand(c),
		newOverrideListCommand(c, nil),
		newOverrideRevokeCommand(c),
	)
	return cmd
}

// overrides is where the DeletionOverrides are.
func (c *clients) overrides() (dynamic.ResourceInterface, error) {
	client, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	return client.Resource(overridesKind.GroupVersionResource), nil
}

// getOverride reads an override as it is served and as a typed object.
func (c *clients) getOverride(ctx context.Context, name string) (*v1alpha1.DeletionOverride, error) {
	client, err := c.overrides()
	if err != nil {
		return nil, err
	}
	o, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, ownKindError(overridesKind, err)
	}
	all, err := convert[v1alpha1.DeletionOverride]([]unstructured.Unstructured{*o})
	if err != nil {
		return nil, err
	}
	return &all[0], nil
}

// awaitPhase returns an override once the manager has said where it stands and,
// if asked to, nobody needs to approve any more.
func (c *clients) awaitPhase(ctx context.Context, name string, timeout time.Duration, done func(*v1alpha1.DeletionOverride) bool) (*v1alpha1.DeletionOverride, error) {
	var last *v1alpha1.DeletionOverride
	look := func(ctx context.Context) (bool, error) {
		o, err := c.getOverride(ctx, name)
		if err != nil {
			return false, err
		}
		last = o
		return done(o), nil
	}
	var err error
	if timeout > 0 {
		err = wait.PollUntilContextTimeout(ctx, pollInterval, timeout, true, look)
	} else {
		err = wait.PollUntilContextCancel(ctx, pollInterval, true, look)
	}
	if wait.Interrupted(err) && ctx.Err() == nil {
		return last, nil
	}
	return last, err
}

// awaitStamp returns once an override that is active is written on its target, so
// that a deletion right after passes. It gives up without an error: the target
// may be one that the user cannot read.
func (c *clients) awaitStamp(ctx context.Context, o *v1alpha1.DeletionOverride) {
	if o.Status.Phase != v1alpha1.OverrideActive {
		return
	}
	t := o.Spec.Target
	mapper, err := c.mapper()
	if err != nil {
		return
	}
	gvk := schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return
	}
	client, err := c.Metadata()
	if err != nil {
		return
	}
	_ = wait.PollUntilContextTimeout(ctx, pollInterval, answerTimeout, true, func(ctx context.Context) (bool, error) {
		found, err := get(ctx, client, kindOf(mapping), t.Namespace, t.Name)
		return err == nil && v1alpha1.MarkOf(found.meta, v1alpha1.OverrideMark) == o.Name, err
	})
}

// answered says whether the manager has said where an override stands.
func answered(o *v1alpha1.DeletionOverride) bool { return o.Status.Phase != "" }

// decided says whether nobody needs to approve an override any more.
func decided(o *v1alpha1.DeletionOverride) bool {
	return answered(o) && o.Status.Phase != v1alpha1.OverrideWaiting
}

// targetText is the target of an override as people write it.
func targetText(t v1alpha1.OverrideTarget) string {
	out := strings.ToLower(t.Kind) + "/" + ui.Name(t.Name)
	if t.Namespace != "" {
		out += " in namespace " + ui.Name(t.Namespace)
	}
	return out
}

// overrideNext says what happens next with an override.
func overrideNext(o *v1alpha1.DeletionOverride) string {
	target := targetText(o.Spec.Target)
	switch o.Status.Phase {
	case v1alpha1.OverrideActive:
		until := "the override ends"
		if o.Status.ExpiresAt != nil {
			until = o.Status.ExpiresAt.UTC().Format(timeFormat)
		}
		what := target
		if o.Spec.IncludeContents {
			what += ", with all that hangs below it,"
		}
		return fmt.Sprintf("It is active: %s may be deleted until %s, by whoever may delete it. To end it before: kubectl holdfast override revoke %s", what, until, o.Name)
	case v1alpha1.OverrideWaiting:
		return fmt.Sprintf("It waits for a second person, who holds %s, %s. They run: kubectl holdfast override approve %s",
			unprotectRight, rightIn(unprotectNamespace(o.Spec.Target)), o.Name)
	case "":
		return fmt.Sprintf("Holdfast has not said yet where it stands; is it running? To see it later: kubectl holdfast override list %s", o.Name)
	}
	return fmt.Sprintf("It is %s: %s", o.Status.Phase, o.Status.Message)
}

// unprotectNamespace is where the right to let a target go is asked.
func unprotectNamespace(t v1alpha1.OverrideTarget) string {
	if t.Kind == namespacesKind.Kind {
		return ""
	}
	return policy.UnprotectNamespace(overridesKind.GroupResource(), t.Namespace)
}

// adviseOverride says what to do about a refusal, beside what the refusal says.
func (c *clients) adviseOverride(ctx context.Context, err error, t v1alpha1.OverrideTarget) {
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return
	}
	text := err.Error()
	switch {
	case strings.Contains(text, overridePolicy) && strings.Contains(text, "needs the RBAC verb"):
		c.grantAdvice(ctx, []string{unprotectNamespace(t)})
	case strings.Contains(text, overridePolicy) && strings.Contains(text, "spec.duration"):
		c.Notef("Ask for less with --for.")
	case strings.Contains(text, overridePolicy):
	case apierrors.IsForbidden(err):
		c.Notef("Ask a cluster administrator for the RBAC verbs create, get, list, patch and delete on %s, cluster-wide.", overridesKind.GroupResource())
	}
}

// validateName takes exactly one name.
func validateName(args []string) error {
	if len(args) != 1 {
		return usageError{errors.New("say which override: NAME, as in 'kubectl holdfast override list'")}
	}
	return nil
}

// completeNames completes the name of one of Holdfast's own objects.
func (c *clients) completeNames(k kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.names(cmd.Context(), k, ""), cobra.ShellCompDirectiveNoFileComp
	}
}
