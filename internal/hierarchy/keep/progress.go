// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
)

// progress knows which copies of each namespace are not as they should be yet.
type progress struct {
	mu sync.Mutex
	// pending are those, and failing the errors of those that were tried.
	pending map[string]sets.Set[propagate.Key]
	failing map[string]map[propagate.Key]string
	// fresh are namespaces that stand elsewhere since a moment ago, so that somebody
	// may wait for them.
	fresh sets.Set[string]
}

func newProgress() *progress {
	return &progress{
		pending: map[string]sets.Set[propagate.Key]{}, failing: map[string]map[propagate.Key]string{}, fresh: sets.New[string](),
	}
}

func (p *progress) moved(namespaces sets.Set[string]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh = p.fresh.Union(namespaces)
}

// again forgets how copies went: everything is looked at anew.
func (p *progress) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.pending)
	clear(p.failing)
}

// waiting are the namespaces that somebody may wait for.
func (p *progress) waiting() sets.Set[string] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh.Clone()
}

func (p *progress) begin(at world.CopyRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending[at.Namespace] == nil {
		p.pending[at.Namespace] = sets.New[propagate.Key]()
	}
	p.pending[at.Namespace].Insert(at.Key)
}

// end takes in how one copy went. Tell says that what is to be said of the
// namespace may be something else now.
func (p *progress) end(at world.CopyRef, err error) (tell bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if p.failing[at.Namespace] == nil {
			p.failing[at.Namespace] = map[propagate.Key]string{}
		}
		before := p.failing[at.Namespace][at.Key]
		p.failing[at.Namespace][at.Key] = err.Error()
		return before != err.Error()
	}
	delete(p.pending[at.Namespace], at.Key)
	if len(p.pending[at.Namespace]) == 0 {
		delete(p.pending, at.Namespace)
		tell = p.fresh.Has(at.Namespace)
	}
	if _, failed := p.failing[at.Namespace][at.Key]; failed {
		tell = true
		p.fresh.Insert(at.Namespace) // it was said that it fails
		delete(p.failing[at.Namespace], at.Key)
		if len(p.failing[at.Namespace]) == 0 {
			delete(p.failing, at.Namespace)
		}
	}
	return tell
}

// of says how a namespace stands. Known is false where nothing is to be said of it.
func (p *progress) of(namespace string) (complete bool, problem string, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if failing := p.failing[namespace]; len(failing) > 0 {
		return false, describe(failing), true
	}
	return len(p.pending[namespace]) == 0, "", p.fresh.Has(namespace)
}

// failed are the places for copies of a kind that could not be brought to what they should be.
func (p *progress) failed(kind schema.GroupKind) (out []world.CopyRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for namespace, failing := range p.failing {
		for key := range failing {
			if key.Kind == kind {
				out = append(out, world.CopyRef{Key: key, Namespace: namespace})
			}
		}
	}
	return out
}

// said takes in that it was said how a namespace stands.
func (p *progress) said(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh.Delete(namespace)
}

// describe names the first few of what fails.
func describe(failing map[propagate.Key]string) string {
	const most = 3
	var out []string
	for k, err := range failing {
		out = append(out, fmt.Sprintf("%s %s: %s", k.Kind.Kind, k.Name, err))
	}
	slices.Sort(out)
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("and %d more", len(out)-most))
	}
	return strings.Join(out, "; ")
}
