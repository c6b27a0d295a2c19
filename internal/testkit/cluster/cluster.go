// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a Kubernetes control plane: one that Start started, or one that was there.
type Cluster struct {
	Kubeconfig string // path of a file for a cluster administrator
	Server     string // URL of the API server
	Dir        string // the folder of a started cluster, which holds the components' logs
	Version    string // of the API server, such as v1.37.0; empty if the cluster was there
	Kubectl    string // path of a kubectl of about the cluster's version

	control control // nil for a cluster that was there
}

// control is what can be done to a cluster that was started.
type control interface {
	// request asks the supervisor for something and waits until it is done.
	request(ctx context.Context, name string) error
	// latest is the supervisor's last status.
	latest() status
	// stop is Cluster.Stop.
	stop() error
}

// The requests of "localcluster run".
const (
	stopAPIServer    = "stop-apiserver"
	restartAPIServer = "restart-apiserver"
	resetCluster     = "reset"
)

// newCluster is the cluster of a status.
func newCluster(s status, kubectl string, c control) *Cluster {
	return &Cluster{Kubeconfig: s.Kubeconfig, Server: s.Server, Dir: s.Dir, Version: s.Version, Kubectl: kubectl, control: c}
}

// errNotStarted says that a cluster is not ours to disturb.
var errNotStarted = errors.New("the cluster was not started by this process")

// FromKubeconfig returns the existing cluster of the file's current context. Nothing here ever stops
// it. Its kubectl is the one in PATH, or else the one of localcluster if that has been built.
func FromKubeconfig(path string) (*Cluster, error) {
	c := &Cluster{Kubeconfig: path}
	config, err := c.RestConfig()
	if err != nil {
		return nil, err
	}
	c.Server = config.Host
	if c.Kubectl, err = findKubectl(); err != nil {
		return nil, err
	}
	return c, nil
}

// RestConfig returns a configuration for clients that act as a cluster administrator. It sets no limit
// on the rate of requests: the API server has one.
func (c *Cluster) RestConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load the kubeconfig %s: %w", c.Kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}

// Stop ends a started cluster and waits until all its processes have ended and, if its folder was not
// chosen by the caller, until that is removed. It takes up to half a minute, usually about a second.
// Stopping again does nothing and returns what the first Stop returned: an error if the cluster had not
// run until then or did not end in order. A cluster that was there is left alone.
func (c *Cluster) Stop() error {
	if c.control == nil {
		return nil
	}
	return c.control.stop()
}

// RestartAPIServer ends the API server, starts it again at the same address and with its data, and
// waits until it is ready. It also starts one that StopAPIServer stopped.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	return c.request(ctx, restartAPIServer)
}

// StopAPIServer ends the API server and leaves the rest of the cluster, so that connections to it are
// refused until RestartAPIServer.
func (c *Cluster) StopAPIServer(ctx context.Context) error { return c.request(ctx, stopAPIServer) }

// Reset makes the cluster what it was when it was new, and returns when the API server acts on that. Every
// object that was made is gone, and every one that was changed or deleted is as it was, whatever
// finalizers, policies and webhooks say. Resource versions go on. Nothing may write to the cluster
// meanwhile.
func (c *Cluster) Reset(ctx context.Context) error { return c.request(ctx, resetCluster) }

func (c *Cluster) request(ctx context.Context, name string) error {
	err := errNotStarted
	if c.control != nil {
		err = c.control.request(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// findKubectl finds a kubectl without building one.
func findKubectl() (string, error) {
	inPath, err := exec.LookPath(kubectlName)
	if err == nil {
		return inPath, nil
	}
	if binary, ok := localcluster().Built(context.Background()); ok {
		return kubectlBeside(binary), nil
	}
	return "", fmt.Errorf("find %s: it is not in PATH, and %s, which has one, is not built", kubectlName, program)
}

func kubectlBeside(binary string) string { return filepath.Join(filepath.Dir(binary), kubectlName) }
