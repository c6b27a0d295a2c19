// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	manyNamespaces = 10
	many           = "many"
)

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	protections = v1alpha1.GroupVersion.WithResource("resourcedeletionprotections")
)

// upkeep measures what it costs to keep marks that are there.
type upkeep struct {
	*subject
	b *bench
	// what is protected, for people, and how many objects must be known.
	what  string
	known int
	// memory and figures of the manager before anything was protected.
	memoryBefore float64
	before       figures
}

func newUpkeep(ctx context.Context, b *bench, s *subject, what string, known int) (*upkeep, error) {
	u := &upkeep{subject: s, b: b, what: what, known: known}
	var err error
	if u.before, err = s.rest(ctx); err != nil {
		return nil, err
	}
	u.memoryBefore, err = s.residentMiB()
	return u, err
}

// rows measures the manager at rest and at a restart.
func (u *upkeep) rows(ctx context.Context) ([]row, error) {
	u.b.progress("%s: the manager at rest", u.what)
	now, err := u.rest(ctx)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, u.b.idle); err != nil {
		return nil, err
	}
	later, err := u.figures(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := u.residentMiB()
	if err != nil {
		return nil, err
	}
	idle := fmt.Sprintf("%s: writes of the manager at rest, within %.0f s", u.what, u.b.idle.Seconds())
	rows := []row{
		{work: u.what + ": watches of the manager", floor: "before", measured: later.get(watches), base: u.before.get(watches)},
		{work: u.what + ": resident memory of the manager", floor: "before", measured: memory, base: u.memoryBefore, unit: "MiB"},
		{work: idle, measured: later.writes() - now.writes(), limit: new(0.0)},
	}
	again, err := u.restart(ctx)
	return append(rows, again...), err
}

// restart starts the manager again with everything in place.
func (u *upkeep) restart(ctx context.Context) ([]row, error) {
	u.b.progress("%s: a restart", u.what)
	before, err := u.versions(ctx)
	if err != nil {
		return nil, err
	}
	if err := u.Manager.Stop(); err != nil {
		return nil, err
	}
	ready, err := u.startManager(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	err = await(ctx, "all objects are known", 50*time.Millisecond, func(ctx context.Context) (bool, error) {
		f, err := u.figures(ctx)
		return err == nil && f.get(objectsKnown) >= float64(u.known) && f.get(watchesBehind) == 0, err
	})
	if err != nil {
		return nil, err
	}
	known := time.Since(begin)
	f, err := u.rest(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := u.residentMiB()
	if err != nil {
		return nil, err
	}
	after, err := u.versions(ctx)
	if err != nil {
		return nil, err
	}
	changed := 0
	for object, version := range after {
		if before[object] != version {
			changed++
			u.b.progress("%s: the restart changed %s, which was at version %q", u.what, object, before[object])
		}
	}
	at := u.what + ", restart of the manager: "
	return []row{
		{work: at + "to ready", measured: ready.Seconds(), unit: "s", limit: new(float64(readyBound))},
		{work: at + "from ready until all that is protected is known", measured: known.Seconds(), unit: "s"},
		{work: at + "resident memory", floor: "before anything was protected", measured: memory, base: u.memoryBefore, unit: "MiB"},
		{work: at + "writes of marks", measured: f.get(marksWritten), limit: new(0.0)},
		{work: at + "objects, Namespaces and protections that are not as before", measured: float64(changed), limit: new(0.0)},
	}, nil
}

// versions are those of everything that Holdfast could have written to.
func (u *upkeep) versions(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, r := range []schema.GroupVersionResource{configMaps, namespaces, protections} {
		list, err := u.metadata.Resource(r).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", r.Resource, err)
		}
		for _, o := range list.Items {
			out[fmt.Sprintf("%s %s/%s %s", r.Resource, o.Namespace, o.Name, o.UID)] = o.ResourceVersion
		}
	}
	return out, nil
}

// manyNamespace spreads objects over namespaces.
func manyNamespace(prefix string, i int) string {
	return fmt.Sprintf("%s-%d", prefix, i%manyNamespaces)
}

// writeRows say what Holdfast wrote for so many objects.
func writeRows(what string, objects int, marks, writes float64) []row {
	return []row{
		{work: what + ": writes of marks", measured: marks},
		{work: what + ": writes of marks for each object", measured: marks / float64(objects)},
		{work: what + ": writes of Holdfast, status included", measured: writes},
	}
}
