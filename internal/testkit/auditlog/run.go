// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"fmt"
	"os"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// Run runs the tests of a package as testkit.RunWith does, on a shared cluster that logs the requests with these verbs, and
// sets log to their log.
func Run(m *testing.M, o testkit.Options, log **Log, verbs ...string) int {
	dir, err := os.MkdirTemp("", "holdfast-audit-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		*log, o.Cluster, err = New(dir, auditv1.PolicyRule{Level: auditv1.LevelMetadata, Verbs: verbs})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return testkit.RunWith(m, o)
}
