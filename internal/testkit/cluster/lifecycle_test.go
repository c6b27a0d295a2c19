// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLife follows one cluster through everything that can be done to it in order.
func TestLife(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "cluster")
	c := start(t, Options{Dir: dir})
	maps := client(t, c).CoreV1().ConfigMaps(newNamespace(t, c))
	g.Expect(maps.Create(t.Context(), configMap("kept"), metav1.CreateOptions{})).Error().NotTo(HaveOccurred())
	before := c.control.latest()

	t.Run("a paused API server does not answer until it is resumed", func(t *testing.T) {
		g := NewWithT(t)
		for range 20 { // what runs while it is paused must not answer either
			resume, err := c.PauseAPIServer()
			g.Expect(err).NotTo(HaveOccurred())
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			_, err = maps.Get(ctx, "kept", metav1.GetOptions{})
			cancel()
			g.Expect(err).To(MatchError(context.DeadlineExceeded))
			g.Expect(resume()).To(Succeed())
			g.Expect(maps.Get(t.Context(), "kept", metav1.GetOptions{})).Error().NotTo(HaveOccurred())
		}
	})

	t.Run("a stopped API server refuses connections, and nothing else ends", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(c.StopAPIServer(t.Context())).To(Succeed())
		_, err := maps.Get(t.Context(), "kept", metav1.GetOptions{})
		g.Expect(errors.Is(err, syscall.ECONNREFUSED)).To(BeTrue(), "%v", err)
		_, err = c.PauseAPIServer()
		g.Expect(err).To(HaveOccurred())
		g.Expect(running([]int{before.PID, before.Components["etcd"], before.Components["kube-controller-manager"]})).To(HaveLen(3))
	})

	t.Run("a restarted API server has its address and its data", func(t *testing.T) {
		g := NewWithT(t)
		for range 2 { // from stopped, and from running
			g.Expect(c.RestartAPIServer(t.Context())).To(Succeed())
			g.Expect(maps.Get(t.Context(), "kept", metav1.GetOptions{})).Error().NotTo(HaveOccurred())
		}
		now := c.control.latest()
		g.Expect(now.Server).To(Equal(before.Server))
		g.Expect(now.Components["etcd"]).To(Equal(before.Components["etcd"]))
		g.Expect(now.Components[apiServer]).NotTo(Equal(before.Components[apiServer]))
	})

	t.Run("a second cluster in the same folder is refused", func(t *testing.T) {
		_, err := Start(t.Context(), Options{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "another cluster runs in it") {
			t.Errorf("error = %v", err)
		}
	})

	t.Run("stop leaves no process, but the folder", func(t *testing.T) {
		pids := processes(t, c)
		for range 2 {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		}
		if left := running(pids); len(left) > 0 {
			t.Errorf("still running: %v", left)
		}
		if err := c.RestartAPIServer(t.Context()); err == nil {
			t.Error("the API server of a stopped cluster was restarted")
		}
	})

	t.Run("a start in the same folder brings the cluster back, with its controllers", func(t *testing.T) {
		g := NewWithT(t)
		kubeconfig, err := os.ReadFile(c.Kubeconfig)
		g.Expect(err).NotTo(HaveOccurred())
		again := start(t, Options{Dir: dir})
		g.Expect(os.ReadFile(again.Kubeconfig)).To(Equal(kubeconfig))
		kept, err := maps.Get(t.Context(), "kept", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())

		g.Expect(client(t, again).CoreV1().Namespaces().Delete(t.Context(), kept.Namespace, metav1.DeleteOptions{})).To(Succeed())
		g.Eventually(func() ([]string, error) { return namespacesLike(t, again, kept.Namespace) }, soon, often).Should(BeEmpty())
		g.Expect(again.Stop()).To(Succeed())
	})
}

func TestStop_leavesNothingOfAnEphemeralCluster(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	pids := processes(t, c)
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if left := running(pids); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there (%v)", err)
	}
}

