// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package operators

import (
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
)

// requests has every request that writes.
var requests *auditlog.Log

func TestMain(m *testing.M) {
	os.Exit(auditlog.Run(m, testkit.Options{Manifests: []string{
		"internal/testkit/strimzi/crds.yaml", "test/operators/testdata/strimzi.yaml",
		"internal/testkit/cnpg/crds.yaml", "test/operators/testdata/cloudnativepg.yaml",
	}}, &requests, "create", "update", "patch", "delete"))
}
