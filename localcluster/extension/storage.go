// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
)

// newStorage returns what answers every verb for the kind.
func newStorage(group string, scheme *runtime.Scheme, getter generic.RESTOptionsGetter) (rest.Storage, error) {
	resources := schema.GroupResource{Group: group, Resource: resource}
	objects := strategy{ObjectTyper: scheme, NameGenerator: names.SimpleNameGenerator}
	store := &registry.Store{
		NewFunc:                   func() runtime.Object { return &Flunder{} },
		NewListFunc:               func() runtime.Object { return &FlunderList{} },
		DefaultQualifiedResource:  resources,
		SingularQualifiedResource: schema.GroupResource{Group: group, Resource: singular},
		CreateStrategy:            objects,
		UpdateStrategy:            objects,
		DeleteStrategy:            objects,
		TableConvertor:            rest.NewDefaultTableConvertor(resources),
	}
	if err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: getter}); err != nil {
		return nil, fmt.Errorf("make the storage of %s: %w", resources, err)
	}
	return store, nil
}

// strategy takes every object as it comes; what all kinds have in common is checked elsewhere.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

func (strategy) NamespaceScoped() bool                                            { return true }
func (strategy) PrepareForCreate(context.Context, runtime.Object)                 {}
func (strategy) PrepareForUpdate(context.Context, runtime.Object, runtime.Object) {}
func (strategy) Canonicalize(runtime.Object)                                      {}
func (strategy) Validate(context.Context, runtime.Object) field.ErrorList         { return nil }
func (strategy) WarningsOnCreate(context.Context, runtime.Object) []string        { return nil }
func (strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
func (strategy) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}
