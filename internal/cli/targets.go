// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/deletion/contents"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

// target is an object that a command is about.
type target struct {
	kind kind
	meta *metav1.PartialObjectMetadata
	use  use
	// claim is the one with which a volume is deleted.
	claim *contents.Claim
}

// use says whether an object is in use, for protection while it is.
type use string

const (
	useUnknown use = "" // and then it is assumed to be
	inUse      use = "in use"
	notInUse   use = "not in use"
)

func useOf(used bool) use {
	if used {
		return inUse
	}
	return notInUse
}

// String writes the target as the rules do: deployments.apps/web.
func (t target) String() string { return policy.Target(t.kind.GroupResource(), t.meta) }

// where is the target with its namespace, for people.
func (t target) where() string {
	if t.meta.Namespace == "" {
		return t.String()
	}
	return t.String() + " in namespace " + t.meta.Namespace
}

// namespaceFlag is the flag that goes with the target in a command.
func (t target) namespaceFlag() string {
	if t.meta.Namespace == "" {
		return ""
	}
	return " -n " + t.meta.Namespace
}

// newTarget gives the metadata the kind that it was asked by; the API server
// calls it PartialObjectMetadata.
func newTarget(k kind, o *metav1.PartialObjectMetadata) target {
	o.SetGroupVersionKind(k.gvk())
	return target{kind: k, meta: o}
}

// builder reads TYPE NAME and so on as kubectl does.
func (c *clients) builder(s selection) (*resource.Builder, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	return resource.NewBuilder(c.Flags).
		Unstructured().
		NamespaceParam(ns).DefaultNamespace().
		AllNamespaces(s.allNamespaces).
		ContinueOnError(), nil
}

// named finds the objects that the command line names. An object that cannot be
// read is an error beside the rest.
func (c *clients) named(ctx context.Context, s selection) ([]target, []error) {
	b, err := c.builder(s)
	if err != nil {
		return nil, []error{err}
	}
	infos, err := b.ResourceTypeOrNameArgs(false, s.args...).RequireObject(false).Do().Infos()
	if err != nil {
		return nil, []error{reachable(err)}
	}
	client, err := c.Metadata()
	if err != nil {
		return nil, []error{err}
	}
	type result struct {
		target target
		err    error
	}
	var targets []target
	var problems []error
	inOrder(ctx, infos,
		func(ctx context.Context, info *resource.Info) result {
			t, err := get(ctx, client, kindOf(info.Mapping), info.Namespace, info.Name)
			return result{t, err}
		},
		func(_ *resource.Info, r result) {
			if r.err != nil {
				problems = append(problems, r.err)
				return
			}
			targets = append(targets, r.target)
		})
	return targets, problems
}

func get(ctx context.Context, client metadata.Interface, k kind, namespace, name string) (target, error) {
	o, err := client.Resource(k.GroupVersionResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return target{}, err
	}
	return newTarget(k, o), nil
}

const (
	chunkSize = 500

	// metadataOnly asks for metadata, and takes whole objects from an extension
	// API server that knows nothing else.
	metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// ofTypes finds the objects of the types on the command line that the selector
// selects.
func (c *clients) ofTypes(s selection) ([]target, []error) {
	b, err := c.builder(s)
	if err != nil {
		return nil, []error{err}
	}
	if s.all {
		b = b.SelectAllParam(true)
	} else {
		b = b.LabelSelectorParam(s.selector)
	}
	var targets []target
	err = b.ResourceTypeOrNameArgs(true, s.args...).
		RequestChunksOf(chunkSize).
		TransformRequests(func(r *rest.Request) { r.SetHeader("Accept", metadataOnly) }).
		Do().
		Visit(func(info *resource.Info, err error) error {
			if err != nil {
				return err
			}
			found, err := fromList(info)
			targets = append(targets, found...)
			return err
		})
	if err != nil {
		return targets, flatten(err)
	}
	return targets, nil
}

func fromList(info *resource.Info) ([]target, error) {
	objects, ok := info.Object.(*unstructured.UnstructuredList)
	if !ok {
		return nil, fmt.Errorf("list %s: the API server answered with %T", info.Mapping.Resource.Resource, info.Object)
	}
	var targets []target
	for i := range objects.Items {
		var o metav1.PartialObjectMetadata
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects.Items[i].Object, &o); err != nil {
			return targets, fmt.Errorf("read %s: %w", info.Mapping.Resource.Resource, err)
		}
		targets = append(targets, newTarget(kindOf(info.Mapping), &o))
	}
	return targets, nil
}

// reachable adds what to look at when the API server is not there.
func reachable(err error) error {
	if utilnet.IsConnectionRefused(err) {
		return fmt.Errorf("%w; is the cluster up, and is this the right kubeconfig?", err)
	}
	return err
}

// flatten takes an aggregate of errors apart, so that each has a line.
func flatten(err error) []error {
	var several interface{ Errors() []error }
	if errors.As(err, &several) {
		return several.Errors()
	}
	return []error{err}
}

// one is the object that is named, where one is to be.
func (c *clients) one(ctx context.Context, s selection) (target, error) {
	targets, problems := c.named(ctx, s)
	switch {
	case len(problems) > 0:
		return target{}, errors.Join(problems...)
	case len(targets) != 1: // a type can stand for several
		return target{}, usageError{fmt.Errorf("that names %d objects: say one", len(targets))}
	}
	return targets[0], nil
}
