// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	// limit is what etcd takes in one object, less some room for what is not ours.
	limit = 1536*1024 - 64*1024
	// attempts bounds how often a write is tried that others overtake.
	attempts = 5
)

// Store is the ResourceGroup of one RootSync. It is for one goroutine at a time.
type Store struct {
	client dynamic.ResourceInterface
	sync   object.Sync
	loaded bool
	have   *unstructured.Unstructured
}

// New makes a Store.
func New(c dynamic.Interface, sync object.Sync) *Store {
	return &Store{client: c.Resource(Resource).Namespace(object.SyncNamespace), sync: sync}
}

// Load reads it, if that was not done yet.
func (s *Store) Load(ctx context.Context) error {
	if s.loaded {
		return nil
	}
	have, err := s.client.Get(ctx, string(s.sync), metav1.GetOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("read the ResourceGroup: %w", err)
		}
		have = nil
	}
	s.have, s.loaded = have, true
	return nil
}

// IDs are the objects that it has as far as is known, in order.
func (s *Store) IDs() []object.ID { return idsOf(s.have) }

// Write makes it have these objects and no others, but for those that somebody else
// has added since it was read. It writes nothing if it has them.
func (s *Store) Write(ctx context.Context, ids []object.ID, withStatus bool) error {
	if err := tooLarge(ids); err != nil {
		return err
	}
	err := s.retry(ctx, func(before *unstructured.Unstructured) error {
		if s.have == nil && len(ids) == 0 {
			return nil
		}
		want := empty(s.sync)
		if s.have != nil {
			want = s.have.DeepCopy()
		}
		annotate(want, withStatus)
		all := sorted(slices.Concat(ids, added(before, s.have)))
		if err := unstructured.SetNestedSlice(want.Object, resources(all), "spec", "resources"); err != nil {
			return err
		}
		if s.have != nil && slices.Equal(idsOf(s.have), all) && equality.Semantic.DeepEqual(s.have.GetAnnotations(), want.GetAnnotations()) {
			return nil
		}
		return s.put(ctx, want)
	})
	if err != nil {
		return fmt.Errorf("write the ResourceGroup: %w", err)
	}
	return nil
}

func annotate(u *unstructured.Unstructured, withStatus bool) {
	a := u.GetAnnotations()
	if a == nil {
		a = map[string]string{}
	}
	a[annotationStatus] = statusDisabled
	if withStatus {
		a[annotationStatus] = statusEnabled
	}
	u.SetAnnotations(a)
}

// added are objects that are in a ResourceGroup now and were not before.
func added(before, now *unstructured.Unstructured) []object.ID {
	had := idsOf(before)
	return slices.DeleteFunc(idsOf(now), func(id object.ID) bool {
		_, found := slices.BinarySearchFunc(had, id, object.ID.Compare)
		return found
	})
}

func (s *Store) put(ctx context.Context, want *unstructured.Unstructured) error {
	var got *unstructured.Unstructured
	var err error
	if s.have == nil {
		got, err = s.client.Create(ctx, want, metav1.CreateOptions{FieldManager: object.FieldManager})
	} else {
		got, err = s.client.Update(ctx, want, metav1.UpdateOptions{FieldManager: object.FieldManager})
	}
	if err == nil {
		s.have = got
	}
	return err
}

// retry does something to the ResourceGroup as it is, and again if that was not how
// it is. It tells what it was before.
func (s *Store) retry(ctx context.Context, do func(before *unstructured.Unstructured) error) error {
	if err := s.Load(ctx); err != nil {
		return err
	}
	before := s.have
	for n := 1; ; n++ {
		err := do(before)
		overtaken := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && s.have != nil
		if !overtaken || n == attempts {
			return err
		}
		s.loaded = false
		if err := s.Load(ctx); err != nil {
			return err
		}
	}
}

// HasStatus reports whether the ResourceGroup has a status.
func (s *Store) HasStatus() bool {
	if s.have == nil {
		return false
	}
	status, _, _ := unstructured.NestedMap(s.have.Object, "status")
	return len(status) > 0
}

// WriteStatus writes what became of the objects, if that is not what the status says; no status for nil. Where
// statuses are too many, it returns an error that says so and writes none.
func (s *Store) WriteStatus(ctx context.Context, list []Status, now time.Time) error {
	if s.have == nil {
		return nil
	}
	if size(resources(s.IDs()))+size(statuses(list)) > limit {
		return tooMany(len(list), "with the status of each")
	}
	err := s.retry(ctx, func(*unstructured.Unstructured) error {
		if s.have == nil {
			return nil
		}
		want := s.have.DeepCopy()
		old, _, _ := unstructured.NestedSlice(want.Object, "status", "conditions")
		delete(want.Object, "status")
		if list != nil {
			pending := slices.ContainsFunc(list, func(one Status) bool { return one.Actuation == "Pending" || one.Reconcile == "Pending" })
			want.Object["status"] = map[string]any{
				"observedGeneration": want.GetGeneration(), "resourceStatuses": statuses(list),
				"conditions": conditions(old, pending, now.UTC().Format(time.RFC3339)),
			}
		}
		if equality.Semantic.DeepEqual(s.have.Object["status"], want.Object["status"]) {
			return nil
		}
		got, err := s.client.UpdateStatus(ctx, want, metav1.UpdateOptions{FieldManager: object.FieldManager})
		if err == nil {
			s.have = got
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("write the status of the ResourceGroup: %w", err)
	}
	return nil
}

// Delete deletes it, if it has no objects.
func (s *Store) Delete(ctx context.Context) error {
	err := s.retry(ctx, func(*unstructured.Unstructured) error {
		if s.have == nil {
			return nil
		}
		if n := len(s.IDs()); n > 0 {
			return fmt.Errorf("it has %d objects", n)
		}
		err := s.client.Delete(ctx, s.have.GetName(), metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: new(s.have.GetUID()), ResourceVersion: new(s.have.GetResourceVersion())},
		})
		if err == nil {
			s.have = nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete the ResourceGroup: %w", err)
	}
	return nil
}

func tooLarge(ids []object.ID) error {
	if size(resources(ids)) > limit {
		return tooMany(len(ids), "even without their status")
	}
	return nil
}

func tooMany(n int, how string) *knv.Error {
	return knv.New(knv.Applier,
		"source repository contains too many resource objects to inventory with a single ResourceGroup: %d objects %s do not fit into one object of the API server. "+
			"Split the source over several RootSyncs, or set spec.override.statusMode to disabled.", n, how)
}

func size(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return 0 // not of JSON
	}
	return len(text)
}
