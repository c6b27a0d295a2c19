// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

const (
	// accountWriters is how many requests the bare client has under way, as the manager.
	accountWriters = 16
	// accountBound is that of the other first passes.
	accountBound = 1.3
	// accountWrites counts what the manager writes to accounts.
	accountWrites = "holdfast_serviceaccount_writes_total"
	// ofStrimzi is on every account of Strimzi's kinds.
	ofStrimzi = "strimzi.io/kind"
)

var (
	accountsResource = corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	connectKind      = schema.GroupVersionKind{Group: "kafka.strimzi.io", Version: "v1", Kind: "KafkaConnect"}
)

// accountBench is a cluster with objects that want accounts.
type accountBench struct {
	*subject
	*bench
	objects []*unstructured.Unstructured
}

// measureAccounts measures the accounts of many objects. The manager runs all the time,
// and is told to keep accounts: what a start does besides is in a row of its own.
func measureAccounts(ctx context.Context, b *bench) ([]row, error) {
	b.progress("accounts: a cluster")
	s, err := b.withAccounts(ctx)
	if err != nil {
		return nil, err
	}
	a := &accountBench{subject: s, bench: b, objects: make([]*unstructured.Unstructured, b.accounts)}
	if err := each(b.accounts, makers, func(i int) error {
		a.objects[i] = connectIn(a.namespace(i), i)
		return s.Client.Create(ctx, a.objects[i])
	}); err != nil {
		return nil, fmt.Errorf("make objects: %w", err)
	}
	b.progress("accounts: a manager that starts")
	start, err := s.spanOf(ctx, b.accounts, func() error {
		_, err := s.startManager(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("by a manager that starts: %w", err)
	}
	applied, err := a.rounds(ctx, "apply", func(i int) error {
		return s.Client.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace(i), Name: accountName(i)}}, byHand)
	}, func(i int) error {
		in := &unstructured.Unstructured{}
		in.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
		want := a.account(i)
		in.SetNamespace(want.Namespace)
		in.SetName(want.Name)
		in.SetLabels(want.Labels)
		in.SetAnnotations(want.Annotations)
		return s.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(in), byBareClient)
	})
	if err != nil {
		return nil, err
	}
	made, err := a.rounds(ctx, "make", nil, func(i int) error {
		return s.Client.Create(ctx, a.account(i), byBareClient)
	})
	if err != nil {
		return nil, err
	}
	made.work = number(b.accounts) + " objects, first pass of a manager that is told to keep accounts: from the first account to the last"
	applied.work = number(b.accounts) + " accounts that people have made, first pass of the same: from the first that is written to the last"
	rows := []row{made, applied, {
		work: number(b.accounts) + " objects, first pass of a manager that starts, with all that it does then", floor: made.floor,
		measured: start.Seconds(), base: made.base, unit: "s",
	}}
	// What was turned on and off so often tells nothing about memory.
	if err := s.Manager.Stop(); err != nil {
		return rows, err
	}
	if _, err := s.startManager(ctx); err != nil {
		return rows, err
	}
	more, err := s.laterAccounts(ctx, b)
	return append(rows, more...), err
}

// Who writes accounts beside Holdfast.
const (
	byHand       = client.FieldOwner("people")
	byBareClient = client.FieldOwner("bare-client")
)

func (a *accountBench) namespace(i int) string { return fmt.Sprintf("bench-%d", i%a.namespaces) }

// account is what a bare client writes in place of Holdfast, the owner with it.
func (a *accountBench) account(i int) *corev1.ServiceAccount {
	out := accountIn(a.namespace(i), i)
	out.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: connectKind.GroupVersion().String(), Kind: connectKind.Kind, Name: a.objects[i].GetName(), UID: a.objects[i].GetUID(),
		Controller: new(false), BlockOwnerDeletion: new(true),
	}}
	return out
}

// rounds measure how long Holdfast and a bare client take for the same writes, after
// something was there before. In the end the accounts are Holdfast's.
func (a *accountBench) rounds(ctx context.Context, what string, before, bare func(i int) error) (row, error) {
	var passes, bases []float64
	for round := range a.accountRounds {
		a.progress("accounts: %s, round %d of %d", what, round+1, a.accountRounds)
		for _, by := range []struct {
			act  func() error
			into *[]float64
		}{
			{func() error { return each(a.accounts, accountWriters, bare) }, &bases},
			{func() error { return a.keep(ctx, "Enforce") }, &passes},
		} {
			if err := a.clear(ctx, before); err != nil {
				return row{}, err
			}
			took, err := a.spanOf(ctx, a.accounts, by.act)
			if err != nil {
				return row{}, fmt.Errorf("%s: %w", what, err)
			}
			*by.into = append(*by.into, took.Seconds())
		}
	}
	return ratioOf("", "the same writes by a bare client", passes, bases, accountBound), nil
}

// clear has Holdfast keep no accounts, and what was before it there.
func (a *accountBench) clear(ctx context.Context, before func(i int) error) error {
	if err := a.keep(ctx, "Off"); err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	if err := a.withoutAccounts(ctx, a.namespaces); err != nil {
		return err
	}
	if before == nil {
		return nil
	}
	if err := each(a.accounts, makers, before); err != nil {
		return fmt.Errorf("make accounts: %w", err)
	}
	return pause(ctx, settle)
}

