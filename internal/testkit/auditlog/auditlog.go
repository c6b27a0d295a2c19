// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auditlog has a local API server log requests, and reads what it logged.
// It is the one place that knows every request and its answer, whoever asks.
package auditlog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// maxLine is more than an event of level Metadata can have.
const maxLine = 16 << 20

// Log is the audit log of one API server.
type Log struct{ file string }

// New returns the options of a cluster that logs the answers to requests, into a
// folder that exists. The rules are those of an audit policy.
func New(dir string, rules ...auditv1.PolicyRule) (*Log, cluster.Options, error) {
	policy := auditv1.Policy{Rules: rules, OmitStages: []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted}}
	policy.SetGroupVersionKind(auditv1.SchemeGroupVersion.WithKind("Policy"))
	text, err := json.Marshal(policy)
	if err != nil {
		return nil, cluster.Options{}, fmt.Errorf("encode audit policy: %w", err)
	}
	name := filepath.Join(dir, "audit-policy.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return nil, cluster.Options{}, fmt.Errorf("write audit policy: %w", err)
	}
	l := &Log{filepath.Join(dir, "audit.log")}
	return l, cluster.Options{APIServerArgs: []string{"--audit-policy-file=" + name, "--audit-log-path=" + l.file}}, nil
}

// Events are all that have been logged so far. A request that has been answered is
// there; the line that is being written is not.
func (l *Log) Events() (out []auditv1.Event, err error) {
	f, err := os.Open(l.file)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e auditv1.Event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			out = append(out, e)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	return out, nil
}
