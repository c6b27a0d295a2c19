// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/kwok"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/nested"
)

// lender has what tests with a cluster share: the control planes, and the binaries that are tested.
type lender struct {
	planes int
	cache  string
	pool   *cluster.Pool
	listen net.Listener
	// built are the folders of the binaries, by whether the race detector is in them.
	built map[bool]string
}

func newLender(_ context.Context, o *options, _ []phase) (*lender, error) {
	cache, err := nested.Cache()
	if err != nil {
		return nil, err
	}
	return &lender{planes: o.planes, cache: cache, built: map[bool]string{}}, nil
}

// environment is what the tests of a phase are told, as NAME=value. It builds what is not there. Go's cache of
// test results goes by it: a result counts only for the binaries that it is about.
func (l *lender) environment(ctx context.Context, p phase, r *report) ([]string, error) {
	if p.needs != "" {
		// Its control planes are those of the tests' own processes: the pool has another version.
		r.say("Building Kubernetes %s if it is not there", p.needs)
		cmd := goCommand(ctx, "run", "./hack/localcluster")
		cmd.Env = append(os.Environ(), cluster.VersionVariable+"="+p.needs)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("build Kubernetes %s: %w", p.needs, err)
		}
	}
	if err := l.start(ctx, r); err != nil {
		return nil, err
	}
	if l.built[p.race] == "" {
		r.say("Building the manager and the plugin")
		folder, err := manager.BuildAll(ctx, p.race, os.Stderr)
		if err != nil {
			return nil, err
		}
		l.built[p.race] = folder
	}
	env := []string{manager.FolderVariable + "=" + l.built[p.race]}
	if p.needs == "" {
		env = append(env, cluster.PoolVariable+"="+l.listen.Addr().String())
	}
	return env, nil
}

// start builds the control plane and starts to lend.
func (l *lender) start(ctx context.Context, r *report) error {
	if l.pool != nil {
		return nil
	}
	r.say("The local control plane and kwok: built once, which takes a quarter of an hour at most, and kept")
	if _, err := kwok.Binary(ctx, os.Stderr); err != nil {
		return err
	}
	pool, err := cluster.NewPool(ctx, l.planes, &prefixed{r: r})
	if err != nil {
		return err
	}
	// The path is the same in each run of a checkout, because results in Go's cache go by it too.
	root, err := nested.Root()
	if err != nil {
		return err
	}
	folder := filepath.Join(l.cache, "run-"+nested.Digest(root))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make a folder for the socket: %w", err)
	}
	socket := filepath.Join(folder, "clusters")
	if conn, err := net.Dial("unix", socket); err == nil {
		_ = conn.Close()
		socket = filepath.Join(folder, fmt.Sprintf("clusters-%d", os.Getpid())) // another run of this checkout goes on
	} else {
		_ = os.Remove(socket) // of a run that was killed
	}
	if l.listen, err = net.Listen("unix", socket); err != nil {
		return fmt.Errorf("listen for tests that want a control plane: %w", err)
	}
	l.pool = pool
	go pool.Serve(l.listen)
	return nil
}

func (l *lender) counts() cluster.Counts {
	if l.pool == nil {
		return cluster.Counts{}
	}
	return l.pool.Counts()
}

func (l *lender) close() error {
	if l.pool == nil {
		return nil
	}
	_ = l.listen.Close()
	return l.pool.Close()
}

// keepBusy starts processes that compute, until stop.
func keepBusy(ctx context.Context, n int) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	stop = func() {
		cancel()
		running.Wait() // or this process ends before they are killed
	}
	for range n {
		cmd := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			stop()
			return nil, fmt.Errorf("start a busy process: %w", err)
		}
		running.Go(func() { _ = cmd.Wait() }) // it is killed
	}
	return stop, nil
}

// prefixed writes what the pool says between the lines of the report.
type prefixed struct{ r *report }

func (p *prefixed) Write(text []byte) (int, error) {
	p.r.pool(string(text))
	return len(text), nil
}
