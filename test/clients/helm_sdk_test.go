// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

// helm is Helm in the hands of one user, for one release named web.
type helm struct {
	t      testing.TB
	ns     string
	config *action.Configuration
	// shown is what the command line would log, and debug what it would with
	// --debug.
	shown, debug bytes.Buffer
	// warned is what the API server warned of; the command line prints that on
	// stderr, as every client does that leaves client-go as it is.
	warned bytes.Buffer
}

const release = "web"

func newHelm(t testing.TB, e *testkit.Env, ns, user string) *helm {
	t.Helper()
	h := &helm{t: t, ns: ns}
	flags := genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.QPS = -1 // no limit
		c.WarningHandler = rest.NewWarningWriter(&h.warned, rest.WarningWriterOptions{})
		return c
	})
	cache := t.TempDir()
	flags.KubeConfig, flags.Impersonate, flags.Namespace, flags.CacheDir = &e.Kubeconfig, &user, &ns, &cache
	h.config = action.NewConfiguration(action.ConfigurationSetLogger(slog.NewMultiHandler(
		slog.NewTextHandler(&h.shown, &slog.HandlerOptions{Level: slog.LevelInfo}),
		slog.NewTextHandler(&h.debug, &slog.HandlerOptions{Level: slog.LevelDebug}),
	)))
	if err := h.config.Init(flags, ns, "secret"); err != nil {
		t.Fatal(err)
	}
	return h
}

func chart(manifests ...string) *chartv2.Chart {
	return &chartv2.Chart{
		Metadata:  &chartv2.Metadata{APIVersion: chartv2.APIVersionV2, Name: "shop", Version: "1.0.0"},
		Templates: []*common.File{{Name: "templates/all.yaml", Data: []byte(strings.Join(manifests, "\n---\n"))}},
	}
}

func (h *helm) mustInstall(manifests ...string) {
	h.t.Helper()
	install := action.NewInstall(h.config)
	install.ReleaseName, install.Namespace, install.WaitStrategy = release, h.ns, kube.HookOnlyStrategy
	if _, err := install.RunWithContext(h.t.Context(), chart(manifests...), nil); err != nil {
		h.t.Fatalf("install: %v", err)
	}
}

func (h *helm) upgrade(manifests ...string) error {
	upgrade := action.NewUpgrade(h.config)
	upgrade.Namespace, upgrade.WaitStrategy = h.ns, kube.HookOnlyStrategy
	_, err := upgrade.RunWithContext(h.t.Context(), release, chart(manifests...), nil)
	return err
}

func (h *helm) uninstall() error {
	uninstall := action.NewUninstall(h.config)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	_, err := uninstall.Run(release)
	return err
}

func (h *helm) rollback(revision int) error {
	rollback := action.NewRollback(h.config)
	rollback.Version, rollback.WaitStrategy = revision, kube.HookOnlyStrategy
	return rollback.Run(release)
}

// history is what "helm history" prints: a line for each revision.
func (h *helm) history() []string {
	h.t.Helper()
	revisions, err := h.config.Releases.History(release)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	if err != nil {
		h.t.Fatal(err)
	}
	var out []string
	for _, revision := range revisions {
		r, ok := revision.(*releasev1.Release)
		if !ok {
			h.t.Fatalf("Helm stores releases as %T", revision)
		}
		out = append(out, fmt.Sprintf("%d %s: %s", r.Version, r.Info.Status, r.Info.Description))
	}
	slices.Sort(out) // by revision; there are fewer than ten
	return out
}
