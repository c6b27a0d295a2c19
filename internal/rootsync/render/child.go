// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/parse"
)

const (
	// command is what a program is called with for it to build one kustomization.
	command = "build-kustomization"
	// slack is what an answer has beside the files: their names, and an error.
	slack = 16 << 20
	// said is how much of what a build that has crashed has to say is kept.
	said = 8 << 10
	// lingers is how long the pipes of a build that was killed may stay open.
	lingers = time.Second
)

// errCrash is why there is no answer.
var errCrash = errors.New("the build has ended without an answer")

// order is what a child is asked for, and answer what it says.
type order struct {
	Tree, Dir                    string
	Files, Input, Output, Memory int
	AnyFile                      bool
}

type answer struct {
	Files []parse.File
	Wrong *wrong
}

// wrong is a knv.Error as it goes from one process to the other.
type wrong struct {
	Code      knv.Code
	Text      string
	Resources []knv.Resource
	Panicked  bool
}

// Main builds the kustomization that another process of the same program has asked for,
// and says whether one has. Every program that is Options.Program calls it first.
func Main() (code int, started bool) {
	if len(os.Args) != 2 || os.Args[1] != command {
		return 0, false
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1, true
	}
	return 0, true
}

// serve answers one order.
func serve(in io.Reader, out io.Writer) error {
	var o order
	if err := gob.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read what is to be built: %w", err)
	}
	if err := confine(o.Memory); err != nil {
		return fmt.Errorf("bound the memory: %w", err)
	}
	built, left := make(chan answer, 1), make(chan struct{})
	go func() { built <- o.build() }()
	go func() { // whoever has asked keeps it open
		_, _ = io.Copy(io.Discard, in)
		close(left)
	}()
	select {
	case a := <-built:
		return gob.NewEncoder(out).Encode(a)
	case <-left:
		return errors.New("whoever has asked is gone")
	}
}

// confine takes away from this process what a build does not need.
func confine(memory int) error {
	// What a kustomization names has been looked at; this is for what was overlooked.
	http.DefaultTransport = nowhere{}
	http.DefaultClient = &http.Client{Transport: nowhere{}}
	os.Clearenv()
	debug.SetMemoryLimit(int64(memory) / 8 * 7)
	return limit(memory)
}

// nowhere is the network of a build.
type nowhere struct{}

func (nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s: nothing is fetched from elsewhere", r.URL.Host)
}

func (o order) build() answer {
	options := Options{Files: o.Files, Input: o.Input, Output: o.Output, AnyFile: o.AnyFile}.withDefaults()
	f, err := open(o.Tree, options)
	if err != nil {
		return answer{Wrong: &wrong{Code: knv.InternalRendering, Text: fmt.Sprintf("the files cannot be read: %v", err)}}
	}
	defer f.close()
	list, err := kustomizer(options)(context.Background(), f, o.Dir)
	if e := f.judge(err, o.Dir); e != nil {
		return answer{Wrong: &wrong{Code: e.Code, Text: e.Text, Resources: e.Resources, Panicked: errors.Is(e, errPanic)}}
	}
	return answer{Files: list}
}

// apart runs each build in a process of its own, which ends with the context, and with
// this process.
func apart(o Options) func(context.Context, *files, string) ([]parse.File, error) {
	return func(ctx context.Context, f *files, dir string) ([]parse.File, error) {
		var in, out bytes.Buffer
		if err := gob.NewEncoder(&in).Encode(order{
			Tree: f.root.Name(), Dir: dir, Files: o.Files, Input: o.Input, Output: o.Output, Memory: o.Memory, AnyFile: o.AnyFile,
		}); err != nil {
			return nil, fmt.Errorf("say what is to be built: %w", err)
		}
		complaint, err := child(ctx, o, &in, &out)
		switch {
		case ctx.Err() != nil:
			return nil, tooLong(dir, o.Time)
		case err != nil:
			return nil, crashed(complaint, err, dir, o)
		}
		var a answer
		if err := gob.NewDecoder(&out).Decode(&a); err != nil {
			return nil, crashed(complaint, err, dir, o)
		}
		if w := a.Wrong; w != nil {
			e := knv.New(w.Code, "%s", w.Text).About(w.Resources...)
			if w.Panicked {
				e = e.Because(errPanic)
			}
			return nil, e
		}
		return a.Files, nil
	}
}

// child runs the program with an order, and returns the end of what it has said beside
// its answer.
func child(ctx context.Context, o Options, in io.Reader, out *bytes.Buffer) (complaint string, err error) {
	cmd := exec.CommandContext(ctx, o.Program, command) //nolint:gosec // it is this program
	cmd.Env = []string{"GOTRACEBACK=none"}
	cmd.Dir = os.TempDir()
	cmd.SysProcAttr, cmd.WaitDelay = endWithParent(), lingers
	answers, complaints := &bounded{Buffer: out, left: o.Output + slack}, &bounded{Buffer: &bytes.Buffer{}, left: said}
	cmd.Stdout, cmd.Stderr = answers, complaints
	orders, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	// It stays open, so that the child sees the end of this process.
	_, _ = io.Copy(orders, in)
	err = cmd.Wait()
	return complaints.String(), err
}

// bounded forgets what is too much.
type bounded struct {
	*bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	_, err := b.Buffer.Write(p[:n])
	return len(p), err
}

// exhausted are the words with which a program of Go ends that gets no more memory.
var exhausted = []string{"out of memory", "cannot allocate memory", "failed to create new OS thread", "failed to allocate"}

// crashed is the error about a build that has ended without an answer.
func crashed(complaint string, err error, dir string, o Options) *knv.Error {
	for _, words := range exhausted {
		if strings.Contains(complaint, words) {
			return knv.New(knv.Rendering, "the kustomization of %s needs more than %d MiB of memory to be rendered. "+
				"Look for what it makes many times over, or split it over several RootSyncs", where(dir), o.Memory>>20).Because(errCrash)
		}
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(complaint), "\n"); line != "" {
		err = fmt.Errorf("%w: %s", err, line)
	}
	return knv.New(knv.InternalRendering, "rendering of %s has ended without an answer: %s. It is tried again; if it stays so, "+
		"find out with \"kustomize build\" what it does not bear", where(dir), brief(err)).Because(errPanic)
}
