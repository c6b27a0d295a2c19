// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

const (
	// Namespace that Holdfast is installed in.
	Namespace = "holdfast-system"
	// ServiceAccount of the guard.
	ServiceAccount = "holdfast-guard"

	// namespaceFile is beside what is installed, so that to uninstall that leaves it.
	namespaceFile = "config/namespaces/holdfast-system.yaml"
	// admissionKinds are those of the objects that the anchor owns.
	admissionKinds = "validatingadmissionpolicies,validatingadmissionpolicybindings,validatingwebhookconfigurations,mutatingwebhookconfigurations"
	managed        = "app.kubernetes.io/managed-by=holdfast"
)

// InstallArgs are the arguments of the kubectl that installs Holdfast, for a
// working directory at the root of the module.
var InstallArgs = []string{"apply", "--server-side", "-f", namespaceFile, "-f", "config/crd", "-f", "config/install"}

// Install applies Holdfast's manifests, as InstallArgs do.
func Install(ctx context.Context, c *cluster.Cluster) error {
	if err := Apply(ctx, c, namespaceFile, "config/crd", "config/install"); err != nil {
		return fmt.Errorf("install Holdfast: %w", err)
	}
	return nil
}

// RefuseInstalled fails if anything of Holdfast is on the cluster, so that
// nobody's Holdfast is changed here and whatever is found later is ours to take
// away.
func RefuseInstalled(ctx context.Context, c *cluster.Cluster) error {
	found, err := Kubectl(ctx, c, "get", "--ignore-not-found", "-o", "name", "-f", namespaceFile, "-f", "config/crd", "-f", "config/install")
	if err == nil && found == "" {
		found, err = Kubectl(ctx, c, "get", admissionKinds, "-l", managed, "-o", "name")
	}
	if err != nil {
		return fmt.Errorf("look for Holdfast on the cluster of %s: %w", c.Kubeconfig, err)
	}
	if found == "" {
		return nil
	}
	return fmt.Errorf("on the cluster of %s Holdfast is installed already: it has %s; take another cluster, or none for a local one. "+
		"If nobody needs that Holdfast, which ends ALL of its protection: "+
		"%s, and then kubectl delete --ignore-not-found -f config/install -f config/crd -f "+namespaceFile,
		c.Kubeconfig, strings.Join(strings.Fields(found), ", "), admission.StopCommands)
}

// StopEnforcing deletes the anchor and waits until the garbage collector has deleted what it owned. It works with the
// manager dead or alive.
func StopEnforcing(ctx context.Context, c *cluster.Cluster) error {
	for _, args := range [][]string{
		{"annotate", "clusterrole", "--field-selector=metadata.name=" + admission.AnchorName, v1alpha1.StopAnnotation + "=" + admission.AnchorName},
		{"delete", "clusterrole", admission.AnchorName, "--ignore-not-found"},
		{"wait", "--for=delete", admissionKinds, "-l", managed, "--timeout=60s"},
	} {
		if _, err := Kubectl(ctx, c, args...); err != nil {
			return fmt.Errorf("stop Holdfast: %w", err)
		}
	}
	return nil
}

// Uninstall deletes what Install applied, after StopEnforcing.
func Uninstall(ctx context.Context, c *cluster.Cluster) error {
	if _, err := Kubectl(ctx, c, "delete", "--ignore-not-found", "-f", "config/install", "-f", "config/crd", "-f", namespaceFile); err != nil {
		return fmt.Errorf("uninstall Holdfast: %w", err)
	}
	return nil
}

// Kubectl runs kubectl as an administrator at the root of the module and returns
// its output.
func Kubectl(ctx context.Context, c *cluster.Cluster, args ...string) (string, error) {
	root, err := cluster.ModuleRoot()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, c.Kubectl, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
