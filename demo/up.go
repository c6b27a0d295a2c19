// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

const (
	// upTimeout bounds the start behind up, a first build of the control plane
	// not counted: up does that itself, where its progress shows.
	upTimeout = 5 * time.Minute
	// downTimeout is longer than what is left takes, on an existing cluster.
	downTimeout = leaveTimeout + 30*time.Second
	poll        = 100 * time.Millisecond
)

// home is where up keeps what it leaves running: a lock that its process holds,
// the process's id, and its log.
type home struct{ dir string }

func (d demo) home() (home, error) {
	dir := filepath.Join(d.dir, ".local")
	return home{dir}, os.MkdirAll(dir, 0o755)
}

func (h home) path(name string) string { return filepath.Join(h.dir, name) }

// lock returns nil if a process holds the lock already.
func (h home) lock() (*os.File, error) {
	f, err := os.OpenFile(h.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, f.Close()
	}
	return f, err
}

// up starts serve as a process that outlives this one, and waits for it.
func (d demo) up(ctx context.Context) error {
	h, err := d.home()
	if err != nil {
		return err
	}
	lock, err := h.lock()
	if err != nil {
		return err
	}
	if lock == nil {
		fmt.Fprintln(d.progress, "It is running already; make down ends it.")
		if ended, err := os.ReadFile(h.path("ended")); err == nil {
			fmt.Fprintf(d.progress, "But of its processes one has ended: %sTo have it again: make down, and then make up.\n", ended)
		}
		return h.printEnvironment(d.out)
	}
	if err := errors.Join(lock.Close(), os.RemoveAll(h.path("ready")), os.RemoveAll(h.path("failure")), os.RemoveAll(h.path("ended"))); err != nil {
		return err
	}
	if d.kubeconfig == "" { // here its progress shows
		if _, err := cluster.Binary(ctx, d.progress); err != nil {
			return err
		}
	}
	cmd, err := d.startServe(h)
	if err != nil {
		return err
	}
	if err := h.awaitServe(ctx, cmd); err != nil {
		return err
	}
	return h.printEnvironment(d.out)
}

// startServe starts this program again, in a session of its own.
func (d demo) startServe(h home) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(h.path("log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(self, "serve", "-dir", d.dir, "-features", strings.Join(d.features, ","))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), kubeconfigVariable+"="+d.kubeconfig)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

// awaitServe waits until serve is ready, and ends it if that takes too long.
func (h home) awaitServe(ctx context.Context, cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	for {
		if _, err := os.Stat(h.path("ready")); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			said, _ := os.ReadFile(h.path("log"))
			if err == nil {
				err = errors.New("without an error")
			}
			return fmt.Errorf("it ended: %w:\n%s", err, said)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), cmd.Process.Signal(syscall.SIGTERM), <-ended)
		case <-time.After(poll):
		}
	}
}

func (h home) printEnvironment(out io.Writer) error {
	kubeconfig, err := os.ReadFile(h.path("ready"))
	if err != nil {
		return fmt.Errorf("it is not ready yet: %w", err)
	}
	fmt.Fprintf(out, "export PATH=%s:$PATH\n", h.path("bin"))
	fmt.Fprintf(out, "export KUBECONFIG=%s\n", strings.TrimSpace(string(kubeconfig)))
	return nil
}

// serve keeps a cluster with Holdfast until it is told to end.
func (d demo) serve(ctx context.Context) (err error) {
	h, err := d.home()
	if err != nil {
		return err
	}
	lock, err := h.lock()
	if err != nil {
		return err
	}
	if lock == nil {
		return errors.New("another one is running")
	}
	defer func() { _ = lock.Close() }()
	if err := os.WriteFile(h.path("pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	s, err := newStage(ctx, h.dir, d.kubeconfig, d.progress)
	if s != nil {
		defer func() { err = errors.Join(err, os.RemoveAll(h.path("ready")), h.noteFailure(s.leave(ctx))) }()
	}
	if err != nil {
		return err
	}
	return h.hold(ctx, s, d.features)
}

// hold installs Holdfast, says that it is ready, and waits for the end.
func (h home) hold(ctx context.Context, s *stage, f features) error {
	if err := manager.Install(ctx, s.cluster); err != nil {
		return err
	}
	if err := s.install(ctx, f); err != nil {
		return err
	}
	if err := s.startManager(ctx); err != nil {
		return err
	}
	if said, ok, err := isReady.try(ctx, s); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("wait for Holdfast to be ready: %s; the manager's log ends:\n%s", said, s.manager.LogTail())
	}
	if f.has(syncFeature) {
		if err := s.startSample(ctx); err != nil {
			return err
		}
	}
	if err := os.WriteFile(h.path("ready"), []byte(s.cluster.Kubeconfig), 0o600); err != nil {
		return err
	}
	return h.await(ctx, s)
}

// await waits for the end, and notes which process has ended before: people may want to try what happens then.
func (h home) await(ctx context.Context, s *stage) error {
	var syncs <-chan struct{} // for ever, if there is none
	if s.sync != nil {
		syncs = s.sync.Done()
	}
	var ended string
	select {
	case <-ctx.Done():
		return nil
	case <-s.manager.Done():
		ended = fmt.Sprintf("the manager. Its log ends:\n%s\n", s.manager.LogTail())
	case <-syncs:
		ended = fmt.Sprintf("the sync. Its log ends:\n%s\n", s.sync.LogTail())
	}
	err := os.WriteFile(h.path("ended"), []byte(ended), 0o600)
	<-ctx.Done()
	return err
}

// noteFailure writes an error of the end down, for down to tell.
func (h home) noteFailure(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, os.WriteFile(h.path("failure"), []byte(err.Error()), 0o600))
}

// remove tells what failed at the end, or removes the folder if nothing did.
func (h home) remove() error {
	said, err := os.ReadFile(h.path("failure"))
	if err == nil {
		return fmt.Errorf("it ended, but not in order; %s has its log: %s", h.dir, said)
	}
	return os.RemoveAll(h.dir)
}

// down ends what up left running.
func (d demo) down(ctx context.Context) error {
	h, err := d.home()
	if err != nil {
		return err
	}
	if lock, err := h.lock(); err != nil || lock != nil {
		if err == nil {
			fmt.Fprintln(d.progress, "Nothing is running.")
			err = lock.Close()
		}
		return err
	}
	pid, err := h.pid()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	for {
		lock, err := h.lock()
		if err != nil {
			return err
		}
		if lock != nil {
			fmt.Fprintln(d.progress, "Ended.")
			return errors.Join(h.remove(), lock.Close())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end: %w", pid, ctx.Err())
		case <-time.After(poll):
		}
	}
}

// pid of the process that holds the lock.
func (h home) pid() (int, error) {
	said, err := os.ReadFile(h.path("pid"))
	if err != nil {
		return 0, fmt.Errorf("read the process id: %w", err)
	}
	pid, err := strconv.Atoi(string(said))
	if err != nil {
		return 0, fmt.Errorf("read the process id: %w", err)
	}
	return pid, nil
}
