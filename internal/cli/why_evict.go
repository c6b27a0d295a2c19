// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const whyEvictHelp = `Explain what the eviction of a pod would get now, and why: whether evictions in
its namespace are in scope, which EvictionPolicy decides, or the rules of the
Strimzi Drain Cleaner, and which others match and come later; the answer and
what kubectl drain makes of it; what would be written to the pod; since when
the pod waits, and until when; whether a PodDisruptionBudget would refuse after
that; whether the deletion guard protects the pod, which an eviction goes around
unless the configuration says eviction.protectedPods: Refuse; and whether
Holdfast has a say at all. Nothing is changed.

RBAC, Holdfast's rules and disruption budgets are asked, for you or for whom --as
names. Webhooks of others are not.

The exit code is 0 if the eviction would pass and 3 if it would be refused; with
several pods, one is enough.

-o json and -o yaml give an EvictExplanationList: for each item the object, node,
nodeDraining, answer (allowed, by, code, reason, message, warning, drain: Evicts,
Waits, Fails or TakesAsGone), user, mayEvict, guard (mode, asked, ready,
problems), scope (inScope, global, eviction, filter), decision (by, outcome,
mode, allowed, code, reason, message), trials, later, writes (annotations,
labels), waiting (by, since, lastAsked, deadline, then, lapsed), bound, budgets,
protection, protectedPods, and texts: notes and nextSteps.`

// whyEvictOptions are what the command line of why evict says.
type whyEvictOptions struct {
	pods   []string
	output string
}

func newWhyEvictCommand(c *clients, runF func(*whyEvictOptions) error) *cobra.Command {
	o := &whyEvictOptions{}
	cmd := &cobra.Command{
		Use:   "evict POD...",
		Short: "Explain what the eviction of a pod would get now, and why",
		Long:  whyEvictHelp,
		Example: `  # Why does kubectl drain wait for this pod?
  kubectl holdfast why evict my-cluster-kafka-0 -n kafka

  # What would the cluster autoscaler get?
  kubectl holdfast why evict db-0 -n shop --as system:serviceaccount:kube-system:cluster-autoscaler`,
		ValidArgsFunction: c.completeNamesOf(podsKind, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.pods, err = namesOnly("pod", args, "po", "pods"); err != nil {
				return err
			}
			if err := validateOutput(o.output, whyFormats); err != nil {
				return err
			}
			return orTest(c.whyEvict, runF)(cmd.Context(), o)
		},
	}
	addOutputFlag(cmd, &o.output, whyFormats)
	return cmd
}

// namesOnly reads NAME, TYPE/NAME and TYPE NAME, of one type that has these other
// names.
func namesOnly(resource string, args []string, aliases ...string) ([]string, error) {
	aliases = append(aliases, resource)
	if len(args) > 1 && slices.Contains(aliases, args[0]) {
		args = args[1:]
	}
	if len(args) == 0 {
		return nil, usageError{fmt.Errorf("say which %s", resource)}
	}
	var out []string
	for _, arg := range args {
		before, name, slashed := strings.Cut(arg, "/")
		if !slashed {
			name = arg
		}
		if name == "" {
			return nil, usageError{fmt.Errorf("say which %s: %q has no name", resource, arg)}
		}
		if slashed && !slices.Contains(aliases, before) {
			return nil, usageError{fmt.Errorf("this is about a %s, and %q is not one", resource, arg)}
		}
		out = append(out, name)
	}
	return out, nil
}

func (c *clients) whyEvict(ctx context.Context, o *whyEvictOptions) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	w, err := c.evictionWorld(ctx)
	if err != nil {
		return err
	}
	type result struct {
		facts evictFacts
		err   error
	}
	var explanations []evictExplanation
	failed := false
	now := time.Now()
	inOrder(ctx, o.pods,
		func(ctx context.Context, name string) result {
			f, err := c.evictFacts(ctx, w, ns, name)
			return result{f, err}
		},
		func(_ string, r result) {
			if r.err != nil {
				c.Error(r.err)
				failed = true
				return
			}
			explanations = append(explanations, explainEvict(r.facts, now))
		})
	if err := c.printEvictExplanations(o.output, explanations); err != nil {
		return err
	}
	if failed {
		return errReported
	}
	for _, x := range explanations {
		if !x.Answer.Allowed {
			return errRefused
		}
	}
	return nil
}
