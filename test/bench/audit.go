// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
	"github.com/holdfast-dev/holdfast/internal/testkit/manager"
)

// auditLog is the API server's log of what the manager asks it about pods.
type auditLog struct{ file string }

// newAuditLog returns the options of a cluster that writes one.
func newAuditLog(dir string) (*auditLog, cluster.Options, error) {
	policy := filepath.Join(dir, "audit-policy.json")
	text := `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived", "ResponseStarted"], "rules": [
		{"level": "Metadata", "users": ["system:serviceaccount:` + manager.Namespace + `:` + manager.ServiceAccount + `"],
			"resources": [{"group": "", "resources": ["pods"]}]}, {"level": "None"}]}`
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		return nil, cluster.Options{}, fmt.Errorf("write audit policy: %w", err)
	}
	a := &auditLog{filepath.Join(dir, "audit.log")}
	return a, cluster.Options{APIServerArgs: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + a.file}}, nil
}

// calls are requests of the manager about pods.
type calls struct{ gets, patches float64 }

// calls that the API server has answered so far.
func (a *auditLog) calls() (out calls, err error) {
	f, err := os.Open(a.file)
	if err != nil {
		return out, fmt.Errorf("read audit log: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Verb string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return out, fmt.Errorf("read audit log: %w", err)
		}
		switch e.Verb {
		case "get":
			out.gets++
		case "patch":
			out.patches++
		}
	}
	return out, lines.Err()
}
