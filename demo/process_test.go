// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// binary is the demo, built once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	root, err := cluster.ModuleRoot()
	if err != nil {
		return "", err
	}
	// It is in the folder of the test binary, which go test removes.
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), "holdfast-demo")
	cmd := exec.Command("go", "build", "-o", path, "./demo")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	return path, cmd.Run()
})

// long leaves a test to make test-all, as testkit.Long does, which would link a kubectl.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("this test is left to make test-all")
	}
}

// demoCommand is the demo as a process of its own, on a local control plane.
func demoCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatalf("build the demo: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), kubeconfigVariable+"=", "TMPDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	return cmd
}

func TestUp_leavesAClusterAndDownEndsIt(t *testing.T) {
	long(t)
	t.Parallel()
	dir := t.TempDir()
	ended := false
	t.Cleanup(func() {
		if !ended { // whatever became of the test, nothing of it goes on
			if pid, err := (home{filepath.Join(dir, ".local")}).pid(); err == nil {
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
	})
	up := demoCommand(t, "up", "-dir", dir, "-features", "all")
	var stderr bytes.Buffer
	up.Stderr = &stderr
	out, err := up.Output()
	if err != nil {
		t.Fatalf("up: %v; it said:\n%s", err, &stderr)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	kubeconfig, found := strings.CutPrefix(lines[len(lines)-1], "export KUBECONFIG=")
	if !found {
		t.Fatalf("the last line is no KUBECONFIG:\n%s", out)
	}
	c, err := cluster.FromKubeconfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	ready, err := manager.Kubectl(t.Context(), c, "get", "holdfast", "holdfast", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	if err != nil || ready != "True" {
		t.Errorf("Holdfast's condition Ready is %q (%v)", ready, err)
	}
	mustHaveAllFeatures(t, c, filepath.Join(dir, ".local", "rootsync.yaml"))
	again, err := demoCommand(t, "up", "-dir", dir).Output()
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("a second up said %s (%v), want what the first said:\n%s", again, err, out)
	}

	pid, err := home{filepath.Join(dir, ".local")}.pid()
	if err != nil {
		t.Fatal(err)
	}
	all := family(t, pid)
	if len(all) < 7 { // itself, the supervisor and its three, the manager and the sync
		t.Errorf("up left the processes %v, want seven", all)
	}
	if err := demoCommand(t, "down", "-dir", dir).Run(); err != nil {
		t.Fatalf("down: %v", err)
	}
	ended = true
	mustHaveEnded(t, all)
	mustBeEmpty(t, dir)
	if err := demoCommand(t, "down", "-dir", dir).Run(); err != nil {
		t.Errorf("down of nothing: %v", err)
	}
}

// mustHaveAllFeatures wants what a RootSync of the sample declares, a subnamespace, and a service account that follows its template.
func mustHaveAllFeatures(t *testing.T, c *cluster.Cluster, rootSync string) {
	t.Helper()
	more := filepath.Join(t.TempDir(), "more.yaml")
	if err := os.WriteFile(more, []byte(`
{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: below, namespace: `+sample+`}}
---
{apiVersion: kafka.strimzi.io/v1, kind: KafkaConnect, metadata: {name: shop, namespace: `+sample+`}, spec: {template: {serviceAccount: {metadata: {annotations: {a: b}}}}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"apply", "-f", rootSync},
		{"wait", "rootsync/sync-" + sample, "-n", syncHome, "--for=jsonpath={.status.lastSyncedCommit}", "--timeout=60s"},
		{"get", "configmap", "cm-" + sample, "-n", sample},
		{"apply", "--server-side", "-f", more},
		{"wait", "subns/below", "-n", sample, "--for=jsonpath={.status.status}=Ok", "--timeout=60s"},
		{"wait", "serviceaccount/shop-connect", "-n", sample, "--for=create", "--timeout=60s"},
		{"delete", "rootsync", "sync-" + sample, "-n", syncHome},
	} {
		if _, err := manager.Kubectl(t.Context(), c, args...); err != nil {
			t.Error(err)
		}
	}
}

func TestParseFeatures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ list, want, fails string }{
		{list: ""},
		{list: "all", want: "serviceaccounts sync trees"},
		{list: "trees,sync,trees", want: "sync trees"},
		{list: "tree", fails: `there is no feature "tree": use all, or some of trees, sync, serviceaccounts with commas between them`},
	} {
		got, err := parseFeatures(tt.list)
		if strings.Join(got, " ") != tt.want || (err == nil) != (tt.fails == "") || err != nil && err.Error() != tt.fails {
			t.Errorf("%q: got %v, %v", tt.list, got, err)
		}
	}
}

func TestRun_interruptedLeavesNothingRunning(t *testing.T) {
	long(t)
	t.Parallel()
	tests := []struct {
		name string
		// at is how the line begins that the interrupt comes at.
		at string
		// processes run then, at least: itself, the supervisor and its three, the
		// manager, and what the chapter starts.
		processes int
	}{
		{name: "early", at: "$ kubectl create namespace", processes: 6},
		{name: "while a drain waits for pods on nodes that are played", at: "$ kubectl drain " + secondNode, processes: 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mustEndAt(t, tt.at, tt.processes)
		})
	}
}

func mustEndAt(t *testing.T, line string, processes int) {
	t.Helper()
	temp := t.TempDir()
	cmd := demoCommand(t, "run")
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr = append(cmd.Env, "TMPDIR="+temp), &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	var all []int
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if all == nil && strings.HasPrefix(lines.Text(), line) { // the manager runs, and a command
			all = family(t, cmd.Process.Pid)
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v, want exit code 1", err)
	}
	if len(all) < processes {
		t.Errorf("the processes at the interrupt were %v, want %d or more", all, processes)
	}
	if !strings.Contains(said.String(), "not played") {
		t.Errorf("no table was printed, or no step in it was not played:\n%s", &said)
	}
	if !strings.Contains(stderr.String(), "interrupted; everything that was started has ended") {
		t.Errorf("it said:\n%s", &stderr)
	}
	mustHaveEnded(t, all)
	mustBeEmpty(t, temp)
}

// family returns a process and all that descend from it.
func family(t *testing.T, pid int) []int {
	t.Helper()
	parents := map[int]int{}
	for _, p := range processes(t) {
		parents[p.pid] = p.parent
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		for child, parent := range parents {
			if parent == all[i] {
				all = append(all, child)
			}
		}
	}
	return all
}

// mustHaveEnded wants none of the processes to run. The kernel may take a moment
// to end those that it was told to kill.
func mustHaveEnded(t *testing.T, pids []int) {
	t.Helper()
	gomega.NewWithT(t).Eventually(func() []int {
		var left []int
		for _, p := range processes(t) {
			for _, pid := range pids {
				if p.pid == pid {
					left = append(left, pid)
				}
			}
		}
		return left
	}, "180s", "50ms").Should(gomega.BeEmpty(), "still running")
}

type process struct{ pid, parent int }

// processes are those of this machine that have not ended: a zombie has, and in
// a container without an init process nobody asks how.
func processes(t *testing.T) []process {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ps", "-A", "-o", "pid=,ppid=,stat=").Output()
	if err != nil {
		t.Fatalf("list processes: %v", err)
	}
	var found []process
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || strings.HasPrefix(fields[2], "Z") {
			continue
		}
		pid, err1 := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		if err := errors.Join(err1, err2); err != nil {
			t.Fatalf("read %q: %v", line, err)
		}
		found = append(found, process{pid, parent})
	}
	return found
}
