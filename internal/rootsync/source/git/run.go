// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"
)

const (
	// maxWords is how much of what git says is kept, from the end.
	maxWords = 16 << 10
	// grace is how long the pipes of git are read once it is killed.
	grace = 5 * time.Second
)

var (
	errTimeout  = errors.New("it took too long")
	errTooLarge = errors.New("it is too large")
)

// failure is a git that failed.
type failure struct {
	// words are what it said.
	words string
	err   error
}

func (f *failure) Error() string { return fmt.Sprintf("%v: %s", f.err, f.words) }

func (f *failure) Unwrap() error { return f.err }

// run runs git and all that it starts, and ends all of it with the context. Its words are
// in the error; what it is given by args can be seen by everybody on the machine, what it
// is given by env by this user only.
func (r *Repository) run(ctx context.Context, env []string, in io.Reader, out io.Writer, args ...string) error {
	words := &tail{}
	cmd := exec.CommandContext(ctx, r.options.Binary, args...) //nolint:gosec // the arguments are checked where they come from
	cmd.Env = append(slices.Clip(r.env), env...)
	cmd.Dir = r.home()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, words
	endTogether(cmd)
	cmd.WaitDelay = grace
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &failure{words: words.String(), err: err}
}

// read is run for a short answer.
func (r *Repository) read(ctx context.Context, limit int, args ...string) ([]byte, error) {
	out := &limited{left: limit}
	err := r.run(ctx, nil, nil, out, args...)
	return out.Bytes(), out.or(err)
}

// limited keeps what is written to it up to a limit, and fails beyond it.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errTooLarge
	}
	return l.Buffer.Write(p)
}

// or is what went wrong: the limit comes before what follows from it.
func (l *limited) or(err error) error {
	if l.left < 0 {
		return errTooLarge
	}
	return err
}

// tail keeps the end of what is written to it.
type tail struct{ buf []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - maxWords; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }
