// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// phase is one call of go test.
type phase struct {
	about string
	// dir is the module's folder, below the root.
	dir      string
	packages []string
	args     []string
	env      []string
	// cluster says that the tests need control planes, and what the runner builds for them.
	cluster bool
	// needs is a version of Kubernetes beside the usual one.
	needs string
	race  bool
}

const clusterPackage = "github.com/holdfast-dev/holdfast/internal/testkit/cluster"

// long are the packages that "make test" leaves to "make test-all" as a whole.
var long = []string{
	"internal/testkit/aggregated", "internal/testkit/cluster", "internal/testkit/nodes", "test/observe", "test/runbooks", "test/soak",
}

// The flags of go test. "make lint" has vetted the code. The linker and a test use one core for part of their time
// only, so there are more of them than cores. What waits for a cluster does not compute: many such tests go on at
// the same time. With three packages of these on two cores, control planes got so little time that a DELETE of a
// Namespace took longer than the 15 s that its client gives it, again and again.
var (
	pureArgs    = []string{"-vet=off", "-timeout=10m", "-p=4"}
	clusterArgs = []string{"-vet=off", "-timeout=60m", "-p=2", "-parallel=12"}
)

// plan decides what to run.
func plan(ctx context.Context, o *options) ([]phase, error) {
	race, err := raceDetector(ctx, o)
	if err != nil {
		return nil, err
	}
	patterns := o.packages
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	pure, clustered, err := testPackages(ctx, patterns)
	if err != nil {
		return nil, err
	}
	if len(pure)+len(clustered) == 0 {
		return nil, fmt.Errorf("there are no tests in %s", strings.Join(patterns, " "))
	}
	if !o.all && len(o.packages) == 0 {
		clustered = slices.DeleteFunc(clustered, func(name string) bool { return slices.Contains(long, short(name)) })
	}
	longestFirst(clustered)
	pure, clustered = nth(o.shard, pure), nth(o.shard, clustered)
	phases := []phase{
		{about: "Tests that need no cluster", packages: pure, args: pureArgs, race: race},
		{about: "Tests against a real API server", packages: clustered, args: clusterArgs, cluster: true, race: race && o.all},
	}
	if len(o.packages) == 0 && o.run == "" && o.all {
		phases = append(phases, nth(o.shard, others(race))...)
	}
	for i := range phases {
		phases[i].args = slices.Concat(phases[i].args, chosen(o))
	}
	return slices.DeleteFunc(phases, func(p phase) bool { return len(p.packages) == 0 }), nil
}

// chosen returns the flags of go test that select tests within a package.
func chosen(o *options) (args []string) {
	if !o.all {
		args = append(args, "-short")
	}
	if o.times > 1 {
		args = append(args, "-count=1")
	}
	if o.run != "" {
		args = append(args, "-run="+o.run)
	}
	return args
}

// others are what belongs to no package of the main module, or is run in another way.
func others(race bool) []phase {
	return []phase{
		{
			about: "The story of the demo on Kubernetes 1.36, the oldest version that is tested", packages: []string{"./demo"},
			args: append(slices.Clone(clusterArgs), "-run=^TestRun_theWholeStory"), env: []string{cluster.VersionVariable + "=1.36"},
			cluster: true, needs: "1.36", race: race,
		},
		{about: "Tests with the clients of other projects", dir: "test/clients", packages: []string{"./..."}, args: clusterArgs, cluster: true, race: race},
		{about: "Tests with the engines of Argo CD and Flux", dir: "test/gitops", packages: []string{"./..."}, args: clusterArgs, cluster: true, race: race},
		{about: "Tests of the chart", dir: "charts", packages: []string{"./..."}, args: clusterArgs, cluster: true, race: race},
		{about: "Tests of the local control plane itself", dir: "localcluster", packages: []string{"./..."}, args: pureArgs},
	}
}

// longestFirst sorts packages by how long their tests are likely to take: go test starts them in this order, and a long
// one that starts last leaves a core idle. End-to-end tests, which are outside of internal, come first, then the packages
// with the most test code.
func longestFirst(packages []string) {
	slices.SortStableFunc(packages, func(a, b string) int {
		a, b = short(a), short(b)
		return cmp.Or(cmp.Compare(strings.Count(a, "internal/"), strings.Count(b, "internal/")), -cmp.Compare(testCode(a), testCode(b)))
	})
}

// testCode returns the size of the test files in a folder, in bytes.
func testCode(dir string) (size int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is valid
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			size += info.Size()
		}
	}
	return size
}

// nth is the part of a list that a shard has: each nth of it, so that neighbours, which tend to take as long as
// each other, are apart.
func nth[T any](s shard, list []T) []T {
	if s.of == 0 {
		return list
	}
	var out []T
	for i := s.part - 1; i < len(list); i += s.of {
		out = append(out, list[i])
	}
	return out
}

// raceDetector says whether the race detector can be had: it needs cgo, and cgo a C compiler.
func raceDetector(ctx context.Context, o *options) (bool, error) {
	if o.race == "off" {
		fmt.Fprintln(os.Stderr, "NOTE: the tests run without the race detector")
		return false, nil
	}
	compiler, err := goOutput(ctx, "", "env", "CC")
	if err == nil {
		name, _, _ := strings.Cut(strings.TrimSpace(compiler), " ")
		_, err = exec.LookPath(name)
	}
	if err == nil {
		return true, nil
	}
	if o.race == "required" {
		return false, errors.New("the race detector needs a C compiler, and there is none")
	}
	fmt.Fprintln(os.Stderr, "NOTE: no C compiler here, so the tests run without the race detector")
	return false, nil
}

// testPackages are the packages with tests that match the patterns: those whose tests link what starts
// clusters, and the others.
func testPackages(ctx context.Context, patterns []string) (pure, clustered []string, err error) {
	out, err := goOutput(ctx, "", append([]string{"list", "-test", "-f", `{{if eq .Name "main"}}{{.ImportPath}} {{join .Deps " "}}{{end}}`}, patterns...)...)
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(out) {
		name, deps, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, isTest := strings.CutSuffix(name, ".test")
		switch {
		case !isTest:
		case slices.Contains(strings.Fields(deps), clusterPackage):
			clustered = append(clustered, name)
		default:
			pure = append(pure, name)
		}
	}
	return pure, clustered, nil
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := goCommand(ctx, args...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, said.String())
	}
	return string(out), nil
}

func goCommand(ctx context.Context, args ...string) *exec.Cmd {
	name := os.Getenv("GO")
	if name == "" {
		name = "go"
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// run runs the phase and reports what comes of it. An error is about the phase; tests that fail are none.
func (p phase) run(ctx context.Context, l *lender, r *report) error {
	r.say("%s: %d packages", p.about, len(p.packages))
	args := []string{"test", "-json"}
	env := slices.Clone(p.env)
	if p.race {
		args, env = append(args, "-race"), append(env, "CGO_ENABLED=1")
	}
	if p.cluster {
		more, err := l.environment(ctx, p, r)
		if err != nil {
			return err
		}
		env = append(env, more...)
		if os.Getenv("HOLDFAST_KUBECONFIG") != "" {
			args = append(args, "-p=1") // one Holdfast at a time
		}
	}
	cmd := goCommand(ctx, slices.Concat(args, p.args, p.packages)...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var said strings.Builder
	cmd.Stderr = io.MultiWriter(&said)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run go test: %w", err)
	}
	failed := r.read(out, len(p.packages))
	err = cmd.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !failed { // it failed, and no test did
		return fmt.Errorf("go test: %w\n%s", err, said.String())
	}
	return nil
}
