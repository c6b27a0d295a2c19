// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

func newConfigDescribeCommand(c *client) *cobra.Command {
	return &cobra.Command{
		Use:   "describe",
		Short: "Show which kinds are propagated, and what is wrong",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.describeConfig(cmd.Context()) },
	}
}

func (c *client) describeConfig(ctx context.Context) error {
	_, _, config, err := c.configuration(ctx)
	if err != nil {
		return err
	}
	c.Printf("%s", configText(config.Status))
	return nil
}

func configText(status hncv1alpha2.HNCConfigurationStatus) string {
	var b strings.Builder
	b.WriteString("Synchronized resources:\n")
	for _, r := range status.Resources {
		fmt.Fprintf(&b, "* %s: %s (%s/%s)\n", action(r.Mode), r.Resource, r.Group, r.Version)
	}
	b.WriteString("\nConditions:\n")
	for _, cond := range status.Conditions {
		fmt.Fprintf(&b, "%s\n", conditionText(cond))
	}
	return b.String()
}

// action is what is done with a kind. A mode that nobody knows does nothing.
func action(mode hncv1alpha2.SynchronizationMode) string {
	switch mode {
	case hncv1alpha2.ModePropagate:
		return "Propagating"
	case hncv1alpha2.ModeRemove:
		return "Removing"
	case hncv1alpha2.ModeAllowPropagate:
		return "AllowPropagate"
	}
	return "Ignoring"
}
