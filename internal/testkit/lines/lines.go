// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lines reads what another program says.
package lines

import (
	"bufio"
	"io"
	"strings"
	"sync"
)

// Each calls f for every line of r, however long, until r ends.
func Each(r io.Reader, f func(string)) {
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

// tailLength is how much of another program's messages an error shows.
const tailLength = 40

// Tail keeps the last lines of what another program says. It is empty at first, and several goroutines
// may use it.
type Tail struct {
	mu    sync.Mutex
	lines []string
}

// Add takes up one more line.
func (t *Tail) Add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > tailLength {
		t.lines = t.lines[1:]
	}
}

func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
