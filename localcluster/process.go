// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// stopGrace is how long a component may take to end when asked to.
	stopGrace = 10 * time.Second
	// tailLines is how much of a dead component's log is shown.
	tailLines = 20
	// tailBytes bounds what is read of the log to find its last lines.
	tailBytes = 16 << 10
)

// process is one component, run as a child of this process from this very binary.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string // path of its log, which earlier runs in the same folder may have begun
	from int64  // where in the log this run begins
	done chan struct{}
}

// startProcess starts a component that appends its output to log and ends when the lifeline breaks.
func startProcess(name string, args []string, dir, log string, lifeline *os.File) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the own executable: %w", err)
	}
	output, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer output.Close()
	end, err := output.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}

	cmd := exec.Command(self, append([]string{name}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(componentEnv(os.Environ()), lifelineEnv+"=3") // ExtraFiles begin at 3
	cmd.ExtraFiles = []*os.File{lifeline}
	cmd.Stdout, cmd.Stderr = output, output
	// A group of its own: the terminal's Ctrl-C is for the supervisor, which ends the components in
	// their order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, log: log, from: end, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is asked of cmd.ProcessState
		close(p.done)
	}()
	return p, nil
}

// componentEnv returns the environment without what etcd would take for flags.
func componentEnv(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "ETCD_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// exited is closed when the process has ended; on no process it never is.
func (p *process) exited() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.done
}

// stop asks the process to end, kills it if it does not within stopGrace and waits for its end.
func (p *process) stop() {
	if p == nil {
		return
	}
	// A paused process sees no signal but SIGKILL until it is continued.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(stopGrace):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// failure describes the process by the end of what this run of it logged, and by how it ended if it
// has.
func (p *process) failure() *componentError {
	failure := &componentError{component: p.name, tail: p.tail()}
	select {
	case <-p.done:
		failure.ended = p.cmd.ProcessState.String()
	default:
	}
	return failure
}

// tail returns the last lines that this run of the process logged.
func (p *process) tail() string {
	file, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	from := max(p.from, size-tailBytes)
	data, err := io.ReadAll(io.NewSectionReader(file, from, size-from))
	if err != nil {
		return err.Error()
	}
	return lastLines(string(data), tailLines)
}

// lastLines returns the last n lines of text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// componentError says that a component ended when it should not, or did not get ready, and shows the
// end of its log.
type componentError struct {
	component string
	ended     string // how, or empty if it is running
	tail      string
}

func (e *componentError) Error() string {
	state := "is running"
	if e.ended != "" {
		state = "ended with " + e.ended
	}
	return fmt.Sprintf("%s %s; its log ends with:\n%s", e.component, state, e.tail)
}

// portTaken reports whether the component ended because something else listens on its port.
func (e *componentError) portTaken() bool {
	return e.ended != "" && strings.Contains(e.tail, "address already in use")
}
