// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd/annotate"
	"k8s.io/kubectl/pkg/cmd/apiresources"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/create"
	kubectldelete "k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/drain"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/label"
	"k8s.io/kubectl/pkg/cmd/patch"
	"k8s.io/kubectl/pkg/cmd/replace"
	"k8s.io/kubectl/pkg/cmd/scale"
	kubectlset "k8s.io/kubectl/pkg/cmd/set"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	kubectlwait "k8s.io/kubectl/pkg/cmd/wait"
)

// Output is what a command said.
type Output struct {
	Stdout, Stderr string
	Code           int
}

// Kubectl runs commands of the real kubectl as an administrator. They run inside of this process, which takes a tenth
// of the time that a process of its own takes; plugins and commands that are not in kubectlCommand need one, see
// StartKubectl.
func (e *Env) Kubectl(t testing.TB, args ...string) Output {
	t.Helper()
	return e.KubectlInput(t, "", args...)
}

// KubectlInput is Kubectl with something on standard input, which an argument "-" of its own stands for.
func (e *Env) KubectlInput(t testing.TB, stdin string, args ...string) Output {
	t.Helper()
	if at := slices.Index(args, "-"); at >= 0 && stdin != "" { // kubectl would read the process's own
		file, err := os.CreateTemp(e.dir, "stdin-*.yaml") // a test's own folder may have a comma, which separates files
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file.Name())
		_, err = file.WriteString(stdin)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		args = slices.Clone(args)
		args[at] = file.Name()
	}
	return e.KubectlOutput(args)
}

// kubectlExit is how kubectl ends a command, in the place of the process.
type kubectlExit struct {
	message string
	code    int
}

var kubectlExits = sync.OnceFunc(func() {
	kubectlutil.BehaviorOnFatal(func(message string, code int) { panic(kubectlExit{message, code}) })
})

// KubectlOutput is Kubectl for callers without a testing.TB.
func (e *Env) KubectlOutput(args []string) (out Output) {
	kubectlExits()
	var stdout, stderr Buffer
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.CacheDir = new(e.Kubeconfig), new(filepath.Join(e.dir, "kubectl"))
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.QPS = -1
		c.WarningHandler = rest.NewWarningWriter(&stderr, rest.WarningWriterOptions{Deduplicate: true})
		return c
	}
	cmd := kubectlCommand(flags, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr})
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	defer func() {
		if ended := recover(); ended != nil {
			exit, ok := ended.(kubectlExit)
			if !ok {
				panic(ended)
			}
			_, _ = stderr.Write([]byte(strings.TrimSuffix(exit.message, "\n") + "\n"))
			out.Code = exit.code
		}
		out.Stdout, out.Stderr = stdout.String(), stderr.String()
	}()
	kubectlutil.CheckErr(cmd.Execute())
	return out
}

// kubectlCommand has kubectl's own commands. The one that kubectl puts above them writes global variables, so that a
// process can have one only.
func kubectlCommand(flags *genericclioptions.ConfigFlags, s genericiooptions.IOStreams) *cobra.Command {
	const name = "kubectl"
	f := kubectlutil.NewFactory(kubectlutil.NewMatchVersionFlags(flags))
	root := &cobra.Command{Use: name, SilenceErrors: true, SilenceUsage: true}
	flags.AddFlags(root.PersistentFlags())
	root.AddCommand(
		annotate.NewCmdAnnotate(name, f, s), apiresources.NewCmdAPIResources(f, s), apply.NewCmdApply(name, f, s),
		create.NewCmdCreate(f, s), kubectldelete.NewCmdDelete(f, s), drain.NewCmdCordon(f, s), drain.NewCmdDrain(f, s),
		drain.NewCmdUncordon(f, s), get.NewCmdGet(name, f, s), label.NewCmdLabel(f, s), patch.NewCmdPatch(f, s),
		replace.NewCmdReplace(f, s), scale.NewCmdScale(f, s), kubectlset.NewCmdSet(f, s), kubectlwait.NewCmdWait(f, s),
	)
	return root
}

// Running is a kubectl that has been started.
type Running struct {
	cmd            *exec.Cmd
	stdout, stderr Buffer
	done           chan struct{}
	err            error // how it ended, when done is closed
}

// StartKubectl starts the real kubectl as an administrator, in a process of its own, and does not wait for its
// end.
func (e *Env) StartKubectl(t testing.TB, args ...string) *Running {
	t.Helper()
	r := &Running{done: make(chan struct{})}
	r.cmd = exec.CommandContext(t.Context(), e.Cluster.Kubectl, append([]string{"--kubeconfig", e.Kubeconfig}, args...)...)
	r.cmd.Env = append(os.Environ(), "KUBECONFIG=", "KUBECACHEDIR="+filepath.Join(e.dir, "kubectl"))
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatalf("run kubectl %s: %v", strings.Join(args, " "), err)
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	t.Cleanup(func() { <-r.done }) // it is killed with the test's context
	return r
}

// Stderr is what it has said there until now.
func (r *Running) Stderr() string { return r.stderr.String() }

// Wait waits for its end.
func (r *Running) Wait(t testing.TB) Output {
	t.Helper()
	<-r.done
	var exit *exec.ExitError
	if r.err != nil && !errors.As(r.err, &exit) {
		t.Fatalf("run %s: %v", strings.Join(r.cmd.Args, " "), r.err)
	}
	return Output{Stdout: r.stdout.String(), Stderr: r.stderr.String(), Code: r.cmd.ProcessState.ExitCode()}
}

// Buffer is a bytes.Buffer that goroutines may read and write at the same time.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the unread portion.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Apply creates or changes objects from YAML, and fails the test if it cannot.
func (e *Env) Apply(t testing.TB, namespace, yaml string) {
	t.Helper()
	if out := e.KubectlInput(t, yaml, "apply", "--server-side", "-n", namespace, "-f", "-"); out.Code != 0 {
		t.Fatalf("apply: %s\n%s", out.Stderr, yaml)
	}
}
