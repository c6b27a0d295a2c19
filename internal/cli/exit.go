// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/check"
	"github.com/holdfast-dev/holdfast/internal/cli/serviceaccount"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
)

// The exit codes of every command. They are part of the interface: scripts
// branch on them.
const (
	exitOK      = 0 // it worked; for "why": it would be allowed
	exitError   = 1 // something failed, or the API server refused it
	exitUsage   = 2 // the command line makes no sense
	exitRefused = 3 // "why" only: it would be refused
	exitTrouble = 2 // "check", "sync diff" and "serviceaccount plan" only: it failed, where 1 is an answer
)

const exitCodesHelp = `Exit codes of kubectl holdfast:

  0   it worked; for "why": it would be allowed
  1   something failed, or the API server refused it; where a command works on
      several objects or kinds, one failure is enough, and the rest is still done;
      for "sync status" and "sync now": not all are synced; for "status": it is not
      ready, or something is wrong with it; for "sync vet": it
      has found something; for "sync diff" and "serviceaccount plan": something
      would change; for "check": there are problems
  2   the command line makes no sense; nothing was done; for "check", "sync diff"
      and "serviceaccount plan": it failed, or not everything could be looked at,
      or something would fail
  3   "why" only: it would be refused

The commands of hns end with 0 or 1, as those of HNC's plugin do.`

// errReported is an error about which everything has been said.
var errReported = errors.New("the errors above were reported")

// errRefused is the answer of "why" when something would be refused.
var errRefused = errors.New("it would be refused")

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitCode is the only place where errors become exit codes.
func exitCode(err error) int {
	_, ours := errors.AsType[usageError](err)
	_, ofSync := errors.AsType[sync.UsageError](err)
	_, ofAccounts := errors.AsType[serviceaccount.UsageError](err)
	switch {
	case err == nil:
		return exitOK
	case isTrouble(err):
		return exitTrouble
	case ours || ofSync || ofAccounts:
		return exitUsage
	case errors.Is(err, errRefused):
		return exitRefused
	default:
		return exitError
	}
}

// isTrouble says whether a command failed that answers with an exit code.
func isTrouble(err error) bool {
	_, ofDiff := errors.AsType[sync.DiffError](err)
	_, ofPlan := errors.AsType[serviceaccount.PlanError](err)
	_, ofCheck := errors.AsType[check.Trouble](err)
	return ofDiff || ofPlan || ofCheck
}

// newExitCodesTopic is a help topic: a command that does nothing.
func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long:  exitCodesHelp,
	}
}
