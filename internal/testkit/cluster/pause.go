// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pauseTimeout bounds how long the threads of a paused process may take to stand still.
const pauseTimeout = 5 * time.Second

// PauseAPIServer freezes the API server, so that requests to it go unanswered, until resume is called.
func (c *Cluster) PauseAPIServer() (resume func() error, err error) { return c.pause(apiServer) }

// PauseControllerManager freezes the controller manager, the garbage collector among its controllers, until resume is
// called.
func (c *Cluster) PauseControllerManager() (resume func() error, err error) {
	return c.pause(controllerManager)
}

func (c *Cluster) pause(component string) (resume func() error, err error) {
	if c.control == nil {
		return nil, fmt.Errorf("pause %s: %w", component, errNotStarted)
	}
	pid := c.control.latest().Components[component]
	if pid == 0 {
		return nil, fmt.Errorf("pause %s: it does not run", component)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("pause %s: %w", component, err)
	}
	resume = func() error {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			return fmt.Errorf("resume %s: %w", component, err)
		}
		return nil
	}
	if err := awaitPaused(pid); err != nil {
		return nil, errors.Join(fmt.Errorf("pause %s: %w", component, err), resume())
	}
	return resume, nil
}

// awaitPaused waits until all threads of a process that was sent SIGSTOP stand still: those that run at
// that moment can still answer a request. Only Linux tells; elsewhere it does not wait.
func awaitPaused(pid int) error {
	retry := time.NewTicker(time.Millisecond)
	defer retry.Stop()
	for began := time.Now(); ; <-retry.C {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			return fmt.Errorf("list the threads: %w", err)
		}
		moving := 0
		for _, thread := range threads {
			if state := processState(thread); state != "" && state != "T" {
				moving++
			}
		}
		if moving == 0 {
			return nil
		}
		if time.Since(began) > pauseTimeout {
			return fmt.Errorf("%d of its threads still run after %s", moving, pauseTimeout)
		}
	}
}

// processState returns the letter for the state of a process or thread, "T" if it is paused and "Z" if
// it has ended and nobody has asked how. It is empty if there is none, or no such file on this system.
func processState(statFile string) string {
	stat, err := os.ReadFile(statFile)
	if err != nil {
		return ""
	}
	// The state follows the name, which is in parentheses and may have some in it.
	end := strings.LastIndex(string(stat), ") ")
	if end < 0 || end+2 >= len(stat) {
		return ""
	}
	return string(stat[end+2])
}
