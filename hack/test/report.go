// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

const (
	modulePrefix = "github.com/holdfast-dev/holdfast/"
	// heartbeat is after how long a silence the report says what is going on.
	heartbeat = 20 * time.Second
	// mostOutput bounds what is kept of a test's output: the end is shown.
	mostOutput = 256 << 10
)

// event is a line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64
}

// report follows the tests and tells people of them.
type report struct {
	all bool
	out io.Writer
	raw io.WriteCloser

	mu sync.Mutex
	// done of total packages of the phase.
	done, total int
	running     map[string]*pkg
	builds      map[string]*bytes.Buffer
	spoke       time.Time
	// what all phases came to
	packages, cached        int
	passed, failed, skipped int
	failures                map[string]int
	wrongly                 []string // skipped although nothing may be
}

// pkg is a package whose tests run.
type pkg struct {
	began  time.Time
	tests  map[string]*test
	output tail // of no test
	passed int
	cached bool
	failed []string
}

type test struct {
	began  time.Time
	output tail
}

// tail keeps the end of what is written.
type tail struct{ bytes.Buffer }

func (t *tail) add(text string) {
	t.WriteString(text)
	if t.Len() > 2*mostOutput {
		t.Next(t.Len() - mostOutput)
	}
}

func newReport(o *options) (*report, error) {
	r := &report{all: o.all, out: os.Stderr, failures: map[string]int{}, spoke: time.Now()}
	if o.events != "" {
		file, err := os.Create(o.events)
		if err != nil {
			return nil, fmt.Errorf("make a file for the events: %w", err)
		}
		r.raw = file
	}
	return r, nil
}

func (r *report) close() {
	if r.raw != nil {
		_ = r.raw.Close()
	}
}

// say prints a headline.
func (r *report) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.print("\n== "+format+"\n", args...)
}

// pool prints what the pool of control planes says.
func (r *report) pool(text string) {
	if strings.HasPrefix(text, "localcluster: ") {
		return // each step of a start
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.print("        %s", text)
}

// print needs the lock.
func (r *report) print(format string, args ...any) {
	r.spoke = time.Now()
	fmt.Fprintf(r.out, format, args...)
}

// read follows one go test to its end. It tells whether a test or a build failed.
func (r *report) read(events io.Reader, total int) (failed bool) {
	r.mu.Lock()
	r.done, r.total, r.running, r.builds = 0, total, map[string]*pkg{}, map[string]*bytes.Buffer{}
	r.mu.Unlock()
	stop := r.tellOfSilence()
	defer stop()
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			failed = r.line(line) || failed
		}
		if err != nil {
			return failed
		}
	}
}

func (r *report) line(line []byte) (failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.raw != nil {
		_, _ = r.raw.Write(line)
	}
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		r.print("%s", line)
		return false
	}
	return r.take(e)
}

// take needs the lock.
func (r *report) take(e event) (failed bool) {
	switch e.Action {
	case "build-output":
		b := r.builds[e.ImportPath]
		if b == nil {
			b = &bytes.Buffer{}
			r.builds[e.ImportPath] = b
		}
		b.WriteString(e.Output)
		return false
	case "build-fail":
		r.print("FAIL  build of %s\n%s", e.ImportPath, r.builds[e.ImportPath])
		return true
	}
	p := r.running[e.Package]
	if p == nil {
		p = &pkg{began: time.Now(), tests: map[string]*test{}}
		r.running[e.Package] = p
	}
	if e.Test == "" {
		return r.ofPackage(p, e)
	}
	return r.ofTest(p, e)
}

