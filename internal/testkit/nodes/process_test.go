// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/kwok"
	"github.com/holdfast-dev/holdfast/internal/testkit/nodes"
)

// victimVariable makes the test binary a process that starts kwok with the kubeconfig it names, prints
// kwok's process id and waits until it is killed.
const victimVariable = "HOLDFAST_TEST_KWOK_VICTIM"

func victim() int {
	ctx := context.Background() //nolint:forbidigo // this process runs no test
	p, err := kwok.Start(ctx, kwok.Options{Kubeconfig: os.Getenv(victimVariable), Dir: os.TempDir()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(p.PID())
	<-p.Done()
	return 1
}

func TestProcess_endsWithAKilledTest(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	// Built here, so that the victim does not wait for it.
	if _, err := kwok.Binary(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimVariable+"="+e.Kubeconfig)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(stdout, &pid); err != nil {
		t.Fatalf("the victim started no kwok: %v", err)
	}
	if ended(pid) {
		t.Fatal("kwok does not run")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	gomega.NewWithT(t).Eventually(func() bool { return ended(pid) }, soon, often).Should(gomega.BeTrue())
}

func TestAddNodes_saysThatKwokHasEnded(t *testing.T) {
	t.Parallel()
	e := testkit.Shared(t)
	n := nodes.Start(t, e)
	if err := n.Kwok.Stop(); err != nil {
		t.Fatal(err)
	}
	err := n.Kwok.AddNodes(t.Context(), e.Client, "unplayed")
	if err == nil || !strings.Contains(err.Error(), "kwok has ended") {
		t.Errorf("error = %v, want that kwok has ended", err)
	}
}

// ended says whether a process has ended, be it that nobody has asked how.
func ended(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false // there is no such file system
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return bytes.HasPrefix(after, []byte("Z"))
}