// withAccounts is a cluster with Strimzi's kinds whose manager keeps accounts, and does
// not run yet.
func (b *bench) withAccounts(ctx context.Context) (*subject, error) {
	s, err := b.installed(ctx, withoutLease)
	if err != nil {
		return nil, err
	}
	if err := s.apply(ctx, "internal/testkit/strimzi/crds.yaml", "config/rbac/serviceaccounts.yaml"); err != nil {
		return nil, err
	}
	if _, err := manager.Kubectl(ctx, s.Cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"); err != nil {
		return nil, err
	}
	return s, s.keep(ctx, "Enforce")
}

// keep has the manager keep accounts in a mode.
func (s *subject) keep(ctx context.Context, mode string) error {
	return s.configure(ctx, "featureGates: {ServiceAccountPatching: true}\ndeletion: {mode: 'Off'}\neviction: {mode: 'Off'}\nserviceAccounts: {mode: '"+mode+"'}\n")
}

func connectIn(namespace string, i int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"replicas": int64(3),
		"template": map[string]any{"serviceAccount": map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/connect"},
		}}},
	}}}
	u.SetGroupVersionKind(connectKind)
	u.SetNamespace(namespace)
	u.SetName(fmt.Sprintf("c-%d", i))
	return u
}

func accountName(i int) string { return fmt.Sprintf("c-%d-connect", i) }

// accountIn is an account with the labels and annotations of its object.
func accountIn(namespace string, i int) *corev1.ServiceAccount {
	name := fmt.Sprintf("c-%d", i)
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: accountName(i), Annotations: map[string]string{"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/connect"},
		Labels: map[string]string{
			ofStrimzi: "KafkaConnect", "strimzi.io/name": name + "-connect", "strimzi.io/cluster": name, "strimzi.io/component-type": "kafka-connect",
			"app.kubernetes.io/name": "kafka-connect", "app.kubernetes.io/instance": name, "app.kubernetes.io/part-of": "strimzi-" + name,
			"app.kubernetes.io/managed-by": "strimzi-cluster-operator",
		},
	}}
}

// spanOf is the time from the first to the last of so many accounts that come of an
// act, as somebody sees them who watches, the same for both columns.
func (s *subject) spanOf(ctx context.Context, n int, act func() error) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := s.metadata.Resource(accountsResource).List(ctx, metav1.ListOptions{LabelSelector: ofStrimzi})
	if err != nil {
		return 0, err
	}
	events, err := s.metadata.Resource(accountsResource).Watch(ctx, metav1.ListOptions{LabelSelector: ofStrimzi, ResourceVersion: list.ResourceVersion})
	if err != nil {
		return 0, err
	}
	defer events.Stop()
	acted := make(chan error, 1)
	go func() { acted <- act() }()
	var first time.Time
	for seen := 0; seen < n; {
		select {
		case e, open := <-events.ResultChan():
			if !open {
				return 0, errors.New("the watch has ended")
			}
			if e.Type != watch.Added {
				continue
			}
			seen++
			if seen == 1 {
				first = time.Now()
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("after %d of %d accounts: %w", seen, n, ctx.Err())
		}
	}
	took := time.Since(first)
	return took, <-acted
}

func (s *subject) withoutAccounts(ctx context.Context, namespaces int) error {
	if err := each(namespaces, makers, func(i int) error {
		return s.metadata.Resource(accountsResource).Namespace(fmt.Sprintf("bench-%d", i)).
			DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: ofStrimzi})
	}); err != nil {
		return fmt.Errorf("delete accounts: %w", err)
	}
	return nil
}

// laterAccounts measures what comes after the first pass.
func (s *subject) laterAccounts(ctx context.Context, b *bench) ([]row, error) {
	b.progress("accounts: at rest")
	if err := pause(ctx, settle); err != nil {
		return nil, err
	}
	before, err := s.figures(ctx)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, b.idle); err != nil {
		return nil, err
	}
	idle, err := s.figures(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := s.residentMiB()
	if err != nil {
		return nil, err
	}
	rows := []row{
		{work: fmt.Sprintf("%s objects at rest, within %s: requests of the manager to the API server", number(b.accounts), b.idle), measured: idle.get("rest_client_requests_total") - before.get("rest_client_requests_total"), limit: new(0.0)},
		{work: number(b.accounts) + " objects: resident memory of the manager", measured: memory, unit: "MiB", limit: new(float64(memoryBound))},
	}
	// An account that Holdfast has made becomes one that it applies with its first change.
	first, err := s.accountChange(ctx, "the first change of one template", 2)
	if err != nil {
		return rows, err
	}
	later, err := s.accountChange(ctx, "each later one", 1)
	return slices.Concat(rows, first, later), err
}

// accountChange changes the template of one object.
func (s *subject) accountChange(ctx context.Context, what string, limit float64) ([]row, error) {
	before, err := s.figures(ctx)
	if err != nil {
		return nil, err
	}
	o := connectIn("bench-0", 0)
	patch := fmt.Sprintf(`{"spec":{"template":{"serviceAccount":{"metadata":{"annotations":{"eks.amazonaws.com/role-arn":%q}}}}}}`, what)
	begin := time.Now()
	if err := s.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return nil, err
	}
	account := accountIn("bench-0", 0)
	if err := await(ctx, "the account follows", 5*time.Millisecond, func(ctx context.Context) (bool, error) {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(account), account)
		return account.Annotations["eks.amazonaws.com/role-arn"] == what, err
	}); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	if err := pause(ctx, settle); err != nil {
		return nil, err
	}
	after, err := s.figures(ctx)
	return []row{
		{work: what + ": writes of accounts", measured: after.get(accountWrites) - before.get(accountWrites), limit: &limit},
		{work: what + ": until the account says so", measured: took.Seconds() * 1000, unit: "ms"},
	}, err
}
