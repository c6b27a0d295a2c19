// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

const (
	// page is how many objects are asked for at once.
	page = 500
	// named is how many of them are named to people.
	named = 3
)

// errStaying says that a CustomResourceDefinition would take objects along that are to stay.
type errStaying struct{ names []string }

func (e *errStaying) Error() string {
	names, more := e.names, ""
	if n := len(names) - named; n > 0 {
		names, more = names[:named], fmt.Sprintf(" and %d more", n)
	}
	return "its objects would go with it, and these are to stay: " + strings.Join(names, ", ") + more
}

// errOccupied says that a Namespace would take along what somebody runs in it.
type errOccupied struct {
	id    object.ID
	names []string
}

func (e *errOccupied) Error() string { return plan.Occupied(e.id, e.names) }

// occupied looks, before a Namespace goes, for what somebody runs in it.
func (e *Engine) occupied(ctx context.Context, id object.ID) error {
	if !id.IsNamespace() || e.o.Occupants == nil {
		return nil
	}
	names, err := e.o.Occupants(ctx, id.Name)
	if err == nil && len(names) > 0 {
		return &errOccupied{id, names}
	}
	return err
}

// staying looks, before a CustomResourceDefinition goes, for objects of its kind that were
// declared to stay and let go of: nothing else remembers them.
func (e *Engine) staying(ctx context.Context, id object.ID) error {
	if !plan.IsCRD(id) {
		return nil
	}
	kinds := e.o.Kinds()
	if kinds == nil {
		return nil
	}
	kind, served := kinds.ByResource(schema.ParseGroupResource(id.Name))
	if !served || !kind.Can("list") {
		return nil
	}
	var names []string
	for more := ""; ; {
		list, err := e.o.Client.Resource(kind.Resource).List(ctx, metav1.ListOptions{Limit: page, Continue: more})
		switch {
		case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
			return nil // who may not see them knows nothing of them
		case err != nil:
			return err
		}
		names = append(names, detached(list.Items)...)
		if more = list.GetContinue(); more == "" {
			break
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &errStaying{names}
}

func detached(list []unstructured.Unstructured) (names []string) {
	for i := range list {
		if o := &list[i]; object.Detached(o.GetAnnotations()) && o.GetDeletionTimestamp() == nil {
			names = append(names, strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"))
		}
	}
	return names
}
