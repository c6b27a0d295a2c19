// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
)

// retry is how long an error is kept that may not be the source's: what took too long
// takes long the next time, and everybody else waits meanwhile.
const retry = 10 * time.Minute

// Options are what a Renderer may do; zero values are defaults.
type Options struct {
	// Time is how long one rendering may take: 60 seconds.
	Time time.Duration
	// Files is how many files it may read, counted as often as kustomize reads them: 50,000.
	Files int
	// Input is how many bytes it may read, with the aliases of YAML expanded: 128 MiB.
	Input int
	// Output is how many bytes kustomize may make: 64 MiB.
	Output int
	// Cache is how many bytes of results are kept: 32 MiB.
	Cache int
	// Program is one that calls Main, and builds each kustomization in a process of its
	// own; empty for this process.
	Program string
	// Memory is how many bytes such a process may have beyond what it starts with: 512 MiB.
	Memory int
	// AnyFile lets a kustomization use single files of the whole repository, as Config
	// Sync does. Without it, it may use those in and below its own folder only, as
	// kustomize does unless told otherwise; bases and components are folders of their own.
	AnyFile bool
	Clock   clock.PassiveClock
}

func (o Options) withDefaults() Options {
	o.Time = cmp.Or(o.Time, time.Minute)
	o.Files = cmp.Or(o.Files, 50_000)
	o.Input = cmp.Or(o.Input, 128<<20)
	o.Output = cmp.Or(o.Output, 64<<20)
	o.Cache = cmp.Or(o.Cache, 32<<20)
	o.Memory = cmp.Or(o.Memory, 512<<20)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// Tree is a folder with the files of a commit, which nobody changes.
type Tree struct {
	Commit, Dir string
	// WorkTree says that it is a checkout of Git's, where submodules have their content. They are refused as in a tree
	// without it, as the sync does not fetch them.
	WorkTree bool
}

// Renderer renders, for all syncs of a process. It is safe for concurrent use.
type Renderer struct {
	options Options
	lane    *lane
	build   func(context.Context, *files, string) ([]parse.File, error)

	mu      sync.Mutex
	cache   cache
	flights map[key]*flight
}

type key struct{ commit, dir string }

// flight is a rendering that is under way, for all who want it.
type flight struct {
	done   chan struct{}
	result result
}

type result struct {
	files    []parse.File
	rendered bool
	err      *knv.Error
	// until is when it is to be tried again; zero for what the commit alone decides.
	until time.Time
}

// New makes a Renderer.
func New(o Options) *Renderer {
	o = o.withDefaults()
	build := kustomizer(o)
	if o.Program != "" {
		build = apart(o)
	}
	return &Renderer{options: o, lane: &process, build: build, cache: cache{limit: o.Cache}, flights: map[key]*flight{}}
}

// Render is the files that declare objects in a directory of a tree, and whether
// kustomize has made them. The directory is relative to the root of the repository, with
// slashes. The files are shared and must not be changed.
//
// Who asks again for what has been rendered gets the same, without the tree being read.
func (r *Renderer) Render(ctx context.Context, tree Tree, dir string) (list []parse.File, rendered bool, err *knv.Error) {
	clean, err := directory(dir)
	if err != nil {
		return nil, false, err
	}
	k := key{tree.Commit, clean}
	r.mu.Lock()
	if result, ok := r.cache.get(k, r.options.Clock.Now()); ok {
		r.mu.Unlock()
		return result.files, result.rendered, result.err
	}
	f := r.flights[k]
	if f == nil {
		f = &flight{done: make(chan struct{})}
		r.flights[k] = f
		// Others may wait for it, so it outlives whoever asked first.
		go r.fly(context.WithoutCancel(ctx), k, tree, f)
	}
	r.mu.Unlock()
	select {
	case <-f.done:
		return f.result.files, f.result.rendered, f.result.err
	case <-ctx.Done():
		return nil, false, knv.New(knv.InternalRendering, "rendering of %s has been given up: %v", where(clean), context.Cause(ctx)).Because(ctx.Err())
	}
}

func (r *Renderer) fly(ctx context.Context, k key, tree Tree, f *flight) {
	f.result = r.render(ctx, tree, k.dir)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := f.result.err; {
	case e == nil || e.Code != knv.InternalRendering:
		r.cache.put(k, f.result)
	case errors.Is(e, context.DeadlineExceeded) || errors.Is(e, errPanic):
		f.result.until = r.options.Clock.Now().Add(retry)
		r.cache.put(k, f.result)
	default:
		// A disk that cannot be read, or a place that another has, say nothing of the commit.
	}
	delete(r.flights, k)
	close(f.done)
}

// render renders without a look at what is known.
func (r *Renderer) render(ctx context.Context, tree Tree, dir string) result {
	f, err := open(tree.Dir, r.options)
	if err != nil {
		return result{err: knv.New(knv.InternalRendering, "the files of %s cannot be read: %v", tree.Commit, err).Because(err)}
	}
	f.ctx, f.workTree = ctx, tree.WorkTree
	wants, knvErr := f.wantsKustomize(dir)
	if knvErr != nil || !wants {
		defer f.close()
		if knvErr != nil {
			return result{err: knvErr}
		}
		ctx, cancel := context.WithTimeout(ctx, r.options.Time)
		defer cancel()
		f.ctx = ctx
		list, err := plain(f, dir)
		return result{files: list, err: f.judge(err, dir)}
	}
	return r.kustomize(ctx, f, dir, tree.Commit)
}

// kustomize runs a build in its own goroutine, as one in this process cannot be stopped.
func (r *Renderer) kustomize(ctx context.Context, f *files, dir, commit string) result {
	place, busy := r.lane.enter(where(dir)+" of "+commit, r.options.Clock)
	if busy != nil {
		f.close()
		return result{rendered: true, err: busy}
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.Time)
	defer cancel()
	f.ctx = ctx
	out := make(chan result, 1)
	go func() {
		defer place.leave()
		defer f.close()
		list, err := r.build(ctx, f, dir)
		out <- result{files: list, rendered: true, err: f.judge(err, dir)}
	}()
	select {
	case res := <-out:
		return res
	case <-ctx.Done():
		// Most builds end as soon as nothing can be read any more.
		time.AfterFunc(r.options.Time/10, place.overdue)
		return result{rendered: true, err: tooLong(dir, r.options.Time)}
	}
}

func tooLong(dir string, limit time.Duration) *knv.Error {
	return knv.New(knv.InternalRendering, "rendering of %s has not ended within %v and is given up. "+
		"Make the kustomization smaller, split it over several RootSyncs, or raise rootSync.renderTimeout in the configuration of Holdfast and restart the sync", where(dir), limit).Because(context.DeadlineExceeded)
}

func where(dir string) string {
	if dir == "." {
		return "the root of the repository"
	}
	return dir
}
