// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"
)

// startAttempts bounds how often a component is started on another port because the chosen one was
// taken before it could listen.
const startAttempts = 3

// supervisor runs the components of one cluster.
type supervisor struct {
	options  options
	files    layout
	ports    ports
	lifeline *os.File  // the end for components
	status   io.Writer // a line of JSON for every change
	progress *log.Logger

	// The components, nil while they do not run.
	etcd, apiServer, controllerManager *process
	version                            string // what the API server calls itself
	store                              *store // what the API server keeps in etcd, once the cluster is ready
	requests                           int    // fulfilled until now
}

// status is one line of the supervisor's output.
type status struct {
	Kubeconfig string         `json:"kubeconfig"`
	Server     string         `json:"server"`
	PID        int            `json:"pid"`
	Version    string         `json:"version"`
	Dir        string         `json:"dir"`
	Ready      bool           `json:"ready"`      // false while the API server is stopped on request
	Components map[string]int `json:"components"` // process ids of those that run
	Requests   int            `json:"requests"`   // of standard input, fulfilled until now
}

// start brings the whole cluster up and reports it ready.
func (s *supervisor) start(ctx context.Context) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	began := time.Now()
	if err := ensurePKI(s.files.pki()); err != nil {
		return err
	}
	var err error
	if s.ports, err = choosePorts(s.files.ports()); err != nil {
		return err
	}
	if err := s.onFreePort(&s.ports.Etcd, func() error { return s.startEtcd(ctx) }); err != nil {
		return err
	}
	s.progress.Printf("etcd ready (%s)", since(began))
	if err := s.onFreePort(&s.ports.APIServer, func() error { return s.startAPIServer(ctx) }); err != nil {
		return err
	}
	s.progress.Printf("API server ready (%s)", since(began))
	if err := s.ports.save(s.files.ports()); err != nil {
		return err
	}
	if err := s.startControllerManager(ctx); err != nil {
		return err
	}
	if s.store, err = openStore(ctx, s.files, s.ports); err != nil {
		return err
	}
	s.progress.Printf("controller manager ready (%s)", since(began))
	return s.report()
}

// serve fulfils requests until ctx ends, which is no error, or a component does.
func (s *supervisor) serve(ctx context.Context, requests <-chan string) error {
	for {
		var err error
		select {
		case <-ctx.Done():
			s.progress.Print("stopping")
			return nil
		case <-s.etcd.exited():
			return s.etcd.failure()
		case <-s.apiServer.exited():
			return s.apiServer.failure()
		case <-s.controllerManager.exited():
			return s.controllerManager.failure()
		case asked := <-requests:
			err = s.fulfil(ctx, asked)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// fulfil does what a line of standard input asks for and reports the cluster's state after it.
func (s *supervisor) fulfil(ctx context.Context, request string) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	var err error
	switch request {
	case "stop-apiserver":
		s.stopAPIServer()
	case "restart-apiserver":
		err = s.restartAPIServer(ctx)
	case "reset":
		err = s.reset(ctx)
	default:
		err = errors.New("no such request; see run --help")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", request, err)
	}
	s.requests++
	return s.report()
}

// bounded returns a context for one start.
func (s *supervisor) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.options.timeout, fmt.Errorf("not ready within %s", s.options.timeout))
}

// restartAPIServer ends the API server if it runs and starts it on the same port.
func (s *supervisor) restartAPIServer(ctx context.Context) error {
	s.progress.Print("restarting the API server")
	s.apiServer.stop()
	s.apiServer = nil
	if err := s.startAPIServer(ctx); err != nil {
		return err
	}
	s.progress.Print("API server ready")
	return nil
}

// stopAPIServer ends the API server until a restart.
func (s *supervisor) stopAPIServer() {
	s.apiServer.stop()
	s.apiServer = nil
	s.progress.Print("API server stopped")
}

// reset puts back what a new cluster stores, and returns when the API server acts on it.
func (s *supervisor) reset(ctx context.Context) error {
	began := time.Now()
	if s.apiServer == nil {
		if err := s.restartAPIServer(ctx); err != nil {
			return err
		}
	}
	client, err := newClient(s.files.adminKubeconfig())
	if err != nil {
		return err
	}
	removed, restored, err := s.store.reset(ctx, client)
	if err != nil {
		return err
	}
	s.progress.Printf("reset: %d objects removed, %d restored (%s)", removed, restored, since(began))
	return nil
}

