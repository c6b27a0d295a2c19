// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"os"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
)

// requests has every delete that was asked for.
var requests *auditlog.Log

// TestMain shares a cluster on which all features are on.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "holdfast-attack-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	log, options, err := auditlog.New(dir, auditv1.PolicyRule{Level: auditv1.LevelMetadata, Verbs: []string{"delete"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	requests = log
	o := installed
	o.Cluster = options
	return testkit.RunWith(m, o)
}

// installed is Holdfast as the tests have it.
var installed = testkit.Options{
	Manifests: []string{"config/crd/hnc", "config/rbac/hierarchy.yaml", "config/rbac/serviceaccounts.yaml"},
	Configuration: `
deletion: {mode: Enforce}
eviction: {mode: Enforce}
hierarchy: {mode: Enforce, brake: {percent: 100}}
serviceAccounts: {mode: Enforce}
`,
}
