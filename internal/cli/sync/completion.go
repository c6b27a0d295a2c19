// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// completionTimeout bounds the request while somebody waits at a prompt.
const completionTimeout = 3 * time.Second

// completeSyncs completes names of RootSyncs.
func (c *client) completeSyncs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const done = cobra.ShellCompDirectiveNoFileComp
	client, err := c.Metadata()
	if err != nil {
		return nil, done
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	list, err := client.Resource(syncsResource).Namespace(object.SyncNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, done
	}
	var out []string
	for i := range list.Items {
		if name := list.Items[i].Name; !slices.Contains(args, name) {
			out = append(out, name)
		}
	}
	return out, done
}
