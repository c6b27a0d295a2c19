// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
	"strings"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// The ways of access that Holdfast has.
var (
	gitBuilt = []configsyncv1beta1.Auth{configsyncv1beta1.AuthNone, configsyncv1beta1.AuthToken, configsyncv1beta1.AuthSSH}
	ociBuilt = []configsyncv1beta1.Auth{configsyncv1beta1.AuthNone, configsyncv1beta1.AuthToken}
)

// checkBuilt refuses what is right and not built. It comes last: whoever has to change
// the RootSync for Holdfast should not have to mend it afterwards.
func checkBuilt(rs *configsyncv1beta1.RootSync) *knv.Error {
	switch typeOf(&rs.Spec) {
	case configsyncv1beta1.SourceGit:
		if err := checkAuthBuilt("git", rs.Spec.Git.Auth, gitBuilt); err != nil {
			return err
		}
	case configsyncv1beta1.SourceOCI:
		if err := checkAuthBuilt("oci", rs.Spec.OCI.Auth, ociBuilt); err != nil {
			return err
		}
	default:
		return invalid("Holdfast does not sync Helm charts: commit what \"helm template\" writes, and set spec.sourceType to %q or %q",
			configsyncv1beta1.SourceGit, configsyncv1beta1.SourceOCI)
	}
	switch f := rs.Spec.SourceFormat; f {
	case configsyncv1beta1.FormatUnstructured:
		return nil
	case "":
		return invalid("spec.sourceFormat is not set, which means %q, and Holdfast does not read that format: set spec.sourceFormat to %q",
			configsyncv1beta1.FormatHierarchy, configsyncv1beta1.FormatUnstructured)
	default:
		return invalid("spec.sourceFormat is %q, and Holdfast does not read that format: set spec.sourceFormat to %q", f, configsyncv1beta1.FormatUnstructured)
	}
}

func checkAuthBuilt(source string, auth configsyncv1beta1.Auth, built []configsyncv1beta1.Auth) *knv.Error {
	if slices.Contains(built, auth) {
		return nil
	}
	names := make([]string, 0, len(built))
	for _, name := range built {
		names = append(names, fmt.Sprintf("%q", name))
	}
	last := len(names) - 1
	return invalid("spec.%s.auth is %q, which Holdfast does not have: set it to %s or %s", source, auth, strings.Join(names[:last], ", "), names[last])
}

// Ignored are the paths of the fields that are set and change nothing here, most of them
// because no reconciler has containers of its own.
func Ignored(rs *configsyncv1beta1.RootSync) []string {
	var out []string
	add := func(set bool, field string) {
		if set {
			out = append(out, field)
		}
	}
	if o := rs.Spec.Override; o != nil {
		// The tip of a branch is fetched alone: how it came about is of no use.
		revision := source(&rs.Spec).Revision
		add(o.GitSyncDepth != nil && (revision == "" || revision == DefaultRevision), "spec.override.gitSyncDepth")
		add(o.EnableShellInRendering != nil && *o.EnableShellInRendering, "spec.override.enableShellInRendering")
		add(len(o.LogLevels) > 0, "spec.override.logLevels")
		add(len(o.Resources) > 0, "spec.override.resources")
	}
	add(rs.Spec.Monitoring != nil, "spec.monitoring")
	return out
}
