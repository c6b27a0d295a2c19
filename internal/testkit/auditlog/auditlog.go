// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package auditlog has a local API server log requests, and reads what it logged.
// It is the one place that knows every request and its answer, whoever asks.
package auditlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/cluster"
)

// maxSize, in MiB, is more than any test has logged: from there on the API server would begin
// another file.
const maxSize = "4096"

// Log is the audit log of one API server. What was read once is not read again: those who
// wait for something to be logged ask often.
type Log struct {
	file string

	mu     sync.Mutex
	offset int64
	events []auditv1.Event
}

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
	l := &Log{file: filepath.Join(dir, "audit.log")}
	return l, cluster.Options{APIServerArgs: []string{"--audit-policy-file=" + name, "--audit-log-path=" + l.file, "--audit-log-maxsize=" + maxSize}}, nil
}

// Events are all that have been logged so far. A request that has been answered is
// there; the line that is being written is not.
func (l *Log) Events() ([]auditv1.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.Open(l.file)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return slices.Clip(l.events), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		l.offset += int64(len(line))
		var e auditv1.Event
		if json.Unmarshal(line, &e) == nil {
			l.events = append(l.events, e)
		}
	}
}
