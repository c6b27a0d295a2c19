// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

const (
	// completionTimeout bounds each request while somebody waits at a prompt.
	completionTimeout = 3 * time.Second
	completionLimit   = 500
)

// completeNamespaces completes names of namespaces, up to so many; 0 is for as
// many as are typed.
func (c *client) completeNamespaces(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := c.names(cmd.Context(), namespacesResource, "")
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeAnchors completes the names of the subnamespaces below -n.
func (c *client) completeAnchors(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || c.parent() == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.names(cmd.Context(), anchorsResource, c.parent()), cobra.ShellCompDirectiveNoFileComp
}

// completeResources completes a kind whose objects are in namespaces: with its
// group or, where the group is told by a flag, those of that group. The cache on
// disk is good enough at a prompt.
func (c *client) completeResources(group *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, r := range c.resources() {
			switch {
			case group == nil:
				out = append(out, r.String())
			case r.Group == *group:
				out = append(out, r.Resource)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// resources are those whose objects are in namespaces and can be listed.
func (c *client) resources() (out []schema.GroupResource) {
	client, err := c.Flags.ToDiscoveryClient()
	if err != nil {
		return nil
	}
	lists, err := client.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // not a kind that any client could ask for
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if r.Namespaced && slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") {
				out = append(out, gv.WithResource(r.Name).GroupResource())
			}
		}
	}
	return out
}

func (c *client) names(ctx context.Context, resource schema.GroupVersionResource, namespace string) []string {
	client, err := c.Metadata()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: completionLimit})
	if err != nil {
		return nil
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	return out
}