// stop ends the components in the order of their dependence.
func (s *supervisor) stop() {
	s.store.close()
	for _, p := range []**process{&s.controllerManager, &s.apiServer, &s.etcd} {
		(*p).stop()
		*p = nil
	}
}

// dead returns a component that has ended by itself, or nil.
func (s *supervisor) dead() *process {
	for _, p := range []*process{s.etcd, s.apiServer, s.controllerManager} {
		select {
		case <-p.exited():
			return p
		default:
		}
	}
	return nil
}

// onFreePort runs start, and again with another port if something took the port.
func (s *supervisor) onFreePort(port *int, start func() error) error {
	for attempt := 1; ; attempt++ {
		err := start()
		var failure *componentError
		if !errors.As(err, &failure) || !failure.portTaken() || attempt == startAttempts {
			return err
		}
		s.progress.Printf("port %d was taken, choosing another", *port)
		if *port, err = freePort(); err != nil {
			return err
		}
	}
}

func (s *supervisor) startEtcd(ctx context.Context) error {
	check, err := etcdCheck(s.files, s.ports)
	if err != nil {
		return err
	}
	if s.etcd, err = s.launch(etcd, etcdArgs(s.files, s.ports)); err != nil {
		return err
	}
	return s.await(ctx, s.etcd, check)
}

func (s *supervisor) startAPIServer(ctx context.Context) error {
	if err := writeKubeconfig(s.files.adminKubeconfig(), s.server(), s.files.pki(), adminCert, adminKey); err != nil {
		return err
	}
	err := writeKubeconfig(s.files.controllersKubeconfig(), s.server(), s.files.pki(), controllerManagerCert, controllerManagerKey)
	if err != nil {
		return err
	}
	client, err := newClient(s.files.adminKubeconfig())
	if err != nil {
		return err
	}
	if s.apiServer, err = s.launch(kubeAPIServer, apiServerArgs(s.files, s.ports, s.options)); err != nil {
		return err
	}
	if err := s.await(ctx, s.apiServer, apiServerCheck(client)); err != nil {
		return err
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the API server's version: %w", err)
	}
	s.version = version.GitVersion
	return nil
}

func (s *supervisor) startControllerManager(ctx context.Context) error {
	client, err := newClient(s.files.adminKubeconfig())
	if err != nil {
		return err
	}
	if s.controllerManager, err = s.launch(controllerManager, controllerManagerArgs(s.files, s.options)); err != nil {
		return err
	}
	return s.await(ctx, s.controllerManager, controllerManagerCheck(client))
}

func (s *supervisor) launch(component string, args []string) (*process, error) {
	return startProcess(component, args, s.files.dir, s.files.log(component), s.lifeline)
}

// server is the URL of the API server.
func (s *supervisor) server() string { return "https://" + address(s.ports.APIServer) }

// await waits until check succeeds. It fails when any component ends first, or ctx does: then the log
// shown is that of the awaited component.
func (s *supervisor) await(ctx context.Context, awaited *process, check func(context.Context) error) error {
	reason := errors.New("none has ended")
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			reason = err // the last one that tells more than that the time is over
		}
		if p := s.dead(); p != nil {
			return p.failure()
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errEnd) {
				return fmt.Errorf("wait for %s: %w", awaited.name, errEnd)
			}
			return fmt.Errorf("wait for %s: %w (last check: %w)\n%w", awaited.name, context.Cause(ctx), reason, awaited.failure())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// report writes one line of JSON about the cluster as it is now.
func (s *supervisor) report() error {
	line := status{
		Kubeconfig: s.files.adminKubeconfig(),
		Server:     s.server(),
		PID:        os.Getpid(),
		Version:    s.version,
		Dir:        s.files.dir,
		Ready:      s.apiServer != nil,
		Components: map[string]int{},
		Requests:   s.requests,
	}
	for _, p := range []*process{s.etcd, s.apiServer, s.controllerManager} {
		if p != nil {
			line.Components[p.name] = p.cmd.Process.Pid
		}
	}
	data, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("encode the cluster's state: %w", err)
	}
	if _, err := s.status.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("report the cluster's state: %w", err)
	}
	return nil
}

func since(began time.Time) time.Duration { return time.Since(began).Round(10 * time.Millisecond) }
