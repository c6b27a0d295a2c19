// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package runbooks has each page of docs/runbooks happen on a real control plane: the
// failure, what users see of it, the commands of the page, and its end.
package runbooks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
	"github.com/holdfast-dev/holdfast/internal/testkit/page"
)

const (
	root = "../.."

	see    = "What you see"
	do     = "What to do"
	isOver = "See that it is over"
)

// patient is for pages on which nothing is said of leaders: no pause ends one.
var patient = []string{"--leader-elect-lease-duration=2m", "--leader-elect-renew-deadline=100s"}

// book is a cluster on which the pages happen one after the other.
type book struct {
	*testkit.Env
	reader page.Reader
	// options of the cluster, to start it again; its folder stays.
	options cluster.Options
	// webhooks is where all managers are reached, in turn, as pods are behind a Service.
	webhooks string
}

func open(t *testing.T) *book {
	t.Helper()
	b := &book{options: cluster.Options{Dir: filepath.Join(t.TempDir(), "cluster"), Progress: os.Stderr}, webhooks: loopback.FreeAddress(t)}
	b.Env = testkit.New(t, testkit.Options{Cluster: b.options, NoManager: true, ManagerArgs: []string{
		"--webhook-bind-address", b.webhooks, "--webhook-url", "https://" + b.webhooks,
	}})
	b.reader = b.Reader(t)
	return b
}

// start starts a manager that ends with the test, in order, so that the next one leads at
// once.
func (b *book) start(t *testing.T, args ...string) *manager.Process {
	t.Helper()
	p := b.StartManager(t, args...)
	t.Cleanup(func() { _ = p.Stop() })
	b.Manager = p
	b.ready(t)
	return p
}

// ready waits until all rules are in force, and whoever leads says so.
func (b *book) ready(t *testing.T) {
	t.Helper()
	if err := b.WaitEnforced(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.done(t, "wait", "--for=create", "holdfast/holdfast", "--timeout=180s")
	b.done(t, "wait", "--for=condition=Ready", "holdfast/holdfast", "--timeout=180s")
}

// with is a reader who has set variables of the page.
func (b *book) with(variables ...string) page.Reader {
	r := b.reader
	r.Env = append(slices.Clip(r.Env), variables...)
	return r
}

// done runs kubectl, which must succeed.
func (b *book) done(t *testing.T, args ...string) string {
	t.Helper()
	out := b.Kubectl(t, args...)
	if out.Code != 0 {
		t.Fatalf("kubectl %s: %s", strings.Join(args, " "), out.Stderr)
	}
	return out.Stdout
}

// refused runs kubectl, which must fail, and returns what it says.
func (b *book) refused(t *testing.T, args ...string) string {
	t.Helper()
	out := b.Kubectl(t, args...)
	if out.Code == 0 {
		t.Fatalf("kubectl %s is not refused: %s", strings.Join(args, " "), out.Stdout)
	}
	return out.Stderr
}

// kept makes a namespace with the protected ConfigMap "kept".
func (b *book) kept(t *testing.T) string {
	t.Helper()
	ns := b.Namespace(t)
	b.Apply(t, ns, "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, labels: {holdfast.dev/deletion-protected: Always}}}")
	return ns
}

// deletedNamespace is what somebody sees who deletes a namespace that holds nothing.
func (b *book) deletedNamespace(t *testing.T) string {
	t.Helper()
	return b.refused(t, "delete", "namespace", b.Namespace(t))
}

// isGuarded says that the policies hold, and that nothing else is in anybody's way.
func (b *book) isGuarded(t *testing.T, ns string) {
	t.Helper()
	if said := b.refused(t, "delete", "-n", ns, "configmap/kept"); !strings.Contains(said, "is protected from deletion") {
		t.Errorf("what is protected: %s", said)
	}
	b.done(t, "create", "-n", ns, "configmap", "loose")
	b.done(t, "delete", "-n", ns, "configmap", "loose")
}

// leader is who holds the lease.
func (b *book) leader(t *testing.T) string {
	t.Helper()
	return b.done(t, "get", "lease", "holdfast-guard", "-n", "holdfast-system", "-o", "jsonpath={.spec.holderIdentity}")
}

// eventually is for what takes as long as it takes.
func eventually[T any](t *testing.T, look func() T) gomega.AsyncAssertion {
	t.Helper()
	return gomega.NewWithT(t).Eventually(look, "180s", "200ms")
}

// Every page is tried, and found in the index.
func TestRunbooks_areAllTriedAndInTheIndex(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(root + "/docs/runbooks/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(root + "/docs/runbooks/*.md")
	if err != nil || len(files) < 2 {
		t.Fatalf("no pages: %v", err)
	}
	tried := map[string]bool{}
	for _, p := range pages {
		tried[p.file] = true
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == "README.md" {
			continue
		}
		if !tried[name] {
			t.Errorf("%s is not tried", name)
		}
		if !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("%s is not in the index", name)
		}
	}
	if got := len(files) - 1; got != len(pages) {
		t.Errorf("%d pages are tried, and there are %d", len(pages), got)
	}
}
