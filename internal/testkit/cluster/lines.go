// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

// eachLine calls f for every line of r, however long, until r ends.
func eachLine(r io.Reader, f func(string)) {
	for reader := bufio.NewReader(r); ; {
		line, err := reader.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			f(line)
		}
		if err != nil {
			return
		}
	}
}

// tailLines is how much of another program's messages an error shows.
const tailLines = 40

// tail keeps the last lines of what another program says.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
