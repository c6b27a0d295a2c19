// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Right tells whether the account of a RootSync may write an object.
type Right int

const (
	// Granted is also the right of a RootSync where no decision depends on it.
	Granted Right = iota
	// Missing is the right of an account that the API server does not authorize.
	Missing
	// Unknown is a right that the API server has not answered for yet.
	Unknown
)

// Reach is where the account of a RootSync has rights by the roles that the RootSync asks for.
type Reach struct {
	// Admin reports that it is cluster-admin, and Everywhere that a role holds in the whole cluster.
	Admin, Everywhere bool
	// In are the namespaces in which other roles hold, in order.
	In []string
}

// Covers reports whether a role holds in a namespace; an empty one is for what is cluster-scoped.
func (r Reach) Covers(namespace string) bool {
	return r.Admin || r.Everywhere || namespace != "" && slices.Contains(r.In, namespace)
}

// Equal reports whether two are the same.
func (r Reach) Equal(o Reach) bool {
	return r.Admin == o.Admin && r.Everywhere == o.Everywhere && slices.Equal(r.In, o.In)
}

// RightNamespace returns the namespace in which the API server authorizes the patch of an object. The patch of a Namespace
// is authorized in that Namespace, so that a RoleBinding in it can allow it; a create is not.
func RightNamespace(resource schema.GroupResource, namespace, name string) string {
	if resource == (schema.GroupResource{Resource: "namespaces"}) {
		return name
	}
	return namespace
}

// Standing is the result for one RootSync of a contest for an object: several RootSyncs declare it, or one declares what
// another still has in its inventory.
type Standing struct {
	// Owner applies the object: the oldest RootSync that declares it and may write it. It is empty if there is none.
	Owner Sync
	// Lacks reports that the RootSync itself declares the object and may not write it, so that it has no claim.
	Lacks bool
	// Open reports that Owner depends on a right that is not known yet.
	Open bool
}

// Stand decides a contest for one RootSync. It asks for the right of a RootSync only if the result depends on it: a
// RootSync that declares an object alone owns it, and its apply tells whether it may.
func Stand(who Sync, oldestFirst []Sync, may func(Sync) Right) Standing {
	if len(oldestFirst) == 1 && oldestFirst[0] == who {
		return Standing{Owner: who}
	}
	var out Standing
	for _, sync := range oldestFirst {
		switch may(sync) {
		case Granted:
			out.Owner = sync
			return out
		case Unknown:
			out.Open = true
			return out
		case Missing:
			out.Lacks = out.Lacks || sync == who
		}
	}
	return out
}
