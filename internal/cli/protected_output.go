// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/holdfast-dev/holdfast/internal/cli/ui"
)

// outputVersion is the apiVersion of structured output. Fields may be added to
// it; none changes its meaning or goes.
const outputVersion = "cli.holdfast.dev/v1alpha1"

// protectedList is the structured output of protected.
type protectedList struct {
	metav1.TypeMeta `json:",inline"`
	Items           []protectedItem `json:"items"`
	// Problems are about what could not be listed.
	Problems []string `json:"problems,omitempty"`
}

// objectRef names an object.
type objectRef struct {
	Namespace string `json:"namespace,omitempty"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

func refOf(t target) objectRef {
	uid := string(t.meta.UID)
	if strings.HasPrefix(uid, fileUID) {
		uid = "" // made up
	}
	return objectRef{
		Namespace: t.meta.Namespace,
		Group:     t.kind.Group,
		Version:   t.kind.Version,
		Resource:  t.kind.Resource,
		Kind:      t.kind.Kind,
		Name:      t.meta.Name,
		UID:       uid,
	}
}

// protectedItem is one label of one object.
type protectedItem struct {
	objectRef `json:",inline"`
	Label     string `json:"label"`
	Value     string `json:"value"`
	// Protected says whether people are kept from deleting the object because of
	// this label; Effect is the text of the table.
	Protected bool   `json:"protected"`
	Effect    effect `json:"effect"`
	// Owner is the controller of the object, as kind/name.
	Owner string `json:"owner,omitempty"`
	// Detail is what a mark of Holdfast's says to people: the protections with
	// their reasons, or what is held.
	Detail  string      `json:"detail,omitempty"`
	Created metav1.Time `json:"created"`
}

func (c *clients) printProtected(o *protectedOptions, namespace string, rows []row, problems []error) error {
	switch o.output {
	case ui.JSON, ui.YAML:
		return c.Encode(o.output, newProtectedList(rows, problems))
	case "name":
		return c.printNames(rows)
	}
	switch {
	case len(rows) > 0:
		c.printTable(rows, o.allNamespaces, o.output == "wide", time.Now())
	case len(problems) > 0: // nobody knows
	case namespace == "":
		c.Notef("No protected objects found.")
	default:
		c.Notef("No protected objects found in namespace %s.", namespace)
	}
	return nil
}

func newProtectedList(rows []row, problems []error) protectedList {
	list := protectedList{
		TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "ProtectedList"},
		Items:    []protectedItem{},
	}
	for _, r := range rows {
		list.Items = append(list.Items, protectedItem{
			objectRef: refOf(r.target),
			Label:     r.label,
			Value:     r.value,
			Protected: r.effect.protects(),
			Effect:    r.effect,
			Owner:     controllerOf(r.target.meta),
			Detail:    r.detail,
			Created:   r.target.meta.CreationTimestamp,
		})
	}
	for _, err := range problems {
		list.Problems = append(list.Problems, err.Error())
	}
	return list
}

// printNames prints each object once, as kubectl does.
func (c *clients) printNames(rows []row) error {
	last := ""
	for _, r := range rows {
		if r.target.where() == last {
			continue
		}
		last = r.target.where()
		if name := r.target.meta.Name; strings.ContainsFunc(name, unicode.IsControl) { // a script would read it as several
			c.Notef("warning: %s is left out: its name has control characters", r.target.where())
			continue
		}
		if err := (&printers.NamePrinter{ShortOutput: true}).PrintObj(r.target.meta, c.Out); err != nil {
			return err
		}
	}
	return nil
}

func (c *clients) printTable(rows []row, allNamespaces, wide bool, now time.Time) {
	header := []string{"KIND/NAME", "LABEL", "VALUE", "EFFECT"}
	if allNamespaces {
		header = slices.Insert(header, 0, "NAMESPACE")
	}
	if wide {
		header = append(header, "OWNER", "AGE")
	}
	detailed := slices.ContainsFunc(rows, func(r row) bool { return r.detail != "" })
	if detailed {
		header = append(header, "DETAIL")
	}
	var lines [][]ui.Cell
	for _, r := range rows {
		line := []ui.Cell{
			ui.Text(r.target.String()), ui.Text(r.label), ui.Text(orNone(r.value)), {Text: string(r.effect), Style: styleOf(r.effect)},
		}
		if allNamespaces {
			line = slices.Insert(line, 0, ui.Text(orNone(r.target.meta.Namespace)))
		}
		if wide {
			age := duration.HumanDuration(now.Sub(r.target.meta.CreationTimestamp.Time))
			line = append(line, ui.Text(orNone(controllerOf(r.target.meta))), ui.Text(age))
		}
		if detailed {
			line = append(line, ui.Text(orNone(r.detail)))
		}
		lines = append(lines, line)
	}
	c.Table(header, lines)
}

func styleOf(e effect) ui.Style {
	switch {
	case !e.protects():
		return ui.Warn
	case e == effectProtectedUnknown:
		return ui.Bold
	}
	return ui.Good
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

// controllerOf is the controller of an object, as kind/name.
func controllerOf(o *metav1.PartialObjectMetadata) string {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil {
		return ""
	}
	return strings.ToLower(ref.Kind) + "/" + ui.Name(ref.Name)
}

func addOutputFlag(cmd *cobra.Command, output *string, formats []string) {
	cmd.Flags().StringVarP(output, "output", "o", "", "Output format: "+strings.Join(formats, ", "))
	completeFlag(cmd, "output", formats...)
}

func validateOutput(output string, formats []string) error {
	if output != "" && !slices.Contains(formats, output) {
		return usageError{fmt.Errorf("there is no output format %q here: use %s", output, strings.Join(formats, ", "))}
	}
	return nil
}
