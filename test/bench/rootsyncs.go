// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

const (
	// syncWriters is how many requests the bare client has under way, as the sync.
	syncWriters = 32
	// firstSyncBound, changeBound (seconds), syncMemoryBound (MiB) and pollBound are DESIGN's; a
	// period is a tenth longer or shorter at random.
	firstSyncBound  = 1.3
	changeBound     = 1
	syncMemoryBound = 256
	pollBound       = 1.2
	// syncedNamespaces are among the objects of a large RootSync, and hold the others.
	syncedNamespaces = 10
	// never is longer than the bench: what is to be looked at is asked for.
	never = "24h"
)

// measureRootSyncs measures one large RootSync, and many small ones.
func measureRootSyncs(ctx context.Context, b *bench) ([]row, error) {
	b.progress("rootsync: a cluster")
	s, err := b.withSync(ctx)
	if err != nil {
		return nil, err
	}
	defer s.git.Stop()
	rows, err := s.firstSyncs(ctx, b)
	if err != nil {
		return rows, err
	}
	b.progress("rootsync: changes")
	more, err := s.changes(ctx, b)
	rows = append(rows, more...)
	if err != nil {
		return rows, err
	}
	b.progress("rootsync: reactions")
	if more, err = s.reactions(ctx, b); err != nil {
		return rows, err
	}
	rows = append(rows, more...)
	more, err = measureManyRootSyncs(ctx, b)
	return append(rows, more...), err
}

// objectsOf are so many objects: Namespaces, and ConfigMaps in them.
func objectsOf(prefix string, namespaces, n int) (list []object.Declared) {
	for i := range namespaces {
		list = append(list, namespaceOf(fmt.Sprintf("%s-%d", prefix, i)))
	}
	for i := range n - namespaces {
		list = append(list, configMapOf(fmt.Sprintf("%s-%d", prefix, i%namespaces), fmt.Sprintf("cm-%d", i), "1"))
	}
	return list
}

func namespaceOf(name string) object.Declared {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Namespace")
	u.SetName(name)
	return object.Declared{Object: u, Path: name + ".yaml"}
}

func configMapOf(namespace, name, value string) object.Declared {
	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"value": value, "more": "of the same"}}}
	u.SetAPIVersion("v1")
	u.SetKind("ConfigMap")
	u.SetNamespace(namespace)
	u.SetName(name)
	return object.Declared{Object: u, Path: namespace + "-" + name + ".yaml"}
}

// firstSyncs has the sync and the bare client apply objects in turn.
func (s *syncSubject) firstSyncs(ctx context.Context, b *bench) ([]row, error) {
	var whole, before, applies, bare []float64
	for round := range b.syncRounds {
		b.progress("rootsync, round %d of %d", round+1, b.syncRounds)
		took, err := s.applyBare(ctx, objectsOf(fmt.Sprintf("bare-%d", round), syncedNamespaces, b.synced))
		if err != nil {
			return nil, fmt.Errorf("by a bare client: %w", err)
		}
		bare = append(bare, took.Seconds())
		first, err := s.firstSync(ctx, fmt.Sprintf("sync-%d", round), b.synced)
		if err != nil {
			return nil, fmt.Errorf("by the sync: %w", err)
		}
		whole, before, applies = append(whole, first.whole.Seconds()), append(before, first.before.Seconds()), append(applies, first.applies.Seconds())
	}
	what := "first sync of " + number(b.synced) + " objects: "
	return []row{
		ratioOf(what+"from the first apply to the last", "the same applies by a bare client", applies, bare, firstSyncBound),
		{work: what + "before that: account, fetch, inventory", measured: median(before), unit: "s"},
		{work: what + "from the RootSync until its status says that all are ready", measured: median(whole), unit: "s"},
		{work: fmt.Sprintf("%swrites of objects beyond one of each, in %d first syncs", what, b.syncRounds), measured: s.again},
	}, nil
}

