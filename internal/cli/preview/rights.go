// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// rights are what the accounts of RootSyncs may write, as the API server answers the user of the command.
type rights struct {
	api *API
	in  *Input

	mu    sync.Mutex
	known map[question]bool
	// unknown is why the user may not ask.
	unknown error
}

// question is whether the account of a RootSync may do something.
type question struct {
	who   object.Sync
	about authorizationv1.ResourceAttributes
}

// ask has the API server asked for rights from now on.
func (in *Input) ask(ctx context.Context, api *API) *rights {
	r := &rights{api: api, in: in, known: map[question]bool{}}
	in.may = func(who object.Sync, id object.ID, exists bool) object.Right { return r.may(ctx, who, id, exists) }
	return r
}

// notes say what is assumed.
func (r *rights) notes() []string {
	if r.unknown == nil {
		return nil
	}
	return []string{fmt.Sprintf("of what several RootSyncs declare, each is assumed to have the right to write it: %v", r.unknown)}
}

// may answers whether the account of a RootSync may apply an object. Without an answer that is assumed.
func (r *rights) may(ctx context.Context, who object.Sync, id object.ID, exists bool) object.Right {
	kind, served := r.in.Kinds[id.GroupKind()]
	reach := r.in.reach(who)
	switch {
	case !served || reach.Admin:
		return object.Granted
	case !reach.Covers(object.RightNamespace(kind.Resource.GroupResource(), id.Namespace, id.Name)):
		return object.Missing
	}
	q := question{who, authorizationv1.ResourceAttributes{
		Group: kind.Resource.Group, Version: kind.Resource.Version, Resource: kind.Resource.Resource, Namespace: id.Namespace, Name: id.Name,
	}}
	verbs := []string{"patch"}
	if !exists {
		verbs = append(verbs, "create")
	}
	for _, q.about.Verb = range verbs {
		q.about.Namespace = id.Namespace
		if q.about.Verb == "patch" {
			q.about.Namespace = object.RightNamespace(kind.Resource.GroupResource(), id.Namespace, id.Name)
		}
		if !r.allowed(ctx, q) {
			return object.Missing
		}
	}
	return object.Granted
}

func (r *rights) allowed(ctx context.Context, q question) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if allowed, known := r.known[q]; known {
		return allowed
	}
	review, err := r.api.Access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: &q.about, User: q.who.User(),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + object.SyncNamespace, "system:authenticated"},
	}}, metav1.CreateOptions{})
	if err != nil {
		r.unknown = err
	}
	r.known[q] = err != nil || review.Status.Allowed
	return r.known[q]
}

// reach is where the roles of a RootSync hold.
func (in *Input) reach(who object.Sync) object.Reach {
	if who == in.Sync {
		return in.Reach
	}
	for _, o := range in.Others {
		if o.Sync == who {
			return o.Reach
		}
	}
	return object.Reach{Everywhere: true}
}

// right is that of a RootSync to an object.
func (in *Input) right(who object.Sync, id object.ID, exists bool) object.Right {
	if in.may == nil {
		return object.Granted
	}
	return in.may(who, id, exists)
}

// rightsIn are those of RootSyncs in a namespace.
func (in *Input) rightsIn(name string, exists bool) namespaces.Rights {
	itself := func(who object.Sync) object.Right { return in.right(who, object.NamespaceID(name), exists) }
	return namespaces.Rights{
		Namespace: itself,
		Inside: func(who object.Sync) object.Right {
			ids := in.having(who, func(id object.ID) bool { return id.Namespace == name })
			if len(ids) == 0 {
				return itself(who)
			}
			return in.any(who, ids)
		},
	}
}

// having are the objects in the inventory of another RootSync, in order.
func (in *Input) having(who object.Sync, match func(object.ID) bool) (out []object.ID) {
	for _, o := range in.Others {
		if o.Sync != who {
			continue
		}
		for id := range o.Has {
			if match(id) {
				out = append(out, id)
			}
		}
	}
	slices.SortFunc(out, object.ID.Compare)
	return out
}

// any is the right to any of several objects, which are there.
func (in *Input) any(who object.Sync, ids []object.ID) object.Right {
	for _, id := range ids {
		if in.right(who, id, true) == object.Granted {
			return object.Granted
		}
	}
	return object.Missing
}
