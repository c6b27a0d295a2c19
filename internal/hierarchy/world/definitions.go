// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// definition is what is known of a CRD.
type definition struct {
	uid types.UID
	// going says that it is being deleted, or gone. That is never taken back: a new
	// one has another UID.
	going bool
}

func (s *state) seenDefinition(of inventory.ObjectSource, o *metav1.PartialObjectMetadata, b *batch) {
	was := s.definitions[of]
	s.setDefinition(of, definition{o.UID, o.DeletionTimestamp != nil || was.going && was.uid == o.UID}, b)
}

func (s *state) goneDefinition(of inventory.ObjectSource, b *batch) {
	s.setDefinition(of, definition{s.definitions[of].uid, true}, b)
}

func (s *state) setDefinition(of inventory.ObjectSource, d definition, b *batch) {
	changes := s.definitions[of].going != d.going
	s.definitions[of] = d
	switch {
	case changes && of == configCRD:
		b.edit(tree.SetSettings(s.settings.Tree(d.going)))
	case changes && of == anchorCRD:
		s.lookAtAnchors(b)
	}
}

// lookAtAnchors has all anchors looked at: those that are being deleted may have waited.
func (s *state) lookAtAnchors(b *batch) {
	for namespace, in := range s.anchors {
		for name := range in {
			b.anchors.Insert(Ref{namespace, name})
		}
	}
}

// suspect is the CRD of which one must know whether it is there, before it means
// anything that an object of the source is not.
func suspect(s inventory.ObjectSource) (of inventory.ObjectSource, found bool) {
	switch s {
	case configs:
		return configCRD, true
	case anchors:
		return anchorCRD, true
	}
	return of, false
}

const (
	// askPause is how long the World waits before it asks again what it must know.
	askPause = time.Second
	// askTimeout bounds one question.
	askTimeout = 10 * time.Second
)

// ask asks for CRDs: what the watch tells of one can come after what it tells of
// its objects. It returns those that are going, if it knows of all.
func (w *World) ask(ctx context.Context, of sets.Set[inventory.ObjectSource]) (going []inventory.ObjectSource, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for s := range of {
		w.mu.RLock()
		known := w.state.definitions[s]
		w.mu.RUnlock()
		if !known.going {
			crd, err := w.o.Dynamic.Resource(s.Resource).Get(ctx, s.Name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				w.fails(s, fmt.Errorf("whether the CRD is being deleted cannot be told, so nothing is changed: %w", err))
				return nil, err
			}
			w.works(s)
			// One with another UID was made after the objects had gone with the old one.
			known.going = err != nil || crd.GetDeletionTimestamp() != nil || crd.GetUID() != known.uid
		}
		if known.going {
			going = append(going, s)
		}
	}
	return going, nil
}
