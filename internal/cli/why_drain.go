// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"

	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

const whyDrainHelp = `Say what "kubectl drain NODE --ignore-daemonsets --delete-emptydir-data" would
do, before an upgrade: one line for each pod of the node, what holds it, until
when, and what kubectl drain makes of that. Pods are judged as if the node were
cordoned already. Nothing is changed.

DRAIN is one of:
  evicts it             the pod goes at once
  waits (429)           kubectl drain asks again every few seconds, until its
                        --timeout
  gives up (500, ...)   kubectl drain leaves the pod, goes on with the others, and
                        fails at its end; drain again when the pod was moved
  takes it as gone (404)
  skips it              DaemonSet pods, and mirror pods of the kubelet

Of a PodDisruptionBudget that allows fewer disruptions than it has pods here, the
first ones by name are shown as going; which ones do is chance. A pod that no
controller manages makes kubectl drain refuse to begin without --force; what is
said of it holds with --force.

The exit code is 0 if all pods go at once, and 3 if any is held.

-o json and -o yaml give a DrainForecast: node, draining, guard, items with
namespace, name, uid, drain (Evicts, Waits, Fails, TakesAsGone or Skips), by,
until, code, reason, message, warning, waiting, skipped (why) and needsForce;
summary (pods, evicts, waits, fails, takesAsGone, skips, needForce), and notes.`

// whyDrainOptions are what the command line of why drain says.
type whyDrainOptions struct {
	node   string
	output string
}

func newWhyDrainCommand(c *clients, runF func(*whyDrainOptions) error) *cobra.Command {
	o := &whyDrainOptions{}
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Explain what would hold up the drain of a node",
		Long:  whyDrainHelp,
		Example: `  # What would hold up the drain of this node?
  kubectl holdfast why drain worker-1

  # The pods that make kubectl drain fail
  kubectl holdfast why drain worker-1 -o json | jq '.items[] | select(.drain == "Fails")'`,
		ValidArgsFunction: c.completeNamesOf(nodesKind, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			nodes, err := namesOnly("node", args, "no", "nodes")
			switch {
			case err != nil:
				return err
			case len(nodes) > 1:
				return usageError{errors.New("say one node")}
			}
			o.node = nodes[0]
			if err := validateOutput(o.output, whyFormats); err != nil {
				return err
			}
			return orTest(c.whyDrain, runF)(cmd.Context(), o)
		},
	}
	addOutputFlag(cmd, &o.output, whyFormats)
	return cmd
}

func (c *clients) whyDrain(ctx context.Context, o *whyDrainOptions) error {
	f, err := c.drainFacts(ctx, o.node)
	if err != nil {
		return err
	}
	forecast := f.forecast(time.Now())
	if err := c.printForecast(o.output, forecast); err != nil {
		return err
	}
	if s := forecast.Summary; s.Evicts+s.Skips < s.Pods {
		return errRefused
	}
	return nil
}

// drainFacts are all that the forecast of a drain is made of.
type drainFacts struct {
	evictionWorld
	node     string
	draining bool
	pods     []corev1.Pod
	// By the names of the namespaces that have pods on the node.
	namespaces map[string]*metav1.ObjectMeta
	budgets    map[string][]policyv1.PodDisruptionBudget
	unknown    []string
}

// drainFacts asks for a handful of lists, and for two things of each namespace
// that has pods on the node.
func (c *clients) drainFacts(ctx context.Context, name string) (drainFacts, error) {
	f := drainFacts{node: name, namespaces: map[string]*metav1.ObjectMeta{}, budgets: map[string][]policyv1.PodDisruptionBudget{}}
	core, err := c.core()
	if err != nil {
		return f, err
	}
	n, err := core.Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		f.unknown = append(f.unknown, "you may not get nodes: it is not known whether there is such a node; ask for the RBAC verb get on nodes")
	case apierrors.IsNotFound(err):
		return f, fmt.Errorf("there is no node %s", name)
	case err != nil:
		return f, reachable(err)
	default:
		f.draining = policy.Draining(n)
	}
	if f.evictionWorld, err = c.evictionWorld(ctx); err != nil {
		return f, err
	}
	if f.pods, err = c.podsWhere(ctx, metav1.NamespaceAll, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}); err != nil {
		return f, err
	}
	c.readNamespaces(ctx, &f)
	may, err := c.may(ctx, authorizationv1.ResourceAttributes{Verb: "create", Version: "v1", Resource: "pods", Subresource: "eviction"})
	if err != nil {
		return f, err
	}
	if !may.Allowed {
		f.unknown = append(f.unknown, f.user.Username+" may not evict pods cluster-wide: where RBAC forbids it, kubectl drain gives up with code 403")
	}
	return f, nil
}

// podsWhere lists whole pods, in chunks.
func (c *clients) podsWhere(ctx context.Context, namespace string, which metav1.ListOptions) ([]corev1.Pod, error) {
	core, err := c.core()
	if err != nil {
		return nil, err
	}
	var out []corev1.Pod
	err = pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return core.Pods(namespace).List(ctx, o)
	}).EachListItem(ctx, which, func(o runtime.Object) error {
		if p, ok := o.(*corev1.Pod); ok {
			out = append(out, *p)
		}
		return nil
	})
	switch {
	case apierrors.IsForbidden(err) && namespace == metav1.NamespaceAll:
		return nil, errors.New("you may not list the pods of all namespaces; ask for the RBAC verb list on pods, cluster-wide")
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("you may not list pods in namespace %s; ask for the RBAC verb list on pods there", namespace)
	case err != nil:
		return nil, fmt.Errorf("list pods: %w", reachable(err))
	}
	return out, nil
}

// readNamespaces reads the namespaces of the pods, and their budgets.
func (c *clients) readNamespaces(ctx context.Context, f *drainFacts) {
	var names []string
	for i := range f.pods {
		names = append(names, f.pods[i].Namespace)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	type result struct {
		meta            *metav1.ObjectMeta
		budgets         []policyv1.PodDisruptionBudget
		metaErr, budget error
	}
	progress := c.StartProgress("looking at namespaces, done", len(names))
	defer progress.End()
	inOrder(ctx, names,
		func(ctx context.Context, name string) (r result) {
			defer progress.Step()
			r.meta, r.metaErr = c.namespaceMeta(ctx, name)
			r.budgets, r.budget = c.budgetsIn(ctx, name)
			return r
		},
		func(name string, r result) {
			f.namespaces[name], f.budgets[name] = r.meta, r.budgets
			for _, err := range []error{r.metaErr, r.budget} {
				if err != nil {
					f.unknown = append(f.unknown, err.Error())
				}
			}
		})
}
