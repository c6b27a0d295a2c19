// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

const protectHelp = `Protect objects from deletion, by setting the label
holdfast.dev/deletion-protected=Always on them.

With -l and without a type, all kinds of the namespace are looked through at
once: everything of one application is protected by one command. Objects that
controllers make from others (the pods of a Deployment, the EndpointSlices of a
Service) are left out and counted: what they are made from is what matters, and
controllers must be able to replace them. Events and leases are never touched.
Objects made later are not protected: run the command again.

With --mode Cascading the label protects for as long as the object is in use:
a workload that wants replicas, a Namespace with active pods or bound volume
claims, a CustomResourceDefinition with instances, a Service with ready
endpoints or a load balancer, an Ingress with an address. Other kinds have no
such meaning, and the mode is refused for them.

About ValidatingAdmissionPolicies, MutatingAdmissionPolicies and their bindings
the API server asks no policy: a label on them would protect nothing, and is
refused.

If nothing is found for a selector, that is an error.`

const protectExample = `  # Protect a namespace from being deleted
  kubectl holdfast protect namespace minio

  # Protect two deployments
  kubectl holdfast protect deploy web api -n shop

  # Protect everything of one application: all kinds of the namespace
  kubectl holdfast protect -l app=mysql -n shop

  # Protect a deployment until it is scaled to zero
  kubectl holdfast protect deploy web -n shop --mode Cascading

  # Let the API server judge it, and change nothing
  kubectl holdfast protect -l app=mysql -n shop --dry-run=server`

func newProtectCommand(c *clients, runF func(*changeOptions) error) *cobra.Command {
	o := newChangeOptions()
	o.mode = v1alpha1.ProtectAlways
	cmd := newChangeCommand(c, "protect", o, orTest(c.protect, runF))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(protectModes, o.mode) {
			return usageError{fmt.Errorf("--mode is Always or Cascading, not %q", o.mode)}
		}
		return nil
	}
	cmd.Short, cmd.Long, cmd.Example = "Protect objects from deletion", protectHelp, protectExample
	cmd.Flags().StringVar(&o.mode, "mode", o.mode, "Always, or Cascading: only while the object is in use")
	completeFlag(cmd, "mode", protectModes...)
	return cmd
}

func (c *clients) protect(ctx context.Context, o *changeOptions) error {
	return c.change(ctx, o, change{
		participle: "protected",
		check:      func(t target) error { return protectable(t.kind.GroupResource(), o.mode) },
		of:         protectChange(o.mode),
		leaveOut: func(t target) bool {
			return metav1.GetControllerOfNoCopy(t.meta) != nil || policy.LeftToControllers(t.kind.GroupResource(), t.meta)
		},
		advise:   c.adviseUnprotect,
		conclude: c.warnNotInForce,
	})
}

// warnNotInForce says so if the label is set in vain: a label that nobody reads
// must not pass for protection. Where the policies cannot
// be read nothing is said: most people may not read them.
func (c *clients) warnNotInForce(ctx context.Context, labelled []target) {
	e := c.enforcement(ctx)
	if e.Problem != "" {
		return
	}
	switch mode := e.mode(policy.RuleDelete, allKeys()[0]); mode {
	case configv1alpha1.ModeEnforce:
		c.warnOutOfScope(ctx, e, labelled)
	case configv1alpha1.ModeOff:
		c.Notef("warning: no policy of Holdfast reads the label in this cluster, and nothing is refused: it protects nothing until Holdfast runs and its deletion mode is Enforce")
	default:
		c.Notef("warning: the deletion mode of Holdfast is %s in this cluster: the label protects nothing until it is Enforce", mode)
	}
}

// warnOutOfScope names the namespaces of labelled objects in which the policies do not hold.
func (c *clients) warnOutOfScope(ctx context.Context, e enforcement, labelled []target) {
	namespaces, key := c.namespaceLabels(ctx, e, labelled), allKeys()[0]
	var out []string
	for _, t := range labelled {
		r := t.kind.GroupResource()
		if in, err := e.holds(policy.RuleDelete, key, placeOf(r, t.meta, namespaces[t.meta.Namespace])); err == nil && !in {
			out = append(out, cmp.Or(t.meta.Namespace, t.meta.Name))
		}
	}
	if len(out) > 0 {
		slices.Sort(out)
		c.Notef("warning: the scope of Holdfast's deletion guard leaves out namespace %s: the label protects nothing there until scope and deletion.scope of the configuration include it",
			strings.Join(slices.Compact(out), ", "))
	}
	if e.conditional() {
		c.Notef("note: Holdfast's scope has patterns, and you may not get the Holdfast object, which names them; see whether it is protected: kubectl delete --dry-run=server")
	}
}
