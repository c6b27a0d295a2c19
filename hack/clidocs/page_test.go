// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func TestPage(t *testing.T) {
	t.Parallel()
	nothing := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tool", Long: "It does <things>.\nOf these kinds:\n  a  one_\n    and more\nThat is all."}
	root.PersistentFlags().String("where", "here", "The `PLACE` to look at")
	group := &cobra.Command{Use: "group", Short: "Two of them"}
	one := &cobra.Command{Use: "one NAME", Short: "One of them", Example: "  # Do it\n  tool group one x", Run: nothing}
	one.Flags().BoolP("all", "a", false, "This|that")
	group.AddCommand(one)
	root.AddCommand(group, &cobra.Command{Use: "secret", Hidden: true, Run: nothing})
	want := head + `It does &lt;things>.
Of these kinds:

~text
a  one_
  and more
~

That is all.

| command | what it does |
| --- | --- |
| [tool group](#tool-group) | Two of them |
| [tool group one](#tool-group-one) | One of them |

## tool group

Two of them.

## tool group one

~sh
tool group one NAME [flags]
~

One of them.

~sh
# Do it
tool group one x
~

| flag | default | what it is |
| --- | --- | --- |
| ~-a, --all~ |  | This\|that |

## Flags of every command

They are those of kubectl.

| flag | default | what it is |
| --- | --- | --- |
| ~--where PLACE~ | ~here~ | The PLACE to look at |
`
	want = strings.NewReplacer("~text", "```text", "~sh", "```sh", "\n~\n", "\n```\n", "~", "`").Replace(want)
	if diff := cmp.Diff(want, page(root)); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}
