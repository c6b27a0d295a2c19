// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// Whenever a process ends, the next one goes on: the cluster and the inventory end as
// is declared, whatever was declared in between.
func TestEngine_endsAtRandomMoments(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	e := r.start("random", nil)
	var texts []string
	for round := range 30 {
		texts = []string{namespace("random-safe")}
		for i := range 40 {
			if rng.IntN(3) > 0 {
				texts = append(texts, configMap(ns, fmt.Sprint("c", i), fmt.Sprint("v", rng.IntN(3))))
			}
		}
		commit := fmt.Sprint("c", round)
		// Each request counts twice: before it is made, and when it was answered.
		r.mu.Lock()
		r.left, r.crash = 1+rng.IntN(120), e.cancel
		r.mu.Unlock()
		e.Set(timed(declared(t, texts...), commit, "20s"))
		r.Eventually(func() bool {
			s := e.State()
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.left <= 0 || s.Settled && s.Version.Commit == commit
		}, patience, often).Should(gomega.BeTrue())
		e = e.again()
	}
	s := e.set("last", texts...)
	if len(s.Errors) > 0 {
		t.Errorf("got %v", errorsOf(s))
	}
	var want []string
	values := map[string]string{}
	for _, d := range declared(t, texts...) {
		want = append(want, d.ID().String())
		if !d.ID().IsNamespace() {
			values[d.ID().Name] = dataOf(d.Object)
		}
	}
	slices.Sort(want)
	r.Eventually(func() []string {
		got := e.inventory()
		slices.Sort(got)
		return got
	}, patience, often).Should(gomega.Equal(want), "seed %d", seed)
	var list corev1.ConfigMapList
	if err := r.e.Client.List(t.Context(), &list, client.InNamespace(ns), client.HasLabels{object.LabelPartOf}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, cm := range list.Items {
		got[cm.Name] = cm.Data["k"]
	}
	if diff := cmp.Diff(values, got); diff != "" {
		t.Errorf("seed %d: %s", seed, diff)
	}
}

func TestEngine_actsWithTheRightsThatItHas(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ns := r.e.Namespace(t)
	const user = "rights-of-a-sync"
	r.e.Grant(t, ns, user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "patch"}})
	e := r.start("rights", func(o *apply.Options) { o.Client, o.Inventory = r.counted(user), r.counted("") })
	secret := "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: " + ns + "}}"
	s := e.set("c1", configMap(ns, "a", "v"), configMap(ns, "b", "v"), secret)
	want := []string{"KNV2013: failed to apply Secret, " + ns + `/s: secrets "s" is forbidden: User "` + user + `" cannot patch resource "secrets" in API group "" in the namespace "` + ns + `"`}
	if diff := cmp.Diff(want, errorsOf(s)); diff != "" {
		t.Error(diff)
	}
	was := r.get("v1/ConfigMap", ns, "a").GetResourceVersion()
	e = e.again()
	s = e.set("c2", configMap(ns, "a", "v"))
	if got := r.get("v1/ConfigMap", ns, "a").GetResourceVersion(); got != was {
		t.Error("it was written")
	}
	if got := errorsOf(s); len(got) != 1 || !strings.HasPrefix(got[0], "KNV2013: failed to prune ConfigMap, "+ns+`/b: configmaps "b" is forbidden: User "`+user) {
		t.Errorf("got %v", got)
	}
	r.Eventually(e.inventory, patience, often).Should(gomega.Equal([]string{"ConfigMap, " + ns + "/a", "ConfigMap, " + ns + "/b"}))
}
