// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
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
	upTimeout   = 5 * time.Minute
	downTimeout = 60 * time.Second
	poll        = 100 * time.Millisecond
)

// home is where up keeps what it leaves running: a lock that its process holds,
// the process's id, and its log.
type home struct{ dir string }

func newHome() (home, error) {
	root, err := cluster.ModuleRoot()
	if err != nil {
		return home{}, err
	}
	dir := filepath.Join(root, ".local")
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
func up(ctx context.Context) error {
	h, err := newHome()
	if err != nil {
		return err
	}
	lock, err := h.lock()
	if err != nil {
		return err
	}
	if lock == nil {
		fmt.Fprintln(os.Stderr, "It is running already; make down ends it.")
		return h.printEnvironment()
	}
	if err := errors.Join(lock.Close(), os.RemoveAll(h.path("ready"))); err != nil {
		return err
	}
	if os.Getenv(kubeconfigVariable) == "" { // here its progress shows
		if _, err := cluster.Binary(ctx, os.Stderr); err != nil {
			return err
		}
	}
	cmd, err := h.startServe()
	if err != nil {
		return err
	}
	return h.awaitServe(ctx, cmd)
}

// startServe starts this program again, in a session of its own.
func (h home) startServe() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(h.path("log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(self, "serve")
	cmd.Stdout, cmd.Stderr = log, log
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
			return h.printEnvironment()
		}
		select {
		case err := <-ended:
			said, _ := os.ReadFile(h.path("log"))
			return fmt.Errorf("it ended: %w:\n%s", err, said)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), cmd.Process.Signal(syscall.SIGTERM), <-ended)
		case <-time.After(poll):
		}
	}
}

func (h home) printEnvironment() error {
	kubeconfig, err := os.ReadFile(h.path("ready"))
	if err != nil {
		return fmt.Errorf("it is not ready yet: %w", err)
	}
	fmt.Printf("export PATH=%s:$PATH\n", h.path("bin"))
	fmt.Printf("export KUBECONFIG=%s\n", strings.TrimSpace(string(kubeconfig)))
	return nil
}

// serve keeps a cluster with Holdfast until it is told to end.
func serve(ctx context.Context) (err error) {
	h, err := newHome()
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
	s, err := newStage(ctx, h.dir, os.Stderr)
	if s != nil {
		defer func() { err = errors.Join(err, os.RemoveAll(h.path("ready")), s.close()) }()
	}
	if err != nil {
		return err
	}
	return h.hold(ctx, s)
}

// hold installs Holdfast, says that it is ready, and waits for the end.
func (h home) hold(ctx context.Context, s *stage) error {
	if err := manager.Install(ctx, s.cluster); err != nil {
		return err
	}
	if err := s.startManager(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(h.path("ready"), []byte(s.cluster.Kubeconfig), 0o600); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.manager.Done():
		return fmt.Errorf("the manager ended; its log ends:\n%s", s.manager.LogTail())
	}
}

// down ends what up left running.
func down(ctx context.Context) error {
	h, err := newHome()
	if err != nil {
		return err
	}
	if lock, err := h.lock(); err != nil || lock != nil {
		if err == nil {
			fmt.Fprintln(os.Stderr, "Nothing is running.")
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
			fmt.Fprintln(os.Stderr, "Ended.")
			return errors.Join(lock.Close(), os.RemoveAll(h.dir))
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
