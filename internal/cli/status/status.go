// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// ErrUnwell is that something is wrong, which was said.
var ErrUnwell = errors.New("not all is well")

// Report is how Holdfast is doing.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	// Version of Holdfast in the cluster.
	Version string `json:"version,omitempty"`
	// Ready is what Holdfast says of itself: True, False or Unknown, which it is too while no replica leads.
	Ready metav1.ConditionStatus `json:"ready"`
	// Scope bounds the namespaces of all features, for people; empty if it is not known.
	Scope    string    `json:"scope,omitempty"`
	Features []Feature `json:"features"`
	// Problems are a line each.
	Problems []string `json:"problems,omitempty"`
}

// Feature is how a feature is doing.
type Feature struct {
	Name string `json:"name"`
	// Mode is empty where the feature has none.
	Mode string `json:"mode,omitempty"`
	// Scope is what is left for the feature of that of all features; empty if it is not
	// known.
	Scope string `json:"scope,omitempty"`
	// State are lines for people.
	State []string `json:"state,omitempty"`
}

// Run says how the Holdfast of a namespace is doing.
func Run(ctx context.Context, c *connect.Clients, namespace, output string) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	l, err := look(ctx, client, namespace)
	if err != nil {
		return err
	}
	r := l.report()
	if output != "" {
		err = c.Encode(output, r)
	} else {
		show(c.Streams, r)
	}
	if err == nil && (r.Ready != metav1.ConditionTrue || len(r.Problems) > 0) {
		return ErrUnwell
	}
	return err
}

func show(s *ui.Streams, r *Report) {
	switch r.Ready {
	case metav1.ConditionTrue:
		s.Printf("Holdfast %s is %s\n", r.Version, s.Paint(ui.Good, "ready"))
	case metav1.ConditionFalse:
		s.Printf("Holdfast %s is %s\n", r.Version, s.Paint(ui.Bad, "not ready"))
	default:
		s.Printf("%s\n", s.Paint(ui.Bad, "Holdfast does not say how it is"))
	}
	for _, p := range r.Problems {
		s.Printf("  %s%s\n", s.Paint(ui.Bad, "! "), p)
	}
	var rows [][]ui.Cell
	for _, f := range r.Features {
		lines := f.State
		if f.Scope != "" {
			lines = append([]string{"in " + f.Scope}, lines...)
		}
		if len(lines) == 0 {
			lines = []string{"-"}
		}
		mode := f.Mode
		if mode == "" {
			mode = "-"
		}
		rows = append(rows, []ui.Cell{ui.Text(f.Name), ui.Text(mode), ui.Text(lines[0])})
		for _, more := range lines[1:] {
			rows = append(rows, []ui.Cell{{}, {}, ui.Text(more)})
		}
	}
	s.Printf("\n")
	s.Table([]string{"FEATURE", "MODE", "STATE"}, rows)
}

// some is how many names are said.
const some = 3

// few names of many.
func few(names []string) string {
	out, n := "", len(names)
	for i, name := range names[:min(n, some)] {
		if i > 0 {
			out += ", "
		}
		out += name
	}
	if n > some {
		out += fmt.Sprintf(" and %d more", n-some)
	}
	return out
}
