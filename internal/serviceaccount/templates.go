// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/specs"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/builtin"
	"github.com/holdfast-dev/holdfast/internal/serviceaccount/mapping"
)

// template is a ServiceAccountTemplate, compiled.
type template struct {
	mapping  *mapping.Mapping // nil if it has mistakes
	problems field.ErrorList
}

// templates are all ServiceAccountTemplates: those of the API, and of Holdfast's own
// those whose names nobody has taken.
type templates struct {
	// changed is told when one came, went or became another.
	changed func(name string)

	mu      sync.Mutex
	fromAPI map[string]template
	builtIn map[string]template
	// pattern is the one that the built-in ones were made with.
	pattern *string
}

func newTemplates(changed func(name string)) *templates {
	return &templates{changed: changed, fromAPI: map[string]template{}, builtIn: map[string]template{}}
}

// follow keeps them in line with the cache, and returns whether all are known.
func (t *templates) follow(ctx context.Context, c cache.Cache) (func() bool, error) {
	return specs.Follow(ctx, c, &v1alpha1.ServiceAccountTemplate{}, t.put, func(in *v1alpha1.ServiceAccountTemplate) {
		t.mu.Lock()
		delete(t.fromAPI, in.Name)
		t.mu.Unlock()
		t.changed(in.Name)
	})
}

func (t *templates) put(in *v1alpha1.ServiceAccountTemplate) {
	m, problems := mapping.Compile(in)
	t.mu.Lock()
	t.fromAPI[in.Name] = template{m, problems}
	t.mu.Unlock()
	t.changed(in.Name)
}

// all are those by which accounts are kept; the built-in ones do not give accounts
// labels of the objects whose keys match the pattern.
func (t *templates) all(exclusionPattern string) (map[string]template, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pattern == nil || *t.pattern != exclusionPattern {
		list, err := builtin.Templates(exclusionPattern)
		if err != nil {
			return nil, err
		}
		clear(t.builtIn)
		for i := range list {
			m, problems := mapping.Compile(&list[i])
			t.builtIn[list[i].Name] = template{m, problems}
		}
		t.pattern = &exclusionPattern
	}
	out := maps.Clone(t.builtIn)
	maps.Copy(out, t.fromAPI)
	return out, nil
}

// get returns one of the API.
func (t *templates) get(name string) (template, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out, ok := t.fromAPI[name]
	return out, ok
}

// names of those of the API, sorted.
func (t *templates) names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.fromAPI))
}
