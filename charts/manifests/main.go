// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Manifests writes the plain manifests in config/ from the chart, so that what Helm,
// Argo CD, Flux and kubectl install is the same. Its argument is the root of the
// repository.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/charts/render"
)

// manifest is a file that is made from some templates.
type manifest struct {
	path      string
	about     string
	values    string
	templates []string
}

const (
	head    = "# Made from charts/holdfast by \"make generate\": change it there.\n"
	nowhere = "workloads: false\n"
)

var manifests = []manifest{
	{path: "install/anchor.yaml", values: nowhere, templates: []string{"anchor.yaml"}},
	{path: "install/configuration.yaml", values: nowhere, templates: []string{"configuration.yaml"}},
	{path: "install/guard.yaml", values: nowhere, templates: []string{"guard/account.yaml", "guard/rbac.yaml"}},
	{path: "rbac/hierarchy.yaml", values: nowhere + "configuration: {hierarchy: {mode: Enforce}}", templates: []string{"guard/hierarchy.yaml"}},
	{path: "rbac/serviceaccounts.yaml", values: nowhere + "configuration: {serviceAccounts: {mode: Enforce}}", templates: []string{"guard/serviceaccounts.yaml"}},
	{path: "rbac/sync.yaml", values: nowhere + "sync: {enabled: true}", templates: []string{"sync/rbac.yaml"}},
	{
		path: "rbac/eviction-by-namespace.yaml",
		about: `# Rights for a guard that guards evictions alone, in a fixed list of namespaces,
# in place of those of config/install/guard.yaml. The configuration that goes with it:
#
#   deletion: {mode: "Off"}
#   eviction: {scope: {namespaces: [kafka-prod, kafka-dev]}}
#
# The names of the namespaces stand in three places here: in the resourceNames
# below, and as the namespaces of a Role and a RoleBinding for each. What is for the feature gate
# EvictionRequestResponder can be left out without it.
`,
		values: nowhere + `
configuration:
  featureGates: {EvictionRequestResponder: true}
  deletion: {mode: "Off"}
  eviction: {scope: {namespaces: [kafka-prod, kafka-dev]}}
`,
		templates: []string{"guard/rbac.yaml"},
	},
	{
		path:      "workloads/guard.yaml",
		about:     "# Runs the guard in the cluster, beside config/install.\n",
		templates: []string{"guard/deployment.yaml", "guard/service.yaml", "guard/disruptionbudget.yaml", "guard/networkpolicy.yaml"},
	},
	{
		path:      "workloads/sync.yaml",
		about:     "# Runs the sync in the cluster, beside config/install and config/rbac/sync.yaml.\n",
		values:    "sync: {enabled: true}",
		templates: []string{"sync/deployment.yaml", "sync/service.yaml", "sync/disruptionbudget.yaml", "sync/networkpolicy.yaml"},
	},
}

func main() { os.Exit(start()) }

func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: manifests ROOT")
	}
	config := filepath.Join(args[0], "config")
	chart := filepath.Join(args[0], "charts", "holdfast")
	// A chart can read no file beyond its own folder.
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join(config, "monitoring", name))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(chart, "files", name), string(text)); err != nil {
			return err
		}
	}
	for _, m := range manifests {
		text, err := m.render(ctx, chart)
		if err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		if err := write(filepath.Join(config, m.path), text); err != nil {
			return err
		}
	}
	return nil
}

func (m manifest) render(ctx context.Context, dir string) (string, error) {
	chart, err := render.Load(dir)
	if err != nil {
		return "", err
	}
	rendered, err := render.Chart(ctx, chart, m.values)
	if err != nil {
		return "", err
	}
	for _, name := range m.templates {
		if rendered[name] == "" {
			return "", fmt.Errorf("the template %s makes nothing", name)
		}
	}
	about := head
	if m.about != "" {
		about += "#\n" + m.about
	}
	return about + "---\n" + rendered.Text(m.templates...), nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
