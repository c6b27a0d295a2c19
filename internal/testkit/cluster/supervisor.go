// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/lines"
)

const (
	// stopTimeout is longer than the supervisor takes when it has to kill every component.
	stopTimeout = 40 * time.Second
	// removeTimeout bounds the removal of a folder in which killed components may still be ending.
	removeTimeout = 5 * time.Second
)

// Names of components in a status.
const (
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
)

// status is what a line of the supervisor's output says.
type status struct {
	Kubeconfig string         `json:"kubeconfig"`
	Server     string         `json:"server"`
	PID        int            `json:"pid"`
	Version    string         `json:"version"`
	Dir        string         `json:"dir"`
	Ready      bool           `json:"ready"`
	Components map[string]int `json:"components"` // process ids of those that run
	Requests   int            `json:"requests"`   // fulfilled until now
}

// supervisor is a running "localcluster run".
type supervisor struct {
	cmd       *exec.Cmd
	stdin     io.WriteCloser // takes requests; the supervisor ends when it is closed, be it by the end of this process
	ephemeral bool           // it removes the folder at its end
	messages  lines.Tail
	stopOnce  func() error
	done      chan struct{}
	err       error // how it ended, when done is closed

	requesting sync.Mutex // held from a request until it is fulfilled

	mu      sync.Mutex
	last    status
	changed chan struct{} // closed when last is replaced
}

func startSupervisor(binary string, args []string, ephemeral bool, progress io.Writer) (*supervisor, error) {
	s := &supervisor{
		cmd:       exec.Command(binary, args...),
		ephemeral: ephemeral,
		done:      make(chan struct{}),
		changed:   make(chan struct{}),
	}
	s.stopOnce = sync.OnceValue(s.end)
	// Tests have more memory than processors.
	s.cmd.Env = append(os.Environ(), "GOGC=400")
	// A Ctrl-C at the terminal is for this process, whose end the supervisor notices by itself.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}

	var readers sync.WaitGroup
	readers.Go(func() { lines.Each(stdout, s.update) })
	readers.Go(func() {
		lines.Each(stderr, func(line string) {
			s.messages.Add(line)
			fmt.Fprintln(progress, line)
		})
	})
	go func() {
		readers.Wait() // Wait closes the pipes, with what is still to be read in them
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	return s, nil
}

// update takes over a line of the supervisor's output.
func (s *supervisor) update(line string) {
	var now status
	if err := json.Unmarshal([]byte(line), &now); err != nil {
		s.messages.Add(fmt.Sprintf("unexpected output %q: %v", line, err))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
	close(s.changed)
	s.changed = make(chan struct{})
}

// latest returns the last status, which is empty before the cluster is ready.
func (s *supervisor) latest() status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// await waits until the last status is as wanted and returns it. It fails when the supervisor ends.
func (s *supervisor) await(ctx context.Context, wanted func(status) bool) (status, error) {
	for {
		s.mu.Lock()
		last, changed := s.last, s.changed
		s.mu.Unlock()
		if wanted(last) {
			return last, nil
		}
		select {
		case <-changed:
		case <-s.done:
			return status{}, s.failure()
		case <-ctx.Done():
			return status{}, fmt.Errorf("%w; the last messages were:\n%s", context.Cause(ctx), s.messages.String())
		}
	}
}

// request asks for something and waits until it is done.
func (s *supervisor) request(ctx context.Context, name string) error {
	s.requesting.Lock()
	defer s.requesting.Unlock()
	before := s.latest().Requests
	if _, err := io.WriteString(s.stdin, name+"\n"); err != nil {
		return errors.Join(fmt.Errorf("ask %s: %w", program, err), s.failure())
	}
	_, err := s.await(ctx, func(now status) bool { return now.Requests > before })
	return err
}

func (s *supervisor) stop() error { return s.stopOnce() }

// failure says how the supervisor ended.
func (s *supervisor) failure() error {
	<-s.done
	if s.err == nil {
		return errors.New("the cluster was stopped")
	}
	return fmt.Errorf("%s ended with %w; its last messages were:\n%s", program, s.err, s.messages.String())
}

func (s *supervisor) end() error {
	_ = s.stdin.Close() // fails only if the supervisor has ended
	var err error
	select {
	case <-s.done:
		if s.err != nil {
			err = s.failure()
		}
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill() // its components notice
		<-s.done
		err = fmt.Errorf("%s did not end within %s and was killed; its last messages were:\n%s", program, stopTimeout, s.messages.String())
	}
	if dir := s.latest().Dir; s.ephemeral && dir != "" {
		err = errors.Join(err, removeAll(dir))
	}
	return err
}

// removeAll removes what a killed supervisor left, if anything.
func removeAll(dir string) error {
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	for began := time.Now(); ; <-retry.C {
		err := os.RemoveAll(dir)
		if err == nil {
			return nil
		}
		if time.Since(began) > removeTimeout {
			return fmt.Errorf("remove the cluster's folder: %w", err)
		}
	}
}
