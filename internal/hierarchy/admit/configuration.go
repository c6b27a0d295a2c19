// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rights"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// judgeConfiguration decides on an HNCConfiguration. Only what it says of kinds that
// were not copied before makes it look at their objects.
func judgeConfiguration(ctx context.Context, o *Options, req *admissionv1.AdmissionRequest) (answer, error) {
	w, err := o.world()
	if err != nil {
		return answer{}, err
	}
	served := o.Kinds()
	if served == nil {
		return answer{}, fmt.Errorf("%w: what the API server serves is not known", errStarting)
	}
	var c hncv1alpha2.HNCConfiguration
	if err := decode(rawOf(req), &c); err != nil {
		return answer{}, err
	}
	resources := make([]rules.Resource, 0, len(c.Spec.Resources))
	for _, r := range c.Spec.Resources {
		resources = append(resources, resolved(served, r))
	}
	op, after := rules.Operation(req.Operation), rulesAfter(w, resources)
	v := w.HNCConfiguration(op, c.Name, resources, propagate.NewSources(after))
	if v.Denied == nil && op != rules.Delete {
		v = rules.ExcludedNamespaces(c.Spec.ExcludedNamespaces)
	}
	more := newlyCopied(w, after, served)
	if v.Denied != nil || op == rules.Delete || len(more) == 0 {
		return answer{Verdict: v}, nil
	}
	return judgeCopied(ctx, o, more, after, func(sources *propagate.Sources) rules.Verdict {
		return w.HNCConfiguration(op, c.Name, resources, sources)
	})
}

// judgeCopied decides on a configuration by the objects of the kinds that it has copied, and were not.
func judgeCopied(ctx context.Context, o *Options, kinds []inventory.Kind, after propagate.Rules, judge func(*propagate.Sources) rules.Verdict) (answer, error) {
	warnings, unreadable := lacking(ctx, o, kinds)
	if unreadable != "" {
		return answer{Verdict: rules.Unreadable(unreadable)}, nil
	}
	sources, err := o.Sources(ctx, kinds, after)
	if err != nil {
		return answer{}, fmt.Errorf("look at the objects that would be copied: %w", err)
	}
	if sources == nil {
		return answer{}, errors.New("look at the objects that would be copied: nothing is known of them")
	}
	return answer{Verdict: judge(sources), warnings: warnings}, nil
}

// lacking says for which kinds Holdfast lacks rights, and of the first one that it cannot even list, that. The objects of
// such a kind cannot be compared. If the API server does not answer, Holdfast is taken to have the rights: its lists and watches fail otherwise.
func lacking(ctx context.Context, o *Options, kinds []inventory.Kind) (warnings []string, unreadable string) {
	for _, k := range kinds {
		missing, err := rights.Of(ctx, o.Client.AuthorizationV1(), k.GroupResource())
		if err != nil {
			log.FromContext(ctx).Info("Cannot tell the rights for a kind", "resource", k.GroupResource().String(), "error", err.Error())
			continue
		}
		if len(missing) == 0 {
			continue
		}
		advice := missing.Advice(k.GroupResource(), strings.Join(o.Users, ", "))
		if !missing.Reads() {
			return nil, advice
		}
		warnings = append(warnings, advice)
	}
	return warnings, ""
}

// resolved is an entry with what it means, which is what the World takes it for.
func resolved(served *inventory.Snapshot, r hncv1alpha2.ResourceSpec) rules.Resource {
	found := world.Find(served, r.Group, r.Resource)
	if len(found) != 1 {
		return rules.Resource{ResourceSpec: r, Candidates: world.Names(found)}
	}
	return rules.Resource{ResourceSpec: r, Served: true, Namespaced: found[0].Namespaced, Kind: found[0].GroupKind()}
}

// rulesAfter are the rules that a configuration makes.
func rulesAfter(w rules.World, resources []rules.Resource) propagate.Rules {
	after := w.Sources.Rules()
	after.Modes = make(map[schema.GroupKind]hncv1alpha2.SynchronizationMode, len(resources))
	for _, r := range resources {
		if r.Served {
			after.Modes[r.Kind] = r.Mode
		}
	}
	return after
}

// newlyCopied are the kinds that are copied under other rules and not until now, in
// the order of their names.
func newlyCopied(w rules.World, after propagate.Rules, served *inventory.Snapshot) (out []inventory.Kind) {
	wanted := maps.Clone(after.Modes)
	for _, k := range served.All() {
		if _, listed := wanted[k.GroupKind()]; listed && after.Copies(k.GroupKind()) && !w.Sources.Rules().Copies(k.GroupKind()) {
			delete(wanted, k.GroupKind()) // a kind that is served by two names is read once
			out = append(out, k)
		}
	}
	return out
}
