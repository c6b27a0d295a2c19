// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// versions are those of the objects that were told of.
type versions map[types.UID]string

// source is where the rows of a kind come from.
type source interface {
	list(ctx context.Context, namespace string) (*metav1.Table, error)
	watchFrom(ctx context.Context, version, namespace string) (watch.Interface, error)
}

// follower tells of changes to the objects of one namespace, or of all if it has
// no name.
type follower struct {
	source    source
	namespace string
	// version is from where to watch; without one everything is listed first.
	version string
	known   versions
	emit    func([]metav1.TableRow) error
	// once ends it after the list.
	once bool
	// pause is the least time between two watches.
	pause time.Duration
}

// run follows until the context ends. The API server ends each watch after a while,
// and forgets what was long ago: then what is news comes from another list.
func (f *follower) run(ctx context.Context) error {
	for {
		began := time.Now()
		err := f.turn(ctx)
		switch {
		case over(ctx), err == nil && f.once:
			return nil
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			f.version = ""
		case err != nil && f.namespace != "":
			return fmt.Errorf("in namespace %s: %w", f.namespace, err)
		case err != nil:
			return err
		}
		if time.Since(began) < f.pause && !paused(ctx, f.pause) {
			return nil
		}
	}
}

func over(ctx context.Context) bool { return ctx.Err() != nil }

// turn is one list, where it takes one, and one watch.
func (f *follower) turn(ctx context.Context) error {
	if f.version == "" {
		t, err := f.source.list(ctx, f.namespace)
		if err != nil {
			return err
		}
		f.version = t.ResourceVersion
		if err := f.tell(t.Rows); err != nil || f.once {
			return err
		}
	}
	stream, err := f.source.watchFrom(ctx, f.version, f.namespace)
	if err != nil {
		return err
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if err := f.take(event); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) take(event watch.Event) error {
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	rows, err := eventRows(event.Object, time.Now())
	if err != nil {
		return err
	}
	if err := f.tell(rows); err != nil {
		return err
	}
	for i := range rows {
		m := rowMeta(&rows[i])
		f.version = m.ResourceVersion
		if event.Type == watch.Deleted {
			delete(f.known, m.UID)
		}
	}
	return nil
}

// tell passes on the rows that were not told of. An object that is deleted has a
// version of its own once more.
func (f *follower) tell(rows []metav1.TableRow) error {
	var news []metav1.TableRow
	for i := range rows {
		m := rowMeta(&rows[i])
		if version, ok := f.known[m.UID]; !ok || version != m.ResourceVersion {
			news = append(news, rows[i])
		}
		f.known[m.UID] = m.ResourceVersion
	}
	if len(news) == 0 {
		return nil
	}
	return f.emit(news)
}
