// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Test runs the tests of all modules: first those that need no cluster, then those against a real API
// server, on control planes that it lends to one test after the other.
//
// Without -all it runs what a change needs in minutes: all packages with -short, in which a long test leaves
// itself to -all, those without a cluster with the race detector. With -all it runs everything with the race
// detector, and no test may skip itself.
//
// HOLDFAST_KUBECONFIG names a cluster without Holdfast for the tests that break nothing, package by package;
// each leaves it as it was. The others have local control planes in any case.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	packages []string
	run      string
	all      bool
	shard    shard
	race     string
	times    int
	busy     int
	planes   int
	events   string
}

// shard is one of several parts of all packages; the zero value is the whole.
type shard struct{ part, of int }

// String implements flag.Value.
func (s *shard) String() string {
	if s.of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.part, s.of)
}

// Set implements flag.Value.
func (s *shard) Set(text string) error {
	if text == "" {
		return nil
	}
	part, of, ok := strings.Cut(text, "/")
	var errPart, errOf error
	s.part, errPart = strconv.Atoi(part)
	s.of, errOf = strconv.Atoi(of)
	if !ok || errors.Join(errPart, errOf) != nil || s.part < 1 || s.part > s.of {
		return fmt.Errorf("want a part and the number of parts, such as 1/3, and not %q", text)
	}
	return nil
}

func main() {
	o := options{}
	flag.StringVar(&o.run, "run", "", "run only tests whose names match this regular expression")
	flag.BoolVar(&o.all, "all", false, "run every test, with the race detector")
	flag.Var(&o.shard, "shard", "run one part of the packages, such as 1/3")
	flag.StringVar(&o.race, "race", "", "required: fail where the race detector cannot be had; off: leave it out")
	flag.IntVar(&o.times, "times", 1, "run the tests so many times, to find those that fail by chance; nothing is taken from the cache")
	flag.IntVar(&o.busy, "busy", 0, "keep so many processes busy meanwhile")
	flag.IntVar(&o.planes, "planes", 4, "run at most so many control planes at the same time, and one for what needs a special one")
	flag.StringVar(&o.events, "events", "", "write the events of all tests into this file, as go test -json does")
	flag.Parse()
	o.packages = flag.Args()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, &o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs all phases as often as it is asked to, and prints what came of them.
func run(ctx context.Context, o *options) error {
	began := time.Now()
	phases, err := plan(ctx, o)
	if err != nil {
		return err
	}
	r, err := newReport(o)
	if err != nil {
		return err
	}
	defer r.close()
	stopBusy, err := keepBusy(ctx, o.busy)
	if err != nil {
		return err
	}
	defer stopBusy()
	l, err := newLender(ctx, o, phases)
	if err != nil {
		return err
	}
	for i := range o.times {
		if o.times > 1 {
			r.say("Run %d of %d", i+1, o.times)
		}
		for _, p := range phases {
			if err := p.run(ctx, l, r); err != nil {
				return errors.Join(err, l.close())
			}
		}
	}
	err = l.close()
	return errors.Join(r.summary(time.Since(began), l.counts()), err)
}
