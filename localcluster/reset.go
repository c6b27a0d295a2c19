// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A cluster that is lent to one test after the other is reset in between. That happens in etcd, below
// the API server: a deletion there is an event of a watch like any other, and needs neither a right nor
// a finalizer nor a controller, so it ends in a moment, whatever was left behind.

const (
	// keyPrefix is that of all the API server's objects.
	keyPrefix = "/registry/"
	// lookEvery is how often the store is read until it has come to rest.
	lookEvery = 50 * time.Millisecond
	// newAtRest and resetAtRest are for how many looks in a row nothing may change before a new cluster,
	// whose controllers are still starting, and one that was reset are taken to be at rest.
	newAtRest, resetAtRest = 16, 2
)

// volatile are the prefixes of what components of the cluster write at any time.
var volatile = []string{keyPrefix + "leases/kube-system/", keyPrefix + "masterleases/", keyPrefix + "events/", keyPrefix + "peerserverleases/"}

// snapshot has the value of each key.
type snapshot map[string]string

// store is what the API server keeps in etcd.
type store struct {
	client *clientv3.Client
	// initial is what a new cluster keeps, and groups are the API groups it serves.
	initial snapshot
	groups  []string
}

// openStore waits until a new cluster is at rest and remembers what it has then.
func openStore(ctx context.Context, l layout, p ports) (*store, error) {
	config, err := etcdTLS(l)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + address(p.Etcd)}, TLS: config, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("open etcd: %w", err)
	}
	s := &store{client: client}
	api, err := newClient(l.adminKubeconfig())
	if err == nil {
		s.groups, err = servedGroups(api)
	}
	if err == nil {
		err = s.await(ctx, newAtRest, func(now snapshot) (bool, error) {
			changed := len(changes(s.initial, now)) > 0 || len(changes(now, s.initial)) > 0
			s.initial = now
			return !changed, nil
		})
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("wait until the new cluster is at rest: %w", err)
	}
	return s, nil
}

func (s *store) close() {
	if s != nil {
		_ = s.client.Close() // nothing is under way
	}
}

// await reads the store until it is as wanted so many times in a row.
func (s *store) await(ctx context.Context, times int, wanted func(snapshot) (bool, error)) error {
	for good := 0; good < times; {
		now, err := s.read(ctx)
		if err != nil {
			return err
		}
		ok, err := wanted(now)
		if err != nil {
			return err
		}
		good++
		if !ok {
			good = 0
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
		}
	}
	return nil
}

func (s *store) read(ctx context.Context) (snapshot, error) {
	all, err := s.client.Get(ctx, keyPrefix, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("read etcd: %w", err)
	}
	now := make(snapshot, len(all.Kvs))
	for _, kv := range all.Kvs {
		if !isVolatile(string(kv.Key)) {
			now[string(kv.Key)] = string(kv.Value)
		}
	}
	return now, nil
}

func isVolatile(key string) bool {
	return slices.ContainsFunc(volatile, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// change is what has to be done to a key: it gets a value, or is removed.
type change struct {
	key, value string
	remove     bool
}

// changes make a store that has one snapshot have the other, in the order of the keys.
func changes(from, to snapshot) []change {
	var out []change
	for key := range from {
		if _, ok := to[key]; !ok {
			out = append(out, change{key: key, remove: true})
		}
	}
	for key, value := range to {
		if old, ok := from[key]; !ok || old != value {
			out = append(out, change{key: key, value: value})
		}
	}
	slices.SortFunc(out, func(a, b change) int { return strings.Compare(a.key, b.key) })
	return out
}

// reset makes the store what it was at first, until controllers have nothing to say to that any more, and
// waits until the API server acts on it: until it serves the same groups, and no policy is in force.
func (s *store) reset(ctx context.Context, api kubernetes.Interface) (removed, restored int, err error) {
	toInitial := func(now snapshot) (bool, error) {
		todo := changes(now, s.initial)
		for _, c := range todo {
			var err error
			if c.remove {
				removed++
				_, err = s.client.Delete(ctx, c.key)
			} else {
				restored++
				_, err = s.client.Put(ctx, c.key, c.value)
			}
			if err != nil {
				return false, fmt.Errorf("write etcd: %w", err)
			}
		}
		return len(todo) == 0, nil
	}
	for _, step := range []func() error{
		func() error { _, err := s.client.Delete(ctx, keyPrefix+"events/", clientv3.WithPrefix()); return err },
		func() error { return s.await(ctx, resetAtRest, toInitial) },
		func() error { return policiesTaken(ctx, api) },
		func() error { return s.awaitGroups(ctx, api) },
		func() error { return s.await(ctx, resetAtRest, toInitial) },
	} {
		if err := step(); err != nil {
			return removed, restored, err
		}
	}
	return removed, restored, nil
}

// servedGroups are the groups and versions that discovery shows, in order.
func servedGroups(api kubernetes.Interface) ([]string, error) {
	list, err := api.Discovery().ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("ask which groups are served: %w", err)
	}
	var out []string
	for _, group := range list.Groups {
		for _, version := range group.Versions {
			out = append(out, version.GroupVersion)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (s *store) awaitGroups(ctx context.Context, api kubernetes.Interface) error {
	var now []string
	err := poll(ctx, func() (done bool, err error) {
		now, err = servedGroups(api)
		return slices.Equal(now, s.groups), err
	})
	if err != nil {
		return fmt.Errorf("wait until the API server serves the groups of a new cluster, not %q: %w", now, err)
	}
	return nil
}

const (
	// sentinel is the name of a policy, of its binding and of the one object that it refuses.
	sentinel = "localcluster-sentinel"
	// sentinelSays is how it does.
	sentinelSays = "the policies are taken up"
)

// policiesTaken waits until the API server has taken up all policies and bindings as they are now. It does
// so in the order they are written, some time later: once it refuses what a new one forbids, it has
// forgotten those that were removed before.
func policiesTaken(ctx context.Context, api kubernetes.Interface) error {
	configuration := api.AdmissionregistrationV1()
	policies, bindings := configuration.ValidatingAdmissionPolicies(), configuration.ValidatingAdmissionPolicyBindings()
	meta := metav1.ObjectMeta{Name: sentinel}
	_, err := policies.Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			ResourceNames: []string{sentinel},
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			},
		}}},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: sentinelSays}},
	}}, metav1.CreateOptions{})
	if err == nil {
		_, err = bindings.Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: sentinel, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		}}, metav1.CreateOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil // the API server was told not to serve policies
	}
	if err != nil {
		return fmt.Errorf("make a policy: %w", err)
	}
	err = poll(ctx, func() (bool, error) {
		_, err := api.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{ObjectMeta: meta}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) {
			return false, nil // a webhook that is removed may still be called
		}
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return strings.Contains(err.Error(), sentinelSays), nil // or it is refused by what was removed
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("wait until the API server acts on a policy: %w", err)
	}
	return nil
}

// poll asks until the answer is yes. A request that is cut off, as by an extension API server that is gone,
// is made again.
func poll(ctx context.Context, ask func() (bool, error)) error {
	for {
		done, err := ask()
		if done || err != nil && !passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(lookEvery):
		}
	}
}

func passing(err error) bool {
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTooManyRequests(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
