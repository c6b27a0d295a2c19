// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// completionName is what kubectl looks for on PATH to complete the arguments of
// "kubectl holdfast": the same binary under another name.
const completionName = "kubectl_complete-holdfast"

// Main runs the command line of this process and returns its exit code.
func Main() int {
	// The client libraries log failures on their own that the commands report.
	utilruntime.ErrorHandlers = nil
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	return run(context.Background(), os.Args, streams)
}

// run is Main without the process. The first argument is the program's name.
func run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	s := ui.NewStreams(streams)
	root := newRootCommand(s)
	root.SetArgs(arguments(args))
	command, err := root.ExecuteContextC(ctx)
	report(s, command, err)
	return exitCode(err)
}

// arguments are those of the command line. Asked for completions by kubectl,
// they are what is typed so far, and cobra's hidden command answers.
func arguments(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	if name == completionName {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

func report(s *ui.Streams, command *cobra.Command, err error) {
	if err == nil || errors.Is(err, errReported) || errors.Is(err, errRefused) {
		return
	}
	s.Error(err)
	if _, ok := errors.AsType[usageError](err); ok {
		s.Notef("%s", fmt.Sprintf("see '%s --help'", command.CommandPath()))
	}
}
