// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/holdfast-dev/holdfast/internal/cli/hns"
	"github.com/holdfast-dev/holdfast/internal/cli/serviceaccount"
	"github.com/holdfast-dev/holdfast/internal/cli/sync"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

const rootHelp = `Protect what matters from being deleted by accident, see what is protected,
and ask why.

An object is protected by the label holdfast.dev/deletion-protected=Always.
Everybody who may edit an object may protect it. Taking the protection away
needs the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev.
ResourceDeletionProtections protect objects without a label, by what they
select; a DeletionOverride lets one protected object go for a while.

"why drain NODE" says before an upgrade what would hold up the drain of a node,
and "drains" lists the pods that wait for their operators to move them.

"hns" has the commands of HNC's plugin, for trees of namespaces; "adopt hnc" takes
them over from HNC.

"sync" says how RootSyncs are doing, and where an object comes from; "owner" says whose
any object is, and each of its fields.

"status" says on one screen how all of Holdfast is doing; "check" whether a cluster is
ready for it, who else guards the cluster, and what each feature would do there.

"serviceaccount plan" says which labels and annotations of service accounts Holdfast
would set, and who has set what is there.`

// Command is the whole command line, for its reference. It is not run.
func Command() *cobra.Command {
	return newRootCommand(ui.NewStreams(genericiooptions.NewTestIOStreamsDiscard()))
}

func newRootCommand(s *ui.Streams) *cobra.Command {
	c := newClients(s)
	root := &cobra.Command{
		Use:   "kubectl-holdfast",
		Short: "Keep a shared cluster safe to change",
		Long:  rootHelp,
		Args:  knownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// People type "kubectl holdfast": help shows that.
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl holdfast"},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	c.equip(root)
	root.AddCommand(
		newProtectCommand(c, nil),
		newUnprotectCommand(c, nil),
		newProtectedCommand(c, nil),
		newProtectionsCommand(c, nil),
		newStatusCommand(c),
		newCheckCommand(c, nil),
		newWhyCommand(c),
		newOwnerCommand(c, nil),
		newOverrideCommand(c),
		newDrainsCommand(c, nil),
		newAdoptCommand(c),
		hns.Command(s, c.Flags),
		sync.Command(s, c.Flags),
		serviceaccount.Command(s, c.Flags),
		newVersionCommand(c, nil),
		newExitCodesTopic(),
	)
	return root
}

// newHNSRootCommand is the command line of kubectl hns.
func newHNSRootCommand(s *ui.Streams) *cobra.Command {
	c := newClients(s)
	root := hns.Root(s, c.Flags)
	c.equip(root)
	return root
}

// equip gives a root its streams and the flags of the connection. Errors are
// reported once, by Main.
func (c *clients) equip(root *cobra.Command) {
	root.SetIn(c.In)
	root.SetOut(c.Out)
	root.SetErr(c.ErrOut)
	root.SilenceErrors, root.SilenceUsage = true, true
	c.Flags.AddFlags(root.PersistentFlags())
	c.completeConfigFlags(root)
}

// knownSubcommand refuses arguments of a command that only has subcommands: they
// can only be one that does not exist.
func knownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	const typingErrors = 2 // how many the name of a command may have to be suggested
	cmd.SuggestionsMinimumDistance = typingErrors
	message := fmt.Sprintf("there is no command %q in '%s'", args[0], cmd.CommandPath())
	if suggestions := cmd.SuggestionsFor(args[0]); len(suggestions) > 0 {
		message += "; did you mean " + strings.Join(suggestions, " or ") + "?"
	}
	return usageError{fmt.Errorf("%s", message)}
}

// noArguments is the Args of a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("'%s' takes no arguments, but got %q", cmd.CommandPath(), args)}
	}
	return nil
}
