// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

const (
	treesFeature    = "trees"
	syncFeature     = "sync"
	accountsFeature = "serviceaccounts"

	sample = "sample"
)

// features are those of Holdfast that up turns on beside the guards against deletions and evictions, which are always on.
type features []string

var allFeatures = features{treesFeature, syncFeature, accountsFeature}

// parseFeatures reads a list with commas, or "all".
func parseFeatures(list string) (features, error) {
	var out features
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		switch {
		case name == "all":
			out = append(out, allFeatures...)
		case slices.Contains(allFeatures, name):
			out = append(out, name)
		default:
			return nil, fmt.Errorf("there is no feature %q: use all, or some of %s with commas between them", name, strings.Join(allFeatures, ", "))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (f features) has(name string) bool { return slices.Contains(f, name) }

// files are the arguments of the kubectl that installs what the features take.
func (f features) files() []string {
	var out []string
	if f.has(treesFeature) {
		out = append(out, forest...)
	}
	if f.has(syncFeature) {
		out = append(out, syncFiles...)
	}
	if f.has(accountsFeature) {
		out = append(out, accountFiles...)
	}
	return out
}

// configuration is the one of Holdfast that turns them on.
func (f features) configuration() string {
	lines := []string{"apiVersion: config.holdfast.dev/v1alpha1", "kind: HoldfastConfiguration"}
	if f.has(treesFeature) {
		lines = append(lines, "hierarchy: {mode: Enforce}")
	}
	if f.has(syncFeature) {
		lines = append(lines, "rootSync: {allowFileSources: true}")
	}
	if f.has(accountsFeature) {
		lines = append(lines, "serviceAccounts: {mode: Enforce}", "featureGates: {ServiceAccountPatching: true}")
	}
	return strings.Join(lines, "\n") + "\n"
}

// install applies the kinds, the rights and the configuration of features, before the manager starts.
func (s *stage) install(ctx context.Context, f features) error {
	if len(f) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"config.yaml": f.configuration()}})
	if err != nil {
		return fmt.Errorf("encode the configuration: %w", err)
	}
	for _, args := range [][]string{
		append([]string{"apply", "--server-side"}, f.files()...),
		{"patch", "configmap", "holdfast", "-n", manager.Namespace, "--type=merge", "-p", string(patch)},
	} {
		if said, code, err := s.kubectl(ctx, "", args...); err != nil || code != 0 {
			return fmt.Errorf("install %s: kubectl %s: %w: %s", strings.Join(f, ", "), args[0], err, said)
		}
	}
	return nil
}

// startSample starts the workload that syncs, and makes a repository for it, with the manifest of a RootSync.
func (s *stage) startSample(ctx context.Context) error {
	if err := commit(ctx, s.dir, sample, strings.ReplaceAll(declares+"---\n"+greeting(sample, "Git"), common, sample)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.dir, "rootsync.yaml"), []byte(rootSync(s.dir, sample)), 0o600); err != nil {
		return fmt.Errorf("write the manifest of a RootSync: %w", err)
	}
	return s.runSync(ctx)
}
