// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package operators

import (
	"fmt"
	"os"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
)

// requests has every request that writes.
var requests *auditlog.Log

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "holdfast-operators-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	log, options, err := auditlog.New(dir, auditv1.PolicyRule{Level: auditv1.LevelMetadata, Verbs: []string{"create", "update", "patch", "delete"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	requests = log
	return testkit.RunWith(m, testkit.Options{
		Cluster: options,
		Manifests: []string{
			"internal/testkit/strimzi/crds.yaml", "test/operators/testdata/strimzi.yaml",
			"internal/testkit/cnpg/crds.yaml", "test/operators/testdata/cloudnativepg.yaml",
		},
	})
}
