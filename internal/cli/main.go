// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/holdfast-dev/holdfast/internal/cli/hns"
	"github.com/holdfast-dev/holdfast/internal/cli/serviceaccount"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git/helper"
)

// The binary is one plugin or another by the name under which it is called. To
// complete the arguments of a plugin, kubectl looks for it on PATH by a name with
// another prefix.
const (
	hnsPlugin        = "hns"
	pluginPrefix     = "kubectl-"
	completionPrefix = "kubectl_complete-"
)

// Main runs the command line of this process and returns its exit code.
func Main() int {
	if code, asked := helper.Main(); asked { // by git, which "sync diff" runs
		return code
	}
	// The client libraries log failures on their own that the commands report.
	utilruntime.ErrorHandlers = nil
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	return run(context.Background(), os.Args, streams)
}

// run is Main without the process. The first argument is the program's name.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	s := ui.NewStreams(streams)
	plugin, typed := called(args)
	root := newRootCommand(s)
	if plugin == hnsPlugin {
		root = newHNSRootCommand(s)
	}
	root.SetArgs(typed)
	command, err := root.ExecuteContextC(ctx)
	report(s, command, err)
	return exitCode(err)
}

// called says which plugin is meant, and what is typed. Asked for completions by
// kubectl, that is the words so far, and cobra's hidden command answers.
func called(args []string) (plugin string, typed []string) {
	if len(args) == 0 {
		return "", nil
	}
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if plugin, ok := strings.CutPrefix(name, completionPrefix); ok {
		return plugin, append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return strings.TrimPrefix(name, pluginPrefix), args[1:]
}

func report(s *ui.Streams, command *cobra.Command, err error) {
	told := func(by error) bool { return errors.Is(err, by) }
	if err == nil || slices.ContainsFunc([]error{errReported, errRefused, hns.ErrTold, sync.ErrReported, serviceaccount.ErrReported}, told) {
		return
	}
	s.Error(err)
	if isUsage(err) {
		s.Notef("%s", fmt.Sprintf("see '%s --help'", command.CommandPath()))
	}
}

// isUsage says whether a command line makes no sense, so that its help is of use.
func isUsage(err error) bool {
	_, ours := errors.AsType[usageError](err)
	_, ofHNS := errors.AsType[hns.UsageError](err)
	_, ofSync := errors.AsType[sync.UsageError](err)
	_, ofAccounts := errors.AsType[serviceaccount.UsageError](err)
	return ours || ofHNS || ofSync || ofAccounts
}