// applyBare applies objects as a RootSync would have them: Namespaces first.
func (s *syncSubject) applyBare(ctx context.Context, objects []object.Declared) (time.Duration, error) {
	begin := time.Now()
	for _, part := range [][]object.Declared{objects[:syncedNamespaces], objects[syncedNamespaces:]} {
		if err := each(len(part), syncWriters, func(i int) error {
			o := object.Stamp(part[i], "bare", object.Version{Commit: "0123456789012345678901234567890123456789", Context: "{}"})
			body, err := json.Marshal(o.Object)
			if err != nil {
				return err
			}
			to := s.bare.Resource(namespaces).Namespace("")
			if o.GetNamespace() != "" {
				to = s.bare.Resource(configMaps).Namespace(o.GetNamespace())
			}
			_, err = to.Patch(ctx, o.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: object.FieldManager, Force: new(true)})
			return err
		}); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// firstSync are the times of a new RootSync.
type firstSync struct{ before, applies, whole time.Duration }

func (s *syncSubject) firstSync(ctx context.Context, name string, n int) (took firstSync, err error) {
	files, err := filesOf(".", objectsOf(name, syncedNamespaces, n))
	if err != nil {
		return took, err
	}
	commit, err := s.commit(name, files)
	if err != nil {
		return took, err
	}
	_, from, err := s.writes(0)
	if err != nil {
		return took, err
	}
	begin := time.Now()
	if err := s.follow(ctx, name, name, "", never); err != nil {
		return took, err
	}
	if err := s.synced(ctx, commit, name); err != nil {
		return took, err
	}
	took.whole = time.Since(begin)
	if err := s.atRest(ctx); err != nil {
		return took, err
	}
	w, _, err := s.writes(from)
	if err != nil {
		return took, err
	}
	if len(w.objects) < n {
		return took, fmt.Errorf("%d writes of %d objects", len(w.objects), n)
	}
	s.again += float64(len(w.objects) - n)
	first, last := w.objects[0].RequestReceivedTimestamp, w.objects[0].StageTimestamp
	for _, e := range w.objects {
		if e.RequestReceivedTimestamp.Before(&first) {
			first = e.RequestReceivedTimestamp
		}
		if last.Before(&e.StageTimestamp) {
			last = e.StageTimestamp
		}
	}
	took.before, took.applies = first.Sub(begin), last.Sub(first.Time)
	return took, nil
}

// changes has commits change one object each, and counts what is written.
func (s *syncSubject) changes(ctx context.Context, b *bench) ([]row, error) {
	const name = "sync-0"
	var applied, said []float64
	var objects, others int
	for round := range b.changes {
		d := configMapOf(name+"-0", "cm-0", fmt.Sprintf("changed-%d", round))
		files, err := filesOf(".", []object.Declared{d})
		if err != nil {
			return nil, err
		}
		commit, err := s.commit(name, files)
		if err != nil {
			return nil, err
		}
		_, from, err := s.writes(0)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := s.look(ctx, name); err != nil {
			return nil, err
		}
		if err := s.synced(ctx, commit, name); err != nil {
			return nil, err
		}
		said = append(said, time.Since(begin).Seconds())
		if err := s.atRest(ctx); err != nil {
			return nil, err
		}
		w, _, err := s.writes(from)
		if err != nil {
			return nil, err
		}
		if len(w.objects) == 0 {
			return nil, fmt.Errorf("the commit %s is synced without a write", commit)
		}
		applied = append(applied, w.objects[0].StageTimestamp.Sub(begin).Seconds())
		objects, others = max(objects, len(w.objects)), max(others, len(w.others))
	}
	what := "a commit changes 1 of " + number(b.synced) + " objects: "
	return []row{
		{work: what + "writes of objects", measured: float64(objects), limit: new(1.0)},
		{work: what + "writes of its status, its inventory, and that it has looked", measured: float64(others)},
		{work: what + "from the request to look until it is applied, fetch included", measured: median(applied), unit: "s", limit: new(float64(changeBound))},
		{work: what + "until the status says so", measured: median(said), unit: "s"},
	}, nil
}

// look asks a RootSync to look at its source now.
func (s *syncSubject) look(ctx context.Context, name string) error {
	rs := &configsyncv1beta1.RootSync{ObjectMeta: metav1.ObjectMeta{Namespace: object.SyncNamespace, Name: name}}
	body := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, configsyncv1beta1.AnnotationSyncNow, time.Now().Format(time.RFC3339Nano))
	if err := s.Client.Patch(ctx, rs, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
		return fmt.Errorf("ask RootSync %s to look: %w", name, err)
	}
	return nil
}

// measureManyRootSyncs measures what many small RootSyncs of one repository need.
func measureManyRootSyncs(ctx context.Context, b *bench) ([]row, error) {
	b.progress("rootsync: many")
	s, err := b.withSync(ctx)
	if err != nil {
		return nil, err
	}
	defer s.git.Stop()
	const perSync, repo, period = 10, "many", 15 * time.Second
	files, names := map[string]string{}, make([]string, b.syncs)
	for i := range names {
		names[i] = fmt.Sprintf("many-%d", i)
		more, err := filesOf(names[i], objectsOf(names[i], 1, perSync))
		if err != nil {
			return nil, err
		}
		maps.Copy(files, more)
	}
	commit, err := s.commit(repo, files)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := each(len(names), makers, func(i int) error { return s.follow(ctx, names[i], repo, names[i], period.String()) }); err != nil {
		return nil, err
	}
	if err := s.synced(ctx, commit, slices.Clone(names)...); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	if err := s.atRest(ctx); err != nil {
		return nil, err
	}
	what := fmt.Sprintf("%s with %d objects each, of one repository", count(b.syncs, "RootSync"), perSync)
	rows := []row{{work: what + ": until all are synced", measured: took.Seconds(), unit: "s"}}
	more, err := s.idle(ctx, b, what, repo, period)
	return append(rows, more...), err
}

// idle counts what is done while nothing is to be done, and takes the memory after that.
func (s *syncSubject) idle(ctx context.Context, b *bench, what, repo string, period time.Duration) ([]row, error) {
	_, from, err := s.writes(0)
	if err != nil {
		return nil, err
	}
	asked := s.git.Counts(repo).Lists
	if err := pause(ctx, b.syncIdle); err != nil {
		return nil, err
	}
	polls := float64(s.git.Counts(repo).Lists-asked) / (b.syncIdle.Seconds() / period.Seconds())
	w, _, err := s.writes(from)
	if err != nil {
		return nil, err
	}
	memory, err := s.residentMiB()
	if err != nil {
		return nil, err
	}
	return []row{
		{work: what + ": resident memory of the sync", measured: memory, unit: "MiB", limit: new(float64(syncMemoryBound))},
		{work: fmt.Sprintf("%s: writes in %s at rest, but the lease", what, b.syncIdle), measured: float64(len(w.objects) + len(w.others)), limit: new(0.0)},
		{work: what + ": looks at the repository in each period of " + period.String(), measured: polls, limit: new(pollBound)},
	}, nil
}
