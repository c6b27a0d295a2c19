// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// changeOptions are what the command line of protect or unprotect says.
type changeOptions struct {
	selection
	// mode is the value to set, of protect only.
	mode   string
	dryRun string
	print  *genericclioptions.PrintFlags
}

func newChangeOptions() *changeOptions {
	return &changeOptions{
		dryRun: dryRunNone,
		print:  genericclioptions.NewPrintFlags(""),
	}
}

func (o *changeOptions) addFlags(cmd *cobra.Command) {
	o.addSelectorFlag(cmd)
	o.addAllNamespacesFlag(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "Select all objects of the given types in the namespace")
	cmd.Flags().StringVar(&o.dryRun, "dry-run", dryRunNone,
		"none, client (change nothing and ask nobody) or server (let the API server judge the change and keep nothing)")
	o.print.AddFlags(cmd)
}

// protectModes are the values of --mode.
var protectModes = []string{v1alpha1.ProtectAlways, v1alpha1.ProtectCascading}

// The values of --dry-run, as kubectl's.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

func (o *changeOptions) validate() error {
	if err := validateDryRun(o.dryRun); err != nil {
		return err
	}
	if _, err := o.print.ToPrinter(); err != nil {
		return usageError{err}
	}
	return o.selection.validate()
}

func validateDryRun(value string) error {
	if !slices.Contains([]string{dryRunNone, dryRunClient, dryRunServer}, value) {
		return usageError{fmt.Errorf("--dry-run is none, client or server, not %q", value)}
	}
	return nil
}

// structured says whether whole objects are to be printed.
func (o *changeOptions) structured() bool {
	return *o.print.OutputFormat != "" && *o.print.OutputFormat != "name"
}
