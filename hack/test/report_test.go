// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// told runs a report over the events of go test -json and returns what it prints, and the error at the end.
func told(t *testing.T, o options, events string) (string, error) {
	t.Helper()
	var out strings.Builder
	r, err := newReport(&o)
	if err != nil {
		t.Fatal(err)
	}
	r.out = &out
	r.read(strings.NewReader(events), 1)
	err = r.summary(time.Minute, cluster.Counts{Starts: 2, Leases: 5})
	return out.String(), err
}

func TestReport(t *testing.T) {
	t.Parallel()
	const (
		pass = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"chatter\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
`
		done = `{"Action":"pass","Package":"p","Elapsed":1.5}
`
		long = `{"Action":"output","Package":"p","Test":"TestLong","Output":"    this test is left to make test-all\n"}
{"Action":"skip","Package":"p","Test":"TestLong"}
`
		lazy = `{"Action":"output","Package":"p","Test":"TestLazy","Output":"    no docker here\n"}
{"Action":"skip","Package":"p","Test":"TestLazy"}
`
	)
	tests := []struct {
		name, events string
		all          bool
		want         []string
		wantErr      string
	}{
		{
			name: "counts what passed, and does not show what it said", events: pass + done,
			want: []string{"1 of 1  ok      1.5 s  p (1 tests)", "control planes: 2 started, lent 5 times", "1 passed, 0 failed, 0 skipped"},
		},
		{
			name: "says that a package comes from the cache", events: pass + `{"Action":"output","Package":"p","Output":"ok  \tp\t(cached)\n"}` + "\n" + done,
			want: []string{"cached", "(1 from Go's cache of test results)"},
		},
		{
			name: "shows what a test said that failed", wantErr: "1 tests failed",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`,
			want: []string{"FAIL  p TestA", "got 1, want 2", "failed 1 times: p TestA", "0 passed, 1 failed"},
		},
		{
			name: "names the test that ran when the process ended", wantErr: "1 tests failed",
			events: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: no\n"}
{"Action":"output","Package":"p","Output":"exit status 2\n"}
{"Action":"fail","Package":"p"}
`,
			want: []string{"FAIL  p TestA had not ended", "panic: no", "failed 1 times: p\n"},
		},
		{
			name: "shows why a package does not compile", wantErr: "1 tests failed",
			events: `{"Action":"build-output","ImportPath":"p [p.test]","Output":"undefined: x\n"}
{"Action":"build-fail","ImportPath":"p [p.test]"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
`,
			want: []string{"FAIL  build of p [p.test]\nundefined: x"},
		},
		{name: "lets a test leave itself to make test-all", events: pass + long + done, want: []string{"1 tests are left to make test-all", "1 passed, 0 failed, 1 skipped"}},
		{name: "lets none skip itself there", events: pass + long + done, all: true, wantErr: "1 tests skipped themselves", want: []string{"SKIP  p TestLong"}},
		{name: "lets none skip itself for another reason", events: pass + lazy + done, wantErr: "1 tests skipped themselves", want: []string{"SKIP  p TestLazy", "no docker here"}},
		{name: "takes a run of no test for a failure", events: done, wantErr: "no test ran"},
		{name: "passes on what is no event", events: "go: warning\n" + pass + done, want: []string{"go: warning"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := told(t, options{all: tt.all}, tt.events)
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
			if strings.Contains(out, "chatter") {
				t.Errorf("shows the output of a test that passed:\n%s", out)
			}
			if tt.wantErr == "" && err != nil || tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)) {
				t.Errorf("error = %v, want %q", err, tt.wantErr)
			}
		})
	}
}

func TestShard(t *testing.T) {
	t.Parallel()
	list := []string{"a", "b", "c", "d", "e"}
	for _, text := range []string{"", "1/1", "1/2", "2/3", "7/7"} {
		var s shard
		if err := s.Set(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if s.String() != text {
			t.Errorf("%q became %q", text, s.String())
		}
	}
	for _, text := range []string{"1", "0/2", "3/2", "x/2", "1/", "/"} {
		var s shard
		if err := s.Set(text); err == nil {
			t.Errorf("%q is taken for %v", text, s)
		}
	}
	for of := 1; of <= 7; of++ {
		var all []string
		for part := 1; part <= of; part++ {
			all = append(all, nth(shard{part, of}, list)...)
		}
		slices.Sort(all)
		if !slices.Equal(all, list) {
			t.Errorf("%d shards have %q together", of, all)
		}
	}
	if got := nth(shard{}, list); !slices.Equal(got, list) {
		t.Errorf("the whole is %q", got)
	}
}
