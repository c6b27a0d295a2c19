// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// takeAway removes from an existing cluster what was made there.
func (s *stage) takeAway(ctx context.Context) error {
	if err := manager.StopEnforcing(ctx, s.cluster); err != nil {
		return err
	}
	// The API server goes by its policies for a moment after they are deleted.
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, stopTimeout, true, func(ctx context.Context) (bool, error) {
		last = s.clear(ctx)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return manager.Uninstall(ctx, s.cluster)
}

// clear deletes the namespaces of the story, and what trees took.
func (s *stage) clear(ctx context.Context) error {
	commands := [][]string{{"delete", "namespace", s.namespace, "--ignore-not-found"}}
	if s.place().tellsTrees() {
		if err := s.letGo(ctx); err != nil {
			return err
		}
		commands = append([][]string{{"delete", "namespaces", "-l", s.namespace + hncv1alpha2.LabelTreeDepthSuffix}}, commands...)
		commands = append(commands, append([]string{"delete", "--ignore-not-found"}, forest...))
	}
	for _, args := range commands {
		if _, err := manager.Kubectl(ctx, s.cluster, args...); err != nil {
			return err
		}
	}
	return nil
}

// letGo takes the finalizers off what trees are made of, which nobody does any more
// without Holdfast.
func (s *stage) letGo(ctx context.Context) error {
	for _, resource := range []string{hncv1alpha2.ResourceSubnamespaceAnchors, hncv1alpha2.ResourceHierarchyConfigurations} {
		resource += "." + hncv1alpha2.GroupName
		crd, err := manager.Kubectl(ctx, s.cluster, "get", "crd", resource, "--ignore-not-found", "-o", "name")
		if err != nil {
			return err
		}
		if crd == "" {
			continue
		}
		all, err := manager.Kubectl(ctx, s.cluster, "get", resource, "-A", "-o", `jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}`)
		if err != nil {
			return err
		}
		for one := range strings.FieldsSeq(all) {
			namespace, name, _ := strings.Cut(one, "/")
			if _, err := manager.Kubectl(ctx, s.cluster, "patch", resource, name, "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`); err != nil {
				return err
			}
		}
	}
	return nil
}

// treesOf says what a cluster has of trees of namespaces; nothing if it has none.
func treesOf(ctx context.Context, c *cluster.Cluster) (string, error) {
	crds, err := manager.Kubectl(ctx, c, "get", "crds", "-o", `jsonpath={range .items[?(@.spec.group=="`+hncv1alpha2.GroupName+`")]}{.metadata.name} {end}`)
	if err != nil {
		return "", err
	}
	rights, err := manager.Kubectl(ctx, c, append([]string{"get", "--ignore-not-found", "-o", "name"}, forest[2:]...)...)
	if err != nil {
		return "", err
	}
	// Holdfast would take labels away that nothing says.
	namespaces, err := manager.Kubectl(ctx, c, "get", "namespaces", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.metadata.labels}{.metadata.annotations}{"\n"}{end}`)
	if err != nil {
		return "", err
	}
	found := append(strings.Fields(crds), strings.Fields(rights)...)
	for line := range strings.Lines(namespaces) {
		if name, meta, _ := strings.Cut(line, " "); strings.Contains(meta, hncv1alpha2.GroupName+"/") {
			found = append(found, "namespace/"+name)
		}
	}
	return strings.Join(found, ", "), nil
}
