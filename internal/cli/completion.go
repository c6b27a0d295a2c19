// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

const (
	// completionTimeout bounds each request while somebody waits at a prompt.
	completionTimeout = 3 * time.Second
	completionLimit   = 500
)

// completeFlag completes a flag that takes one of some values.
func completeFlag(cmd *cobra.Command, name string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completeConfigFlags completes the flags that all commands have.
func (c *clients) completeConfigFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return c.names(cmd.Context(), namespacesKind, ""), cobra.ShellCompDirectiveNoFileComp
	})
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := c.Flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for name := range config.Contexts {
			names = append(names, name)
		}
		slices.Sort(names)
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeObjects completes TYPE NAME... and TYPE/NAME...
func (c *clients) completeObjects(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const done = cobra.ShellCompDirectiveNoFileComp
	if resource, _, ok := strings.Cut(typed, "/"); ok {
		var out []string
		for _, name := range c.namesOf(cmd.Context(), resource) {
			out = append(out, resource+"/"+name)
		}
		return out, done
	}
	switch {
	case len(args) == 0:
		return c.types(), done
	case strings.Contains(args[0], "/"):
		return nil, done
	}
	names := slices.DeleteFunc(c.namesOf(cmd.Context(), args[0]), func(name string) bool { return slices.Contains(args[1:], name) })
	return names, done
}

// types are the kinds as kubectl takes them. The cache on disk is good enough
// at a prompt.
func (c *clients) types() []string {
	client, err := c.Flags.ToDiscoveryClient()
	if err != nil {
		return nil
	}
	lists, err := client.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil
	}
	var out []string
	for _, k := range selectKinds(lists, kindFilter{verbs: []string{"get", "patch"}, clusterScoped: true}) {
		out = append(out, k.GroupResource().String())
	}
	return out
}

// namesOf are the names of the objects of a type as it was typed.
func (c *clients) namesOf(ctx context.Context, typed string) []string {
	mapper, err := c.mapper()
	if err != nil {
		return nil
	}
	gvk, err := mapper.KindFor(schema.ParseGroupResource(typed).WithVersion(""))
	if err != nil {
		return nil
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil
	}
	k, ns := kindOf(mapping), ""
	if k.Namespaced {
		if ns, err = c.Namespace(); err != nil {
			return nil
		}
	}
	return c.names(ctx, k, ns)
}

func (c *clients) names(ctx context.Context, k kind, namespace string) []string {
	client, err := c.Metadata()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	list, err := client.Resource(k.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: completionLimit})
	if err != nil {
		return nil
	}
	var out []string
	for i := range list.Items {
		if name := list.Items[i].Name; ui.Name(name) == name { // a shell would read another as something else
			out = append(out, name)
		}
	}
	return out
}

// completeNamesOf completes names of one kind, with the type before a slash too
// if it was typed. Several says that there can be more than one.
func (c *clients) completeNamesOf(k kind, several bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		const done = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 && !several {
			return nil, done
		}
		ns, err := "", error(nil)
		if k.Namespaced {
			if ns, err = c.Namespace(); err != nil {
				return nil, done
			}
		}
		prefix := ""
		if resource, _, ok := strings.Cut(typed, "/"); ok {
			prefix = resource + "/"
		}
		var out []string
		for _, name := range c.names(cmd.Context(), k, ns) {
			if name = prefix + name; !slices.Contains(args, name) {
				out = append(out, name)
			}
		}
		return out, done
	}
}
