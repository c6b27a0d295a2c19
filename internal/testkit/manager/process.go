// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
)

const (
	readyTimeout = 180 * time.Second
	stopTimeout  = 20 * time.Second
	logTail      = 4 << 10
	// scheme of the URL of webhooks.
	scheme = "https://"
)

// Workload is one of the two that the manager runs as, each under its own identity.
type Workload string

// The workloads.
const (
	Guard Workload = "guard"
	Sync  Workload = "sync"
)

// Options of a manager process.
type Options struct {
	// Workload is Guard if it is empty.
	Workload Workload
	// Binary of the manager; see Build.
	Binary string
	// Dir for its kubeconfig and log; it must exist.
	Dir string
	// Args beside those that every local manager needs.
	Args []string
	// Env is added to the environment of this process, as NAME=value.
	Env []string
	// Webhooks is that of an earlier process, whose place this one takes for the API
	// server, as pods do behind a Service; if empty an address is chosen.
	Webhooks string
	// NotReady returns from Start without waiting for readiness.
	NotReady bool
}

// Process is a running manager.
type Process struct {
	// LogFile has what the manager wrote, and Kubeconfig who it is, also when it has ended.
	LogFile, Kubeconfig string
	// Metrics and Probes are base URLs; Webhooks is the one that the API server
	// was given.
	Metrics, Probes, Webhooks string

	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start runs a manager against a cluster that Holdfast is installed on, and
// returns when it is ready. Its webhooks are reached by URL, as in remote mode.
// The process ends with this one.
func Start(ctx context.Context, c *cluster.Cluster, o Options) (*Process, error) {
	admin, err := c.RestConfig()
	if err != nil {
		return nil, err
	}
	kubeconfig, err := writeKubeconfig(ctx, admin, cmp.Or(o.Workload, Guard), o.Dir)
	if err != nil {
		return nil, err
	}
	addresses, err := loopback.FreeAddresses(3)
	if err != nil {
		return nil, err
	}
	if o.Webhooks != "" {
		addresses[0] = strings.TrimPrefix(o.Webhooks, scheme)
	}
	p := &Process{
		LogFile:    filepath.Join(o.Dir, "manager-"+strings.ReplaceAll(addresses[2], ":", "-")+".log"),
		Kubeconfig: kubeconfig,
		Webhooks:   scheme + addresses[0],
		Metrics:    "http://" + addresses[1],
		Probes:     "http://" + addresses[2],
		done:       make(chan struct{}),
	}
	log, err := os.Create(p.LogFile)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	defer log.Close()
	args := []string{
		string(cmp.Or(o.Workload, Guard)),
		"--kubeconfig", kubeconfig,
		"--config-map", "holdfast",
		"--metrics-bind-address", addresses[1],
		"--health-probe-bind-address", addresses[2],
	}
	if o.Workload != Sync {
		args = append(args, "--webhook-bind-address", addresses[0], "--webhook-url", p.Webhooks)
	}
	p.cmd = exec.Command(o.Binary, append(args, o.Args...)...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = append(os.Environ(), o.Env...)
	p.cmd.SysProcAttr = endWithParent()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start manager: %w", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	if o.NotReady {
		return p, nil
	}
	if err := p.waitReady(ctx); err != nil {
		_ = p.Kill()
		return nil, err
	}
	return p, nil
}

func (p *Process) waitReady(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.done:
			return false, fmt.Errorf("it ended: %w", p.err)
		default:
		}
		return p.Ready(ctx) == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for manager to be ready: %w; its log ends:\n%s", err, p.LogTail())
	}
	return nil
}

// Ready asks /readyz.
func (p *Process) Ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Probes+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, logTail))
		return fmt.Errorf("readyz: %s: %s", resp.Status, body)
	}
	return nil
}

// PID of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended says how the process has ended, after Done.
func (p *Process) Ended() error {
	<-p.done
	return p.err
}

// Kill ends the process without any chance to clean up, as a crash does.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

// Stop asks the process to end, as a kubelet does.
func (p *Process) Stop() error { return p.end(syscall.SIGTERM) }

func (p *Process) end(s syscall.Signal) error {
	err := p.cmd.Process.Signal(s)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal manager: %w", err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		return fmt.Errorf("manager did not end within %s of %v; its log ends:\n%s", stopTimeout, s, p.LogTail())
	}
}

// LogTail is the end of the log.
func (p *Process) LogTail() string {
	data, err := os.ReadFile(p.LogFile)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-logTail):])
}
