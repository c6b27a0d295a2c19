// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package kwok

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/lines"
	"github.com/holdfast-dev/holdfast/internal/testkit/nested"
)

// stopTimeout is far more than kwok needs to end.
const stopTimeout = 10 * time.Second

// Binary returns the path of the kwok binary, building it into the cache first if it is not there, which
// takes a minute or two and is reported to progress.
func Binary(ctx context.Context, progress io.Writer) (string, error) {
	return nested.Program{Name: "kwok", About: "nodes without machines"}.Binary(ctx, progress)
}

// Process is a running kwok.
type Process struct {
	// label is the value of a label of the nodes that it plays. No other process has the same.
	label string

	cmd      *exec.Cmd
	lifeline io.Closer // kwok ends when this is closed, be it by the end of this process
	messages lines.Tail
	stop     func() error // ends it, once
	done     chan struct{}
	err      error // how it ended, when done is closed
}

// Options of a Process.
type Options struct {
	// Kubeconfig of a cluster administrator.
	Kubeconfig string
	// Dir is an empty folder, in which kwok looks for a configuration that it does not find: the one in
	// the user's home is not for tests.
	Dir string
	// Progress receives what happens during a build; it may be nil.
	Progress io.Writer
}

// labelKey is of the label that says who plays a node.
const labelKey = "testkit.holdfast.dev/kwok"

// Start starts kwok for nodes with a label of its own. It ends with Stop, or with this process however that
// ends. Nobody plays a node or a pod then, but both stay in the API.
func Start(ctx context.Context, o Options) (*Process, error) {
	binary, err := Binary(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	p := &Process{
		label: rand.Text(),
		done:  make(chan struct{}),
	}
	p.stop = sync.OnceValue(p.end)
	p.cmd = exec.Command(binary,
		"--kubeconfig", o.Kubeconfig,
		"--manage-all-nodes=false", "--manage-nodes-with-label-selector", labelKey+"="+p.label,
	)
	p.cmd.Env = append(os.Environ(), "KWOK_WORKDIR="+o.Dir)
	// A Ctrl-C at the terminal is for this process, whose end kwok notices by itself.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.lifeline, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start kwok: %w", err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start kwok: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start kwok: %w", err)
	}
	go func() {
		lines.Each(stderr, p.messages.Add) // Wait closes the pipe, with what is still to be read in it
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// NodeLabels are the labels that the nodes have that it plays, and no other nodes.
func (p *Process) NodeLabels() map[string]string { return map[string]string{labelKey: p.label} }

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// LogTail is the end of what kwok says.
func (p *Process) LogTail() string { return p.messages.String() }

// Stop ends kwok and waits for its end. Stopping again does nothing and returns what the first Stop did: an
// error if kwok had not run until then.
func (p *Process) Stop() error { return p.stop() }

func (p *Process) end() error {
	_ = p.lifeline.Close() // fails only if kwok has ended
	select {
	case <-p.done:
		return p.failure()
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("kwok did not end within %s; its log ends:\n%s", stopTimeout, p.LogTail())
	}
}

// failure says how kwok ended, if it has ended and that was not in order.
func (p *Process) failure() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.err == nil {
		return nil
	}
	return fmt.Errorf("kwok ended: %w; its log ends:\n%s", p.err, p.LogTail())
}

// errEnded says that nobody plays the nodes any more.
var errEnded = errors.New("kwok has ended")

// running says why not, if kwok does not run.
func (p *Process) running() error {
	select {
	case <-p.done:
		return errors.Join(errEnded, p.failure())
	default:
		return nil
	}
}
