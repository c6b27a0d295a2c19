// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// Ports are chosen below the range from which kernels take the local port of outgoing connections
// (32768 up on Linux, 49152 up on macOS). A port from that range could be taken by any connection
// while the API server restarts, even by a client that dials it and so meets itself.
const (
	firstPort = 20000
	lastPort  = 31999
)

// ports are where the components of one cluster listen, on 127.0.0.1.
type ports struct {
	Etcd      int `json:"etcd"`
	APIServer int `json:"apiserver"`
}

// choosePorts returns the ports remembered in file where they are still free, so that a kubeconfig
// outlives its cluster's restart, and new ones otherwise.
func choosePorts(file string) (ports, error) {
	p, err := readPorts(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	for _, port := range []*int{&p.Etcd, &p.APIServer} {
		if *port != 0 && isFree(*port) {
			continue
		}
		if *port, err = freePort(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// readPorts returns the ports remembered in file.
func readPorts(file string) (ports, error) {
	var p ports
	data, err := os.ReadFile(file)
	if err != nil {
		return p, fmt.Errorf("read the remembered ports: %w", err)
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("read the remembered ports from %s: %w", file, err)
	}
	return p, nil
}

// save remembers the ports in file.
func (p ports) save(file string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the ports: %w", err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("remember the ports: %w", err)
	}
	return nil
}

// freePort returns a port on which nothing listens at the moment.
func freePort() (int, error) {
	const attempts = 100
	for range attempts {
		if port := firstPort + rand.IntN(lastPort-firstPort+1); isFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("choose a port: none of %d tried between %d and %d is free", attempts, firstPort, lastPort)
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// address is where a component listens.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
