// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
)

// Options are what a cluster is started with. The zero value is a good cluster for a test.
type Options struct {
	// Dir is the folder for keys, data and logs. A cluster that ran in it before is started again with
	// its data and, if the port is still free, at its address. Empty is a temporary folder that the
	// cluster removes at its end.
	Dir string

	FeatureGates  []string // "Name=true", for the API server and the controller manager
	RuntimeConfig []string // "group/version=true", for the API server

	APIServerArgs         []string // whole flags, such as "--v=4"
	ControllerManagerArgs []string

	// Progress receives what happens during the build and the start, and later why a cluster ended by
	// itself. It may be nil, and must be safe to write to from another goroutine.
	Progress io.Writer `json:"-"`
}

func (o Options) args() []string {
	args := []string{"run", "--until-eof"}
	if o.Dir == "" {
		args = append(args, "--ephemeral")
	} else {
		args = append(args, "--dir", o.Dir)
	}
	for _, list := range []struct {
		flag   string
		values []string
	}{
		{"--feature-gates", o.FeatureGates},
		{"--runtime-config", o.RuntimeConfig},
		{"--apiserver-arg", o.APIServerArgs},
		{"--controller-manager-arg", o.ControllerManagerArgs},
	} {
		for _, value := range list.values {
			args = append(args, list.flag, value)
		}
	}
	return args
}

// Start starts a cluster and returns when it is ready, which takes about three seconds once the binary
// is built (see Binary). An error shows the end of the log of the component that failed. The cluster
// ends with Stop, or with this process however that ends.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	binary, err := Binary(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	s, err := startSupervisor(binary, o.args(), o.Dir == "", o.Progress)
	if err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	first, err := s.await(ctx, func(now status) bool { return now.Ready })
	if err != nil {
		_ = s.stop() // can only say again that there was no cluster
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	return newCluster(first, kubectlBeside(binary), s), nil
}
