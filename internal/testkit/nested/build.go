// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package nested

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/lines"
)

// progressInterval is how often a long wait says how far it is.
const progressInterval = 10 * time.Second

// command returns a go command in the nested module. When ctx ends it is interrupted, as by Ctrl-C, so
// that it takes its compilers with it.
func (b build) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.source
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+b.source)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run makes the binary and the links beside it. The lock goes to the compiler too, which may outlive this
// process when a test is killed: the next process then waits for it instead of building at the same time.
func (b build) run(ctx context.Context, lock *os.File) error {
	if err := os.MkdirAll(b.folder, 0o755); err != nil {
		return fmt.Errorf("create the cache: %w", err)
	}
	unfinished := filepath.Join(b.folder, b.Name+".unfinished")
	defer os.Remove(unfinished) // there only after a failure

	r := newReporter(b.progress, "building "+b.Name+", "+b.About+" (once; minutes)")
	defer r.stop()
	total, err := b.packagesToCompile(ctx, r, lock)
	if err != nil {
		return err
	}
	r.compiling(total)
	args := append([]string{"build", "-v", "-o", unfinished}, b.flags...)
	if err := b.reported(ctx, r, lock, io.Discard, append(args, ".")...); err != nil {
		return fmt.Errorf("build %s: %w", b.Name, err)
	}

	for _, name := range b.Links {
		if err := os.Symlink(b.Name, filepath.Join(b.folder, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("link %s to %s: %w", name, b.Name, err)
		}
	}
	// The binary appears whole, and last: what finds it needs nothing else.
	if err := os.Rename(unfinished, b.binary()); err != nil {
		return fmt.Errorf("put %s in place: %w", b.Name, err)
	}
	r.say("done")
	return nil
}

// packagesToCompile counts the packages that Go's own cache does not hold for these flags. It downloads
// the modules that are missing.
func (b build) packagesToCompile(ctx context.Context, r *reporter, lock *os.File) (int, error) {
	var stale bytes.Buffer
	args := append([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, b.flags...)
	if err := b.reported(ctx, r, lock, &stale, append(args, ".")...); err != nil {
		return 0, fmt.Errorf("list the packages of %s: %w", b.Name, err)
	}
	return bytes.Count(stale.Bytes(), []byte("\n")), nil
}

// reported runs a go command whose messages count as progress. An error holds the messages that are none.
func (b build) reported(ctx context.Context, r *reporter, lock *os.File, stdout io.Writer, args ...string) error {
	cmd := b.command(ctx, args...)
	cmd.ExtraFiles = []*os.File{lock}
	cmd.Stdout = stdout
	messages, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var other lines.Tail
	lines.Each(messages, func(line string) {
		if !r.read(line) {
			other.Add(line)
		}
	})
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%w\n%s", err, other.String())
	}
	return nil
}

// reporter tells how far a build is, at once and then at an interval.
type reporter struct {
	what  string
	began time.Time
	done  chan struct{}
	ended sync.WaitGroup

	mu         sync.Mutex
	out        io.Writer
	downloaded int
	compiled   int
	total      int // packages to compile, 0 while that is not known
}

func newReporter(out io.Writer, what string) *reporter {
	r := &reporter{out: out, what: what, began: time.Now(), done: make(chan struct{})}
	r.say("looking for what is to be compiled")
	r.ended.Go(func() {
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-r.done:
				return
			case <-tick.C:
				r.say(r.state())
			}
		}
	})
	return r
}

func (r *reporter) stop() {
	close(r.done)
	r.ended.Wait()
}

func (r *reporter) say(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "%s: %s, %s elapsed\n", r.what, text, time.Since(r.began).Round(time.Second))
}

// compiling says that the compilation begins.
func (r *reporter) compiling(total int) {
	r.mu.Lock()
	r.total = max(total, 1)
	r.mu.Unlock()
	r.say(r.state())
}

// read counts a line of the go command's messages and reports whether it is one of those it expects:
// "go: downloading module version", or with -v the bare path of a package that is being compiled.
func (r *reporter) read(line string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		r.downloaded++
	case !strings.ContainsAny(line, " \t:#"):
		r.compiled++
	default:
		return false
	}
	return true
}

func (r *reporter) state() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.total == 0:
		return fmt.Sprintf("%d modules downloaded", r.downloaded)
	case r.compiled >= r.total:
		return "linking"
	default:
		return fmt.Sprintf("%d of %d packages compiled", r.compiled, r.total)
	}
}

// acquire takes the lock at path for the build of a program, for as long as the file is open in this process or in one it started.
func acquire(ctx context.Context, path, name string, progress io.Writer) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the cache: %w", err)
	}
	retry := time.NewTicker(200 * time.Millisecond)
	defer retry.Stop()
	var said time.Time
	for began := time.Now(); ; {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock the cache: %w", err), file.Close())
		}
		if time.Since(said) >= progressInterval {
			said = time.Now()
			fmt.Fprintf(progress, "another process is building %s: waiting, %s elapsed\n", name, time.Since(began).Round(time.Second))
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for the build of %s: %w", name, context.Cause(ctx)), file.Close())
		case <-retry.C:
		}
	}
}
