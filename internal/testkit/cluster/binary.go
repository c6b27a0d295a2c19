// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/testkit/nested"
)

const (
	program     = "localcluster"
	kubectlName = "kubectl"

	// VersionVariable names another minor version of Kubernetes than the one of the nested
	// module's go.mod, such as 1.36: one of which it has a kubernetes-VERSION.mod.
	VersionVariable = "HOLDFAST_KUBERNETES"
)

// Binary returns the path of the localcluster binary, building it into the cache first if it is not
// there, which takes minutes and is reported to progress. A link named kubectl lies beside it. However
// many processes call Binary at once, one builds and the others wait for it.
func Binary(ctx context.Context, progress io.Writer) (string, error) {
	return localcluster().Binary(ctx, progress)
}

func localcluster() nested.Program {
	p := nested.Program{Name: program, About: "a Kubernetes control plane", LinkerFlags: versionFlags, Links: []string{kubectlName}}
	if version := os.Getenv(VersionVariable); version != "" {
		p.About += " of version " + version
		p.ModFile, p.Tags = "kubernetes-"+version+".mod", "kubernetes_"+strings.ReplaceAll(version, ".", "_")
	}
	return p
}

// versionFlags are the flags of the linker that say what the components report as their version, which is
// that of the Kubernetes that the nested module requires.
func versionFlags(module *nested.Module) ([]string, error) {
	version, err := module.Requires("k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 3 {
		return nil, errors.New("it requires no version of Kubernetes")
	}
	var flags []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, set := range []string{
			"gitVersion=" + version, "gitMajor=" + parts[0], "gitMinor=" + parts[1],
			"gitCommit=", // unknown here; unset it is an unexpanded placeholder
		} {
			flags = append(flags, "-X "+pkg+"."+set)
		}
	}
	return flags, nil
}