func TestStart_withABadFlagFailsAtOnceAndShowsWhy(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	tests := []struct {
		name    string
		options Options
		wantErr []string
	}{
		{
			name:    "of the API server",
			options: Options{APIServerArgs: []string{"--no-such-flag"}},
			wantErr: []string{"kube-apiserver ended with exit status 1", "unknown flag: --no-such-flag"},
		},
		{
			name:    "of the controller manager",
			options: Options{ControllerManagerArgs: []string{"--controllers=no-such-controller"}},
			wantErr: []string{"kube-controller-manager ended with exit status 1", "no-such-controller"},
		},
		{
			name:    "of both, as a feature gate",
			options: Options{FeatureGates: []string{"NoSuchGate=true"}},
			wantErr: []string{"kube-apiserver ended with exit status 1", "NoSuchGate"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
			defer cancel()
			_, err := Start(ctx, tt.options)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.wantErr {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in the error:\n%v", want, err)
				}
			}
		})
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestStart_givesUpWithItsContextAndLeavesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, Options{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want that of the context", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestCluster_endsWholeWhenOneProcessIsKilled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		pid     func(status) int
		wantErr string // of Stop
	}{
		{
			name:    "the supervisor",
			pid:     func(s status) int { return s.PID },
			wantErr: "localcluster ended with signal: killed",
		},
		{
			name:    "a component",
			pid:     func(s status) int { return s.Components["kube-controller-manager"] },
			wantErr: "kube-controller-manager ended with signal: killed",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			c := start(t, Options{})
			pids := processes(t, c)
			g.Expect(syscall.Kill(tt.pid(c.control.latest()), syscall.SIGKILL)).To(Succeed())
			g.Eventually(func() []int { return running(pids) }, soon, often).Should(BeEmpty())
			g.Expect(c.Stop()).To(MatchError(ContainSubstring(tt.wantErr)))
			_, err := os.Stat(c.Dir)
			g.Expect(err).To(MatchError(os.ErrNotExist))
		})
	}
}

// victimVariable makes this test binary start a cluster, tell of it and wait to be killed.
const victimVariable = "HOLDFAST_TEST_VICTIM"

func TestCluster_endsWithAKilledTest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	test := exec.CommandContext(t.Context(), self)
	test.Env = append(os.Environ(), victimVariable+"=yes")
	test.Stderr = os.Stderr
	output, err := test.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(test.Start()).To(Succeed())

	lines := bufio.NewScanner(output)
	g.Expect(lines.Scan()).To(BeTrue(), "the victim tells of its cluster")
	dir := lines.Text()
	var pids []int
	for range 4 {
		g.Expect(lines.Scan()).To(BeTrue())
		pid, err := strconv.Atoi(lines.Text())
		g.Expect(err).NotTo(HaveOccurred())
		pids = append(pids, pid)
	}
	g.Expect(running(pids)).To(HaveLen(4))

	g.Expect(test.Process.Kill()).To(Succeed())
	g.Eventually(func() []int { return running(pids) }, soon, often).Should(BeEmpty())
	g.Expect(os.Stat(dir)).Error().To(MatchError(os.ErrNotExist))
	g.Expect(test.Wait()).To(MatchError("signal: killed"))
}

// victim is the process that TestCluster_endsWithAKilledTest kills.
func victim() int {
	c, err := Start(context.Background(), Options{}) //nolint:forbidigo // this is no test
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	now := c.control.latest()
	fmt.Println(now.Dir)
	fmt.Println(now.PID)
	for _, pid := range now.Components {
		fmt.Println(pid)
	}
	<-c.control.(*supervisor).done
	return 1
}

func TestOptions_becomeFlags(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		options Options
		want    []string
	}{
		{
			name: "the zero value is an ephemeral cluster",
			want: []string{"run", "--until-eof", "--ephemeral"},
		},
		{
			name:    "what is repeated stays in order, and a folder is not removed",
			options: Options{Dir: "d", FeatureGates: []string{"A=true", "B=true"}, APIServerArgs: []string{"--v=4"}},
			want:    []string{"run", "--until-eof", "--dir", "d", "--feature-gates", "A=true", "--feature-gates", "B=true", "--apiserver-arg", "--v=4"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.options.args()); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func namespacesLike(t *testing.T, c *Cluster, name string) ([]string, error) {
	t.Helper()
	list, err := client(t, c).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}
