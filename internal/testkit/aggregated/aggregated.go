// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregated

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// Group is an API group with a server of its own. Both have one kind, which is in a namespace and has
// nothing but metadata and a spec.text.
type Group string

const (
	// WithAdmission runs the admission plugins that the library for API servers has by default, which
	// follow the cluster's policies and webhooks.
	WithAdmission Group = "with-admission.example.org"
	// WithoutAdmission runs none, as Karmada's does.
	WithoutAdmission Group = "without-admission.example.org"
)

// What is served in either group.
const (
	Version  = "v1"
	Kind     = "Flunder"
	Resource = "flunders"
)

const (
	// serviceName is that of the Service that an APIService names.
	serviceName = "flunders"
	// availableTimeout bounds the start; it takes about a second.
	availableTimeout = 180 * time.Second
	often            = 50 * time.Millisecond
)

// New returns an object of the group to create.
func (g Group) New(namespace, name string, labels map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(g.version().WithKind(Kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(labels)
	return o
}

func (g Group) version() schema.GroupVersion {
	return schema.GroupVersion{Group: string(g), Version: Version}
}

// Start starts the group's server and returns when the cluster has its API: the APIService is available,
// clients find the kind and are answered. The API, all of its objects and the process end with the test.
// A cluster can have each group once at a time.
func Start(t testing.TB, e *testkit.Env, g Group) *Server {
	t.Helper()
	if e.Dir == "" {
		t.Fatal("an extension API server needs a local control plane: the API server of another cluster cannot reach this machine, so use testkit.New")
	}
	binary, err := cluster.Binary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	namespace := e.Namespace(t)
	s, err := startServer(t.Context(), serverOptions{
		binary: binary, clusterDir: e.Dir, logDir: t.TempDir(), group: g, service: namespace + "/" + serviceName,
	})
	if err != nil {
		t.Fatalf("start the extension API server of %s: %v", g, err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("the log of the extension API server of %s ends:\n%s", g, s.logTail())
		}
	})
	if err := register(t.Context(), e, g, namespace, s.status); err != nil {
		t.Fatalf("put %s into the cluster: %v", g, err)
	}
	// Before the server ends: nobody can discover all that a cluster has while a group has no server.
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), availableTimeout)
		defer cancel()
		if err := unregister(ctx, e, g); err != nil {
			t.Errorf("take %s out of the cluster: %v", g, err)
		}
	})
	if err := waitServed(t.Context(), e, g, s); err != nil {
		t.Fatalf("wait for %s: %v", g, err)
	}
	return s
}

// register makes the Service and the APIService.
func register(ctx context.Context, e *testkit.Env, g Group, namespace string, at status) error {
	// No other type of Service leads to a loopback address: endpoints may not have one.
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceName},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: at.Host},
	}
	if err := e.Client.Create(ctx, service); err != nil {
		return fmt.Errorf("make the service: %w", err)
	}
	api := apiService(g)
	api.Object["spec"] = map[string]any{
		"group": string(g), "version": Version, "groupPriorityMinimum": int64(1000), "versionPriority": int64(10),
		"caBundle": at.CABundle,
		"service":  map[string]any{"namespace": namespace, "name": serviceName, "port": at.Port},
	}
	if err := e.Client.Create(ctx, api); err != nil {
		return fmt.Errorf("make the APIService: %w", err)
	}
	return nil
}

// unregister takes the APIService away and waits until the API server passes nothing on any more. A mark
// of a protection that the test has just ended may hold it for a moment.
func unregister(ctx context.Context, e *testkit.Env, g Group) error {
	var refused error
	err := wait.PollUntilContextCancel(ctx, often, true, func(context.Context) (bool, error) {
		refused = e.Client.Delete(ctx, apiService(g))
		if apierrors.IsForbidden(refused) {
			return false, nil
		}
		return true, client.IgnoreNotFound(refused)
	})
	if err != nil {
		return fmt.Errorf("delete the APIService: %w", errors.Join(err, refused))
	}
	finder, err := discovery.NewDiscoveryClientForConfig(e.Config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, often, true, func(context.Context) (bool, error) {
		_, err := finder.ServerResourcesForGroupVersion(g.version().String())
		return apierrors.IsNotFound(err), nil
	})
	if err != nil {
		return fmt.Errorf("wait until requests are not passed on any more: %w", err)
	}
	return nil
}

// waitServed waits until the cluster has the group.
func waitServed(ctx context.Context, e *testkit.Env, g Group, s *Server) error {
	finder, err := discovery.NewDiscoveryClientForConfig(e.Config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, often, availableTimeout, true, func(ctx context.Context) (bool, error) {
		if err := s.ended(); err != nil {
			return false, err
		}
		last = errors.Join(available(ctx, e, g), found(finder, g), answered(ctx, e, g))
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// available says why the aggregator does not hold the group available, if so.
func available(ctx context.Context, e *testkit.Env, g Group) error {
	api := apiService(g)
	if err := e.Client.Get(ctx, client.ObjectKeyFromObject(api), api); err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(api.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Available" && c["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("the APIService is not available: %v", conditions)
}

// found says why clients do not find the kind, if so. They look into one list of all groups, which the
// aggregator brings up to date by itself.
func found(finder *discovery.DiscoveryClient, g Group) error {
	_, resources, _, err := finder.GroupsAndMaybeResources()
	if err != nil {
		return err
	}
	list := resources[g.version()]
	if list == nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == Resource }) {
		return fmt.Errorf("discovery has no %s", Resource)
	}
	return nil
}

// answered says why a request is not, if so.
func answered(ctx context.Context, e *testkit.Env, g Group) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(g.version().WithKind(Kind + "List"))
	return e.Client.List(ctx, list)
}

func apiService(g Group) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("apiregistration.k8s.io/v1")
	o.SetKind("APIService")
	o.SetName(Version + "." + string(g))
	return o
}