func (r *report) ofTest(p *pkg, e event) (failed bool) {
	t := p.tests[e.Test]
	if t == nil {
		t = &test{began: time.Now()}
		p.tests[e.Test] = t
	}
	switch e.Action {
	case "output":
		t.output.add(e.Output)
		return false
	case "pass":
		r.passed++
		p.passed++
	case "skip":
		r.skipped++
		if text := t.output.String(); r.all || !strings.Contains(text, "make test-all") {
			r.wrongly = append(r.wrongly, short(e.Package)+" "+e.Test)
			r.print("SKIP  %s %s, which may not be\n%s", short(e.Package), e.Test, text)
		}
	case "fail":
		r.failed++
		r.failures[short(e.Package)+" "+e.Test]++
		p.failed = append(p.failed, e.Test)
		r.print("FAIL  %s %s after %.1f s\n%s", short(e.Package), e.Test, e.Elapsed, t.output.String())
		failed = true
	default:
		return false
	}
	delete(p.tests, e.Test)
	return failed
}

func (r *report) ofPackage(p *pkg, e event) (failed bool) {
	result := ""
	switch e.Action {
	case "output":
		if strings.Contains(e.Output, "\t(cached)") {
			p.cached = true
		}
		p.output.add(e.Output)
		return false
	case "pass", "skip":
		result = "ok  "
	case "fail":
		result = "FAIL"
		failed = true
	default:
		return false
	}
	r.done++
	r.packages++
	took := fmt.Sprintf("%6.1f s", e.Elapsed)
	if p.cached {
		r.cached++
		took = "  cached"
	}
	r.print("%3d of %d  %s %s  %s (%d tests)\n", r.done, r.total, result, took, short(e.Package), p.passed)
	if failed {
		if len(p.failed) == 0 { // it is about the package: it did not compile, or its process ended
			r.failed++
			r.failures[short(e.Package)]++
		}
		for name, t := range p.tests { // those that were running when the process ended
			r.print("FAIL  %s %s had not ended\n%s", short(e.Package), name, t.output.String())
		}
		r.print("%s", p.output.String())
	}
	delete(r.running, e.Package)
	return failed
}

// tellOfSilence says what is going on when nothing has been printed for a while.
func (r *report) tellOfSilence() (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(heartbeat / 4)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.mu.Lock()
				if time.Since(r.spoke) > heartbeat {
					r.print("        %s\n", r.goingOn())
				}
				r.mu.Unlock()
			}
		}
	}()
	return func() { close(done) }
}

// goingOn needs the lock.
func (r *report) goingOn() string {
	if len(r.running) == 0 {
		return "compiling"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.running)) {
		p := r.running[name]
		oldest, count := "", 0
		var since time.Time
		for name, t := range p.tests {
			count++
			if oldest == "" || t.began.Before(since) {
				oldest, since = name, t.began
			}
		}
		if oldest == "" {
			parts = append(parts, fmt.Sprintf("%s (%s)", short(name), seconds(p.began)))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s (%d tests; %s for %s)", short(name), count, oldest, seconds(since)))
	}
	return "running: " + strings.Join(parts, ", ")
}

func seconds(since time.Time) string { return time.Since(since).Round(time.Second).String() }

func short(pkg string) string {
	if pkg+"/" == modulePrefix {
		return "."
	}
	return strings.TrimPrefix(pkg, modulePrefix)
}

// summary prints what the whole run came to; it is an error if a test failed, or there was none.
func (r *report) summary(took time.Duration, c cluster.Counts) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.print("\n")
	for _, name := range slices.Sorted(maps.Keys(r.failures)) {
		r.print("failed %d times: %s\n", r.failures[name], name)
	}
	r.print("%d packages (%d from Go's cache of test results) in %s; control planes: %d started, lent %d times, %d of them not used again; tests waited %s for one\n",
		r.packages, r.cached, took.Round(time.Second), c.Starts, c.Leases, c.Discarded, c.Waited.Round(time.Second))
	if !r.all && r.skipped > 0 {
		r.print("%d tests are left to make test-all\n", r.skipped)
	}
	r.print("%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	switch {
	case r.failed > 0:
		return fmt.Errorf("%d tests failed", r.failed)
	case len(r.wrongly) > 0:
		return fmt.Errorf("%d tests skipped themselves, which only those may that make test leaves to make test-all", len(r.wrongly))
	case r.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}
