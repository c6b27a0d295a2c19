// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/charts/render"
)

// helm is Helm in the hands of an administrator, for the release of Holdfast. It waits for no
// workload, because on a cluster without nodes none becomes ready.
type helm struct {
	t      testing.TB
	config *action.Configuration
	said   bytes.Buffer
}

const release = "holdfast"

func newHelm(t testing.TB, e *testkit.Env) *helm {
	t.Helper()
	h := &helm{t: t}
	flags := genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.QPS = -1 // no limit
		c.WarningHandler = rest.NewWarningWriter(&h.said, rest.WarningWriterOptions{})
		return c
	})
	namespace, cache := render.Namespace, t.TempDir()
	flags.KubeConfig, flags.Namespace, flags.CacheDir = &e.Kubeconfig, &namespace, &cache
	h.config = action.NewConfiguration(action.ConfigurationSetLogger(slog.NewTextHandler(&h.said, nil)))
	if err := h.config.Init(flags, render.Namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return h
}

// mustInstall installs the release, or upgrades it.
func (h *helm) mustInstall(values string) {
	h.t.Helper()
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		h.t.Fatal(err)
	}
	var err error
	if _, none := h.config.Releases.Last(release); none != nil {
		install := action.NewInstall(h.config)
		install.ReleaseName, install.Namespace, install.WaitStrategy = release, render.Namespace, kube.HookOnlyStrategy
		_, err = install.RunWithContext(h.t.Context(), load(h.t), given)
	} else {
		upgrade := action.NewUpgrade(h.config)
		upgrade.Namespace, upgrade.WaitStrategy, upgrade.ResetValues = render.Namespace, kube.HookOnlyStrategy, true
		_, err = upgrade.RunWithContext(h.t.Context(), release, load(h.t), given)
	}
	if err != nil {
		h.t.Fatalf("helm: %v\n%s", err, &h.said)
	}
}

func (h *helm) mustUninstall() {
	h.t.Helper()
	if err := h.uninstall(); err != nil {
		h.t.Fatalf("helm uninstall: %v\n%s", err, &h.said)
	}
}

func (h *helm) uninstall() error {
	uninstall := action.NewUninstall(h.config)
	uninstall.WaitStrategy = kube.HookOnlyStrategy
	_, err := uninstall.Run(release)
	return err
}
