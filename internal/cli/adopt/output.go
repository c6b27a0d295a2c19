// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// The states of a step. They are part of the output that scripts may read.
const (
	StateDone    = "done"    // by this call
	StateAlready = "already" // so before it
	StateWould   = "would"   // in a dry run: to be done
	StateFailed  = "failed"
)

// styles of the states.
var styles = map[string]ui.Style{StateDone: ui.Good, StateWould: ui.Warn, StateFailed: ui.Bad}

// Report is the structured output.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	// Back says that the trees go back to HNC.
	Back   bool `json:"back,omitempty"`
	DryRun bool `json:"dryRun,omitempty"`
	// Found is what there is of HNC.
	Found []string `json:"found"`
	Notes []string `json:"notes,omitempty"`
	// Configuration is what Holdfast is told, a HoldfastConfiguration.
	Configuration string       `json:"configuration,omitempty"`
	Steps         []StepReport `json:"steps"`
	// Trees are what was compared, with the last step.
	Trees *TreesReport `json:"trees,omitempty"`
}

// StepReport is what became of a step.
type StepReport struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Message string `json:"message"`
}

// outputVersion is that of all structured output of the plugin.
const outputVersion = "cli.holdfast.dev/v1alpha1"

func newReport(o Options) Report {
	return Report{
		TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "HNCAdoption"},
		Back:     o.Back, DryRun: o.DryRun, Found: []string{}, Steps: []StepReport{},
	}
}

// show says what was found.
func (h *handover) show(f found) {
	h.said.Found = append(h.said.Found, f.lines()...)
	if h.Output != "" {
		return
	}
	if !f.there() {
		h.Printf("No HNC runs here, and none was left behind.\n")
		return
	}
	h.Printf("%s:\n", f)
	for _, line := range f.lines() {
		h.Printf("  %s\n", line)
	}
}

// say reports a step: a line of its number, its name, its state and a sentence.
func (h *handover) say(name, state, message string) {
	h.said.Steps = append(h.said.Steps, StepReport{Name: name, State: state, Message: message})
	if h.Output != "" {
		return
	}
	if state == StateFailed {
		message = "" // it is what the command ends with
	}
	lines := strings.Split(strings.TrimSpace(message), "\n")
	h.Printf("%d/%d  %s%s%s\n", len(h.said.Steps), h.shown, pad(name, nameWidth), h.Paint(styles[state], state),
		strings.TrimRight(pad("", stateWidth-len(state))+lines[0], " "))
	for _, l := range lines[1:] {
		h.Printf("     %s\n", strings.TrimRight(l, " "))
	}
}

const nameWidth, stateWidth = 10, 9

func pad(text string, width int) string { return text + strings.Repeat(" ", max(0, width-len(text))) }

// note says what a person should know.
func (h *handover) note(text string) {
	if slices.Contains(h.said.Notes, text) {
		return
	}
	h.said.Notes = append(h.said.Notes, text)
	h.Notef("note: %s", text)
}
