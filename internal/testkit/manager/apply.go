// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/nested"
)

const (
	// atOnce bounds the requests that are made at the same time.
	atOnce = 8
	// servedTimeout bounds the wait for a kind on a busy machine.
	servedTimeout = 2 * time.Minute
)

// Apply is "kubectl apply --server-side" of files, and of the files in folders, below the root of the module,
// without a process of its own. It waits until the kinds that are defined there are served.
func Apply(ctx context.Context, c *cluster.Cluster, paths ...string) error {
	writer, objects, err := prepare(c, paths)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, o := range objects {
		if o.GetKind() == "Namespace" { // what is in it comes later
			if err := apply(ctx, writer, o); err != nil {
				return err
			}
			continue
		}
		group.Go(func() error { return apply(ctx, writer, o) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return awaitServed(ctx, writer, objects)
}

// AwaitServed waits until the kinds are served that are defined in files, and in the files in folders, which
// somebody else has applied.
func AwaitServed(ctx context.Context, c *cluster.Cluster, paths ...string) error {
	reader, objects, err := prepare(c, paths)
	if err != nil {
		return err
	}
	return awaitServed(ctx, reader, objects)
}

func prepare(c *cluster.Cluster, paths []string) (client.Client, []*unstructured.Unstructured, error) {
	config, err := c.RestConfig()
	if err != nil {
		return nil, nil, err
	}
	made, err := client.New(config, client.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("make client: %w", err)
	}
	objects, err := read(paths)
	return made, objects, err
}

var definition = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// awaitServed waits until all custom resources that are defined among the objects can be listed.
func awaitServed(ctx context.Context, reader client.Client, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if o.GroupVersionKind().GroupKind() == definition {
			if err := awaitList(ctx, reader, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitList waits until all versions of a custom resource can be listed.
func awaitList(ctx context.Context, reader client.Client, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		version, _ := version.(map[string]any)
		if served, _ := version["served"].(bool); !served {
			continue
		}
		name, _ := version["name"].(string)
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: name, Kind: kind + "List"})
		var last error
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, servedTimeout, true, func(ctx context.Context) (bool, error) {
			last = reader.List(ctx, list, client.Limit(1))
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("wait until %s is served: %w", crd.GetName(), errors.Join(err, last))
		}
	}
	return nil
}

func apply(ctx context.Context, writer client.Client, o *unstructured.Unstructured) error {
	if err := writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("kubectl")); err != nil {
		return fmt.Errorf("apply %s %s: %w", o.GetKind(), client.ObjectKeyFromObject(o), err)
	}
	return nil
}

// read returns the objects in files, and in the files of folders, namespaces first.
func read(paths []string) (objects []*unstructured.Unstructured, err error) {
	root, err := nested.Root()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		path = filepath.Join(root, path)
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return nil, fmt.Errorf("list manifests: %w", err)
			}
		}
		for _, file := range files {
			more, err := readFile(file)
			if err != nil {
				return nil, err
			}
			objects = append(objects, more...)
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return order(a) - order(b) })
	return objects, nil
}

// order is 0 for a Namespace and 1 for everything else.
func order(o *unstructured.Unstructured) int {
	if o.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Namespace") {
		return 0
	}
	return 1
}

func readFile(file string) (objects []*unstructured.Unstructured, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)); ; {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode %s: %w", file, err)
		}
		if len(o.Object) > 0 { // and not comments alone
			objects = append(objects, o)
		}
	}
}
