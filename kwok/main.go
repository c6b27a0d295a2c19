// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Kwok is the controller of sigs.k8s.io/kwok, which plays nodes and their kubelets, with stages inside
// that make nodes and pods ready and let pods end; all but the last are those of kwok's module. Its flags are those of the original. It reads nothing
// from its standard input and ends with it: whoever starts it holds the other end of a pipe, which the
// kernel closes however that process ends.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

//go:embed pod-delete.yaml
var podDelete string

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		os.Exit(1)
	}
}

func run() error {
	if err := giveStages(); err != nil {
		return err
	}
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	return execute(ctx, flags)
}

func execute(ctx context.Context, flags *pflag.FlagSet) error {
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	return command.ExecuteContext(ctx)
}

// giveStages makes kwok read its stages from what it takes for the standard input, and the end of the real
// one end the process.
func giveStages() error {
	lifeline := os.Stdin
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("hand over the stages: %w", err)
	}
	os.Stdin = read
	os.Args = append(os.Args, "--config=-")
	go func() {
		_, _ = write.WriteString(stages())
		_ = write.Close()
	}()
	go func() {
		_, _ = io.Copy(io.Discard, lifeline)
		os.Exit(0)
	}()
	return nil
}

// stages are documents of YAML.
func stages() string {
	return strings.Join([]string{
		nodefast.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease,
		podfast.DefaultPodReady, podfast.DefaultPodComplete, podDelete,
	}, "\n---\n")
}
