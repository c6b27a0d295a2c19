// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/cli/owner"
	"github.com/holdfast-dev/holdfast/internal/cli/refusal"
)

// changeFacts are all that an explanation of a change is made of.
type changeFacts struct {
	attempt
	user authenticationv1.UserInfo
	// refusal is the answer to the dry run, if that was no, and warnings came with it.
	refusal  *refusal.Refusal
	warnings []string
	// owner is whose the object is; nil where it is not there, or nobody could look.
	owner *owner.Ownership
	// place is whose the namespace is of an object that is not there; nil if nobody could
	// look.
	place *owner.Claims
}

// fieldManagerOfUser is that of people who apply.
const fieldManagerOfUser = "kubectl"

func (c *clients) changeFacts(ctx context.Context, ch attempt) (changeFacts, error) {
	f := changeFacts{attempt: ch}
	said := &warnings{}
	client, err := c.dynamicWarning(said)
	if err != nil {
		return f, err
	}
	err = ch.dryRun(ctx, client)
	if f.refusal = refusal.Of(err); err != nil && f.refusal == nil {
		return f, fmt.Errorf("ask the API server about %s: %w", ch.target, err)
	}
	f.warnings = said.all()
	return f, c.whose(ctx, &f)
}

// dryRun makes the request, by which nothing is changed.
func (ch attempt) dryRun(ctx context.Context, client dynamic.Interface) error {
	in := client.Resource(ch.target.kind.GroupVersionResource).Namespace(ch.target.meta.Namespace)
	all := []string{metav1.DryRunAll}
	var err error
	switch {
	case ch.verb == verbCreate:
		_, err = in.Create(ctx, ch.object, metav1.CreateOptions{DryRun: all, FieldManager: fieldManagerOfUser})
	case ch.object != nil:
		var body []byte
		if body, err = json.Marshal(ch.object.Object); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		_, err = in.Patch(ctx, ch.target.meta.Name, types.ApplyPatchType, body, metav1.PatchOptions{DryRun: all, FieldManager: fieldManagerOfUser, Force: &ch.force})
	default:
		_, err = in.Patch(ctx, ch.target.meta.Name, ch.how, ch.patch, metav1.PatchOptions{DryRun: all, FieldManager: fieldManagerOfUser})
	}
	return err
}

// whose finds out whose the object is, or would be. What may not be read is left out.
func (c *clients) whose(ctx context.Context, f *changeFacts) error {
	looker, err := owner.NewLooker(c.Clients)
	if err != nil {
		return err
	}
	client, err := c.Metadata()
	if err != nil {
		return err
	}
	if f.verb == verbCreate {
		found := owner.Of(looker.Look(ctx, f.target.kind.groupKind(), f.target.meta))
		f.place = found.Namespace
		return nil
	}
	there, err := get(ctx, client, f.target.kind, f.target.meta.Namespace, f.target.meta.Name)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return err
	}
	f.target = there
	f.owner = owner.Of(looker.Look(ctx, there.kind.groupKind(), there.meta))
	return nil
}

// warnings are what the API server warns of, each once.
type warnings struct {
	mu   sync.Mutex
	said []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	if code != warningCode || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.said, text) {
		w.said = append(w.said, text)
	}
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.said
}

// warningCode is that of warnings which the API server means for people.
const warningCode = 299

// dynamicWarning is a client whose warnings are kept.
func (c *clients) dynamicWarning(w *warnings) (dynamic.Interface, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.WarningHandler = w
	return dynamic.NewForConfig(config)
}
