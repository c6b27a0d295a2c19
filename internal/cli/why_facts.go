// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
	matching "github.com/holdfast-dev/holdfast/internal/deletion/selection"
)

// whyFacts are what is the same for all objects.
type whyFacts struct {
	// offline is set where there is no cluster to ask.
	offline     bool
	user        authenticationv1.UserInfo
	enforcement enforcement
	anchor      anchorState
	protections *matching.Set
	// overrides are by the UIDs of their targets.
	overrides map[string][]v1alpha1.DeletionOverride
	// aggregated are the groups and versions that extension API servers serve.
	aggregated sets.Set[string]
	// unknown says what could not be read.
	unknown []string
}

func (c *clients) whyFacts(ctx context.Context) (whyFacts, error) {
	user, err := c.whoAmI(ctx)
	if err != nil {
		return whyFacts{}, err
	}
	f := whyFacts{user: user, enforcement: c.enforcement(ctx), anchor: c.anchor(ctx), aggregated: c.aggregated(ctx)}
	var protectionErr, overrideErr error
	f.protections, protectionErr = c.protectionSet(ctx)
	f.overrides, overrideErr = c.overridesByTarget(ctx)
	for _, err := range []error{protectionErr, overrideErr} {
		if err != nil {
			f.unknown = append(f.unknown, err.Error())
		}
	}
	return f, nil
}

// deleteFacts are all that an explanation is made of.
type deleteFacts struct {
	whyFacts
	// target carries the marks that Holdfast would write.
	target       target
	mayDelete    access
	mayEdit      access
	mayUnprotect access
	// mayBypass says for which marks the user may bypass the protection.
	mayBypass map[policy.Mark]bool
	// operates reports whether the user is the operator of the target.
	operates bool
	// namespaceLabels are nil where they are not known.
	namespaceLabels map[string]string
	// selecting are the protections that select the object.
	selecting []*matching.Protection
	// below is nil where nobody looked.
	below *below
}

func (c *clients) factsAbout(ctx context.Context, common whyFacts, t target, shallow bool) (deleteFacts, error) {
	facts := deleteFacts{whyFacts: common, target: t}
	var err error
	if facts.mayDelete, err = c.mayOn(ctx, "delete", t); err != nil {
		return facts, err
	}
	if facts.mayEdit, err = c.mayOn(ctx, "patch", t); err != nil {
		return facts, err
	}
	if facts.mayUnprotect, err = c.mayUnprotect(ctx, t); err != nil {
		return facts, err
	}
	namespaces := c.labelsOfNamespaces(ctx, t)
	if shallow {
		facts.target = newWorld(common.enforcement, common.protections, namespaces, []target{t}).objects[0]
	} else {
		facts.target, facts.below = c.lookBelow(ctx, common, t, namespaces)
	}
	facts.namespaceLabels = namespaces[t.meta.Namespace]
	facts.selecting = common.protections.Match(t.kind.groupKind(), t.meta, facts.namespaceLabels)
	if facts.target, err = c.lookAtUse(ctx, facts.target); err != nil {
		facts.unknown = append(slices.Clone(facts.unknown), "whether it is in use is not known, and it is assumed to be: "+err.Error())
	}
	if facts.operates, err = c.operates(ctx, common.user.Username, facts.target); err != nil {
		return facts, err
	}
	facts.mayBypass, err = c.mayBypass(ctx, facts.target)
	return facts, err
}

// anchorState says whether the anchor is there.
type anchorState string

const (
	anchorPresent anchorState = "Present"
	anchorMissing anchorState = "Missing"
	anchorUnknown anchorState = "Unknown"
)

func (c *clients) anchor(ctx context.Context) anchorState {
	client, err := c.Metadata()
	if err != nil {
		return anchorUnknown
	}
	_, err = get(ctx, client, clusterRolesKind, "", v1alpha1.AnchorName)
	switch {
	case err == nil:
		return anchorPresent
	case apierrors.IsNotFound(err):
		return anchorMissing
	}
	return anchorUnknown
}
