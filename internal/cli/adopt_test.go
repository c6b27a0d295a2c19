// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/holdfast-dev/holdfast/internal/cli/adopt"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

func TestAdoptHNC_flags(t *testing.T) {
	t.Parallel()
	byDefault := adopt.Options{Namespace: "holdfast-system", Record: "holdfast-adopted-hnc.yaml", Timeout: 5 * time.Minute}
	with := func(edit func(*adopt.Options)) adopt.Options {
		o := byDefault
		edit(&o)
		return o
	}
	tests := []struct {
		name, args string
		want       adopt.Options
		err        string
	}{
		{name: "none", want: byDefault},
		{name: "all", args: "-n there --back --dry-run -y --record f --timeout 1m -o json", want: adopt.Options{
			Namespace: "there", Back: true, DryRun: true, Yes: true, Record: "f", Timeout: time.Minute, Output: ui.JSON,
		}},
		{name: "yes in full", args: "--yes", want: with(func(o *adopt.Options) { o.Yes = true })},
		{name: "an argument", args: "now", err: "takes no arguments"},
		{name: "another format", args: "-o wide", err: `there is no output format "wide"`},
		{name: "no file", args: "--record=", err: "--record is empty"},
		{name: "no time", args: "--timeout 0s", err: "--timeout is a duration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClients(ui.NewStreams(genericiooptions.NewTestIOStreamsDiscard()))
			var got adopt.Options
			cmd := newAdoptHNCCommand(c, func(o adopt.Options) error {
				got = o
				return nil
			})
			c.equip(cmd)
			cmd.SetArgs(strings.Fields(tt.args))
			err := cmd.ExecuteContext(t.Context())
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || exitCode(err) != exitUsage {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}
