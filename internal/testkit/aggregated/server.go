// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregated

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	stopTimeout = 10 * time.Second
	logTail     = 4 << 10
)

// Server is the process of an extension API server.
type Server struct {
	cmd    *exec.Cmd
	stdin  io.Closer // it ends when this is closed, be it by the end of this process
	log    string
	status status
	done   chan struct{}
	err    error // how it ended, when done is closed
}

// status is what the process says when it is ready.
type status struct {
	Host     string `json:"host"`
	Port     int64  `json:"port"`
	CABundle string `json:"caBundle"` // in base64, as in an APIService
}

type serverOptions struct {
	binary, clusterDir, logDir string
	group                      Group
	service                    string // namespace/name
}

// startServer returns when the server answers requests.
func startServer(ctx context.Context, o serverOptions) (*Server, error) {
	s := &Server{log: filepath.Join(o.logDir, string(o.group)+".log"), done: make(chan struct{})}
	s.cmd = exec.Command(o.binary, "extension", "--dir", o.clusterDir, "--group", string(o.group), "--service", o.service)
	if o.group == WithAdmission {
		s.cmd.Args = append(s.cmd.Args, "--admission")
	}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	defer log.Close()
	s.cmd.Stderr = log
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	said := make(chan []byte, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadBytes('\n') // it says no more than this, or nothing if it ends
		said <- line
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	if err := s.awaitReady(ctx, said); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%w; its log ends:\n%s", err, s.logTail())
	}
	return s, nil
}

func (s *Server) awaitReady(ctx context.Context, said <-chan []byte) error {
	ctx, cancel := context.WithTimeout(ctx, availableTimeout)
	defer cancel()
	select {
	case line := <-said:
		if err := json.Unmarshal(line, &s.status); err != nil {
			return fmt.Errorf("it said %q: %w", line, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("it is not ready: %w", context.Cause(ctx))
	}
}

// Stop ends the process. The APIService stays, and is unavailable from then on.
func (s *Server) Stop() {
	_ = s.stdin.Close() // fails only if it was closed before
	select {
	case <-s.done:
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
}

// ended says how the process ended, if it did.
func (s *Server) ended() error {
	select {
	case <-s.done:
		return errors.Join(errors.New("the extension API server has ended"), s.err)
	default:
		return nil
	}
}

// logTail is the end of the log.
func (s *Server) logTail() string {
	data, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-logTail):])
}
