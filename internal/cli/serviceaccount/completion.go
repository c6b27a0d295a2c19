// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
)

// completionTimeout bounds the request while somebody waits at a prompt.
const completionTimeout = 3 * time.Second

// completeTemplates completes names of ServiceAccountTemplates: Holdfast's own, and those
// of the cluster if it answers.
func (c *client) completeTemplates(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	const done = cobra.ShellCompDirectiveNoFileComp
	var out []string
	own, err := builtin.Templates("")
	if err != nil {
		return nil, done
	}
	for i := range own {
		out = append(out, own[i].Name)
	}
	client, err := c.Metadata()
	if err != nil {
		return out, done
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	list, err := client.Resource(templatesResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return out, done
	}
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	slices.Sort(out)
	return slices.Compact(out), done
}
