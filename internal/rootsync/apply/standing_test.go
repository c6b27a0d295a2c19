// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// Of what others declare too, nothing is made or taken over before it is known who may write it, and nothing is written
// without the right.
func TestEngine_waitsUntilItIsKnownWhoMayWrite(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	var standing atomic.Pointer[object.Standing]
	var trouble atomic.Pointer[error]
	standing.Store(&object.Standing{Open: true})
	contested := func(id object.ID) bool { return id.Name == "x" }
	e := r.start("stands", func(o *apply.Options) {
		o.Standing = func(id object.ID) object.Standing {
			if contested(id) {
				return *standing.Load()
			}
			return object.Standing{Owner: o.Sync}
		}
		o.Unanswered = func() error {
			if err := trouble.Load(); err != nil {
				return *err
			}
			return nil
		}
	})
	x := object.ID{Kind: "ConfigMap", Namespace: ns, Name: "x"}
	becomes := func(s object.Standing) {
		standing.Store(&s)
		e.Reconsider(x)
	}
	e.Set(timed(declared(t, configMap(ns, "x", "v"), configMap(ns, "own", "v")), "c1", "20s"))
	r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "own")) }, patience, often).Should(gomega.Equal("v"))
	r.Expect(e.State().Settled).To(gomega.BeFalse())
	r.Expect(r.get("v1/ConfigMap", ns, "x")).To(gomega.BeNil())

	down := errors.New("connection refused")
	trouble.Store(&down)
	e.Reconsider(x)
	e.settled("c1")
	r.Eventually(e.errors, patience, often).Should(gomega.ConsistOf("KNV2002: failed to apply " + x.String() + ": connection refused"))
	trouble.Store(nil)

	const lacks = ": system:serviceaccount:config-management-system:root-reconciler-stands may not write it, so that this RootSync has no claim on it"
	becomes(object.Standing{Lacks: true})
	r.Eventually(e.errors, patience, often).Should(gomega.ConsistOf(gomega.HavePrefix("KNV2013: failed to apply " + x.String() + lacks)))
	r.Eventually(e.inventory, patience, often).Should(gomega.ConsistOf("ConfigMap, " + ns + "/own"))

	becomes(object.Standing{Owner: "stands"})
	r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "x")) }, patience, often).Should(gomega.Equal("v"))
	r.Eventually(e.errors, patience, often).Should(gomega.BeEmpty())

	// It keeps what it has while that is open, and in the inventory when it may not write it any more.
	becomes(object.Standing{Open: true})
	r.patch("v1/ConfigMap", ns, "x", "{data: {k: edited}}")
	r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "x")) }, patience, often).Should(gomega.Equal("v"))
	becomes(object.Standing{Lacks: true})
	r.Eventually(e.errors, patience, often).Should(gomega.HaveLen(1))
	r.Eventually(e.inventory, patience, often).Should(gomega.ConsistOf("ConfigMap, "+ns+"/own", x.String()))

	// Declared no longer, it goes once it is known that no other may have it.
	becomes(object.Standing{Open: true})
	e.Set(timed(declared(t, configMap(ns, "own", "w")), "c2", "20s"))
	r.Eventually(func() string { return dataOf(r.get("v1/ConfigMap", ns, "own")) }, patience, often).Should(gomega.Equal("w"))
	r.Expect(r.get("v1/ConfigMap", ns, "x")).NotTo(gomega.BeNil())
	becomes(object.Standing{})
	r.Eventually(func() any { return r.get("v1/ConfigMap", ns, "x") }, patience, often).Should(gomega.BeNil())
	e.settled("c2")
}
