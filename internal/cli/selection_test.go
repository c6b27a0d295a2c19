// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

func testStreams() (streams *ui.Streams, out, errOut *bytes.Buffer) {
	ioStreams, _, out, errOut := genericiooptions.NewTestIOStreams()
	return ui.NewStreams(ioStreams), out, errOut
}

func TestProtectCommand_flags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		want       changeOptions
		wantErr    string // part of a usage error
	}{
		{name: "a type and names", line: "deploy web api", want: changeOptions{selection: selection{args: []string{"deploy", "web", "api"}}, mode: "Always", dryRun: "none"}},
		{name: "types and names with a slash", line: "deploy/web svc/web", want: changeOptions{selection: selection{args: []string{"deploy/web", "svc/web"}}, mode: "Always", dryRun: "none"}},
		{name: "a selector over all kinds", line: "-l app=mysql", want: changeOptions{selection: selection{selector: "app=mysql", args: []string{}}, mode: "Always", dryRun: "none"}},
		{
			name: "a selector over two types in all namespaces", line: "deploy,svc -l app=mysql -A",
			want: changeOptions{selection: selection{selector: "app=mysql", args: []string{"deploy,svc"}, allNamespaces: true}, mode: "Always", dryRun: "none"},
		},
		{name: "all of a type", line: "pvc --all --dry-run=server", want: changeOptions{selection: selection{args: []string{"pvc"}, all: true}, mode: "Always", dryRun: "server"}},
		{
			name: "only while in use", line: "deploy web --mode Cascading",
			want: changeOptions{selection: selection{args: []string{"deploy", "web"}}, mode: "Cascading", dryRun: "none"},
		},
		{name: "a mode that is not there", line: "deploy web --mode Sometimes", wantErr: "--mode is Always or Cascading"},
		{name: "an empty mode", line: "deploy web --mode=", wantErr: "--mode is Always or Cascading"},
		{name: "nothing", line: "", wantErr: "say which objects"},
		{name: "a type alone", line: "deploy", wantErr: "say which deploy"},
		{name: "an empty selector", line: "deploy --selector=", wantErr: "say which deploy"},
		{name: "a name in all namespaces", line: "deploy web -A", wantErr: "a name means one namespace"},
		{name: "names with and without a slash", line: "deploy/web svc", wantErr: "do not go together"},
		{name: "a name and a selector", line: "deploy web -l app=mysql", wantErr: "names and a selector exclude each other"},
		{name: "a name with a slash and a selector", line: "deploy/web -l app=mysql", wantErr: "names and a selector exclude each other"},
		{name: "all and a selector", line: "deploy --all -l app=mysql", wantErr: "--all and --selector exclude each other"},
		{name: "all of everything", line: "--all", wantErr: "--all needs a type"},
		{name: "a broken selector", line: "-l app=(", wantErr: "cannot be read"},
		{name: "an unknown dry run", line: "deploy web --dry-run=perhaps", wantErr: "--dry-run is none, client or server"},
		{name: "an unknown output format", line: "deploy web -o wide", wantErr: "wide"},
		{name: "an unknown flag", line: "deploy web --frobnicate", wantErr: "unknown flag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			streams, _, _ := testStreams()
			var got *changeOptions
			cmd := newProtectCommand(newClients(streams), func(o *changeOptions) error {
				got = o
				return nil
			})
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetFlagErrorFunc(newRootCommand(streams).FlagErrorFunc())
			cmd.SetArgs(strings.Fields(tt.line))
			err := cmd.Execute()
			if tt.wantErr != "" {
				var usage usageError
				if !errors.As(err, &usage) || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("got error %v, want a usage error with %q", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ignore := cmpopts.IgnoreTypes(&genericclioptions.PrintFlags{})
			if diff := cmp.Diff(tt.want, *got, cmp.AllowUnexported(changeOptions{}, selection{}), ignore); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRun_exitCodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line     string
		want           int
		wantOut, wantE string
	}{
		{"help", "kubectl-holdfast", exitOK, "kubectl holdfast [command]", ""},
		{"help of a command", "kubectl-holdfast protect --help", exitOK, "kubectl holdfast protect (TYPE NAME", ""},
		{"the help topic", "kubectl-holdfast help exit-codes", exitOK, "it would be refused", ""},
		{"the client's version", "kubectl-holdfast version --client", exitOK, "Client Version: ", ""},
		{"a command that is not there", "kubectl-holdfast protec", exitUsage, "", "did you mean protect or protected or protections?"},
		{"a subcommand that is not there", "kubectl-holdfast why not", exitUsage, "", `there is no command "not" in 'kubectl holdfast why'`},
		{"a flag that is not there", "kubectl-holdfast protected --all", exitUsage, "", "see 'kubectl holdfast protected --help'"},
		{"a superfluous argument", "kubectl-holdfast version 1", exitUsage, "", "takes no arguments"},
		{"a kubeconfig that is not there", "kubectl-holdfast protected --kubeconfig=/does/not/exist", exitError, "", "/does/not/exist"},
		{"the other plugin", "/some/where/kubectl-hns", exitOK, "kubectl hns [command]", ""},
		{"the other plugin on Windows", "kubectl-hns.exe version", exitOK, "kubectl-hns version ", ""},
		{"the other plugin below this one", "kubectl-holdfast hns version", exitOK, "kubectl-hns version ", ""},
		{"its exit code for what makes no sense", "kubectl-hns tree --none", exitError, "", "see 'kubectl hns tree --help'"},
		{"and below this one", "kubectl-holdfast hns tree --none", exitError, "", "see 'kubectl holdfast hns tree --help'"},
		{"what it says itself is not said twice", "kubectl-hns tree", exitError, "Error: Must specify the root", ""},
		{"kubectl asks for completions of the other plugin", "kubectl_complete-hns tre", exitOK, "tree\t", ""},
		{"kubectl asks for completions", "/some/where/kubectl_complete-holdfast unp", exitOK, "unprotect\t", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			streams, out, errOut := testStreams()
			if got := run(t.Context(), strings.Fields(tt.line), streams.IOStreams); got != tt.want {
				t.Errorf("got exit code %d, want %d; stderr: %s", got, tt.want, errOut)
			}
			if !strings.Contains(out.String(), tt.wantOut) {
				t.Errorf("stdout has no %q: %s", tt.wantOut, out)
			}
			if !strings.Contains(errOut.String(), tt.wantE) {
				t.Errorf("stderr has no %q: %s", tt.wantE, errOut)
			}
		})
	}
}
