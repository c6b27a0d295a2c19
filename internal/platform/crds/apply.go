// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package crds

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// FieldManager is the name under which schemas are applied.
	FieldManager = "holdfast-crds"

	// establishedTimeout bounds the wait for the API server to serve a new kind.
	establishedTimeout = 30 * time.Second
	establishedPoll    = 100 * time.Millisecond
)

// Applier applies CustomResourceDefinitions.
type Applier struct {
	// Client must not cache.
	Client client.Client
	// Version of Holdfast that runs.
	Version string
}

// Apply has each of them in the API server, and served, when it returns. One that may not be
// written stays as it is: whether it will do is for the one to say who uses it.
func (a Applier) Apply(ctx context.Context, all ...*unstructured.Unstructured) error {
	for _, wanted := range all {
		ours, err := a.apply(ctx, wanted)
		if apierrors.IsForbidden(err) {
			log.FromContext(ctx).Info("A CustomResourceDefinition may not be applied; apply config/crd yourself, or grant the rights of the chart",
				"name", wanted.GetName(), "error", err.Error())
			continue
		}
		if err != nil {
			return fmt.Errorf("apply the CustomResourceDefinition %s: %w", wanted.GetName(), err)
		}
		if !ours {
			continue
		}
		// Another replica may have written it this moment.
		if err := a.awaitServed(ctx, wanted); err != nil {
			return fmt.Errorf("wait for the CustomResourceDefinition %s: %w", wanted.GetName(), err)
		}
	}
	return nil
}

// apply says whether what is there now is as it is wanted.
func (a Applier) apply(ctx context.Context, wanted *unstructured.Unstructured) (bool, error) {
	live, err := a.get(ctx, wanted)
	if apierrors.IsNotFound(err) {
		live = nil
	} else if err != nil {
		return false, err
	}
	l := log.FromContext(ctx).WithValues("name", wanted.GetName())
	d := Decide(live, wanted, a.Version)
	if d.Newer != "" {
		l.Info("A CustomResourceDefinition is newer, and stays", "why", d.Newer)
	}
	if d.Apply == nil {
		return d.Newer == "", nil
	}
	if d.DropConversion {
		without := []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
		if err := a.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, without), client.FieldOwner(FieldManager)); err != nil {
			return false, err
		}
	}
	if err := a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(d.Apply), client.FieldOwner(FieldManager), client.ForceOwnership); err != nil {
		return false, err
	}
	l.Info("Applied a CustomResourceDefinition", "new", live == nil)
	return true, nil
}

func (a Applier) get(ctx context.Context, wanted *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	return live, a.Client.Get(ctx, client.ObjectKeyFromObject(wanted), live)
}

// awaitServed waits until the kind is established, and found by who asks what is served.
func (a Applier) awaitServed(ctx context.Context, wanted *unstructured.Unstructured) error {
	why := errors.New("the API server has not looked at it yet")
	err := wait.PollUntilContextTimeout(ctx, establishedPoll, establishedTimeout, true, func(ctx context.Context) (bool, error) {
		why = a.served(ctx, wanted)
		return why == nil, nil
	})
	if err != nil {
		return errors.Join(err, why)
	}
	return nil
}

// served says why a kind is not.
func (a Applier) served(ctx context.Context, wanted *unstructured.Unstructured) error {
	live, err := a.get(ctx, wanted)
	if err != nil {
		return err
	}
	if err := established(live); err != nil {
		return err
	}
	_, err = a.Client.IsObjectNamespaced(instance(wanted))
	return err
}

// established says why the API server does not serve a kind.
func established(live *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	message := "the API server has not looked at it yet"
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		switch {
		case condition["type"] == "Established" && condition["status"] == "True":
			return nil
		case condition["status"] == "False":
			message = fmt.Sprintf("%v: %v", condition["type"], condition["message"])
		}
	}
	return errors.New(message)
}

// instance is an empty object of the kind.
func instance(crd *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	group, _ := spec(crd)["group"].(string)
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	for _, v := range versions(crd) {
		if storage, _ := v["storage"].(bool); storage {
			name, _ := v["name"].(string)
			out.SetAPIVersion(group + "/" + name)
		}
	}
	out.SetKind(kind)
	return out
}
