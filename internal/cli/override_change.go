// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func newOverrideApproveCommand(c *clients) *cobra.Command {
	return &cobra.Command{
		Use:   "approve NAME",
		Short: "Consent to an override that somebody else asked for",
		Long: `Consent to an override that somebody else asked for, in your name. It says what
you consent to, and does not ask again.

It needs the RBAC verb "unprotect" in the namespace of the object. A consent
cannot be taken back; "kubectl holdfast override revoke NAME" ends the override.`,
		ValidArgsFunction: c.completeNames(overridesKind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := validateName(args); err != nil {
				return err
			}
			return c.approve(cmd.Context(), args[0])
		},
	}
}

func (c *clients) approve(ctx context.Context, name string) error {
	o, err := c.getOverride(ctx, name)
	if err != nil {
		return err
	}
	user, err := c.whoAmI(ctx)
	if err != nil {
		return err
	}
	if o.Spec.ApprovedBy == user.Username {
		c.Printf("deletionoverride.%s/%s already approved\n%s\n", v1alpha1.GroupName, name, overrideNext(o))
		return nil
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.UID},
		"spec":     map[string]any{"approvedBy": user.Username},
	})
	if err != nil {
		return err
	}
	client, err := c.overrides()
	if err != nil {
		return err
	}
	if _, err := client.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager}); err != nil {
		if isOfAnother(err) {
			err = fmt.Errorf("the override %s was replaced by another of this name in the meantime; look at it and run the command again", name)
		}
		c.Error(err)
		c.adviseOverride(ctx, err, o.Spec.Target)
		return errReported
	}
	c.Printf("deletionoverride.%s/%s approved: %s\n", v1alpha1.GroupName, name, consent(o))
	found, err := c.awaitPhase(ctx, name, answerTimeout, decided)
	if err != nil {
		return err
	}
	c.awaitStamp(ctx, found)
	c.Printf("%s\n", overrideNext(found))
	return nil
}

// consent says what somebody consents to.
func consent(o *v1alpha1.DeletionOverride) string {
	what := targetText(o.Spec.Target)
	if o.Spec.IncludeContents {
		what += ", with all that hangs below it,"
	}
	return fmt.Sprintf("%s may be deleted for %s. %s asked for it: %s", what, o.Spec.Duration, o.Spec.RequestedBy, o.Spec.Reason)
}

func newOverrideRevokeCommand(c *clients) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke NAME",
		Short: "End an override",
		Long: `End an override, by deleting it. The object is protected again a moment later; what
was deleted stays so.`,
		ValidArgsFunction: c.completeNames(overridesKind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := validateName(args); err != nil {
				return err
			}
			return c.revoke(cmd.Context(), args[0])
		},
	}
}

func (c *clients) revoke(ctx context.Context, name string) error {
	o, err := c.getOverride(ctx, name)
	if err != nil {
		return err
	}
	client, err := c.overrides()
	if err != nil {
		return err
	}
	err = client.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID}})
	if err != nil {
		c.Error(err)
		c.adviseOverride(ctx, err, o.Spec.Target)
		return errReported
	}
	text := fmt.Sprintf("deletionoverride.%s/%s revoked", v1alpha1.GroupName, name)
	if o.Status.Phase == v1alpha1.OverrideActive {
		text += ": " + targetText(o.Spec.Target) + " is protected again in a moment"
	}
	c.Printf("%s\n", strings.TrimSpace(text))
	return nil
}
