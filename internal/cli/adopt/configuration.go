// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	goyaml "go.yaml.in/yaml/v3"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

// The fields that a hand-over writes.
const (
	partField    = "hierarchy"
	modeField    = "mode"
	standByField = "standBy"
)

// loader knows the rules for the part about trees.
var loader = config.Loader{Validators: []config.Validator{settings.Validate}}

// standingBy is a configuration with which Holdfast follows the trees that HNC
// keeps. What it says already stays, but for a mode of Off; differs are the fields
// in which it says something else than HNC's arguments.
func standingBy(text string, hnc *configv1alpha1.HierarchyConfiguration) (out string, differs []string, err error) {
	out, err = change(text, func(part *goyaml.Node) error {
		if mode := get(part, modeField); mode == nil || mode.Value == string(configv1alpha1.ModeOff) || mode.Tag == "!!null" {
			if err := set(part, modeField, configv1alpha1.ModeEnforce); err != nil {
				return err
			}
		}
		if err := set(part, standByField, true); err != nil {
			return err
		}
		if hnc != nil {
			differs, err = carryOver(part, hnc)
		}
		return err
	})
	return out, differs, err
}

// carryOver puts what HNC's arguments say where nothing is said yet, and says where
// something else is.
func carryOver(part *goyaml.Node, hnc *configv1alpha1.HierarchyConfiguration) (differs []string, err error) {
	for _, f := range fieldsOf(hnc) {
		switch have := get(part, f.name); {
		case have == nil && f.said():
			if err := set(part, f.name, f.value); err != nil {
				return nil, err
			}
		case have != nil && !same(have, f.value):
			differs = append(differs, partField+"."+f.name)
		}
	}
	return differs, nil
}

// active is the configuration without standing by.
func active(text string) (string, error) {
	return change(text, func(part *goyaml.Node) error {
		for i := 0; i+1 < len(part.Content); i += 2 {
			if part.Content[i].Value == standByField {
				part.Content = slices.Delete(part.Content, i, i+2)
				return nil
			}
		}
		return nil
	})
}

// named is a field of the configuration that HNC has an argument for.
type named struct {
	name  string
	value any
	// always says that leaving it out means something else than empty.
	always bool
}

func (f named) said() bool { return f.always || !reflect.ValueOf(f.value).IsZero() }

func fieldsOf(h *configv1alpha1.HierarchyConfiguration) []named {
	return []named{
		{"excludedNamespaces", h.ExcludedNamespaces, true},
		{"includedNamespaces", h.IncludedNamespaces, false},
		{"managedLabels", h.ManagedLabels, false},
		{"managedAnnotations", h.ManagedAnnotations, false},
		{"strippedLabels", h.StrippedLabels, false},
		{"strippedAnnotations", h.StrippedAnnotations, false},
		{"uncopiedLabels", h.UncopiedLabels, true},
	}
}

// same says whether a node says the same as a value; the order of a list does not
// count.
func same(n *goyaml.Node, value any) bool {
	if list, is := value.([]string); is {
		var have []string
		if err := n.Decode(&have); err != nil {
			return false
		}
		have, list = slices.Clone(have), slices.Clone(list)
		slices.Sort(have)
		slices.Sort(list)
		return slices.Equal(have, list)
	}
	var have string
	return n.Decode(&have) == nil && have == value
}

// change changes the part about trees. All else stays as it is written, and so do
// the comments in the part. What comes out is a configuration that is taken.
func change(text string, edit func(part *goyaml.Node) error) (string, error) {
	if strings.TrimSpace(text) == "" {
		text = config.Empty
	}
	before, err := loader.Load([]byte(text))
	if err != nil {
		return "", fmt.Errorf("the configuration that is there is not valid; mend it first: %w", err)
	}
	head, part, tail, err := cut(text)
	if err != nil {
		return "", err
	}
	if part, err = rewrite(part, edit); err != nil {
		return "", err
	}
	out := head + part + tail
	after, err := loader.Load([]byte(out))
	if err != nil {
		return "", fmt.Errorf("with %q it would not be valid: %w", strings.TrimSpace(part), err)
	}
	after.Hierarchy = before.Hierarchy
	if !reflect.DeepEqual(before, after) {
		return "", errNotReadable
	}
	return out, nil
}

// errNotReadable is about YAML that is not written line by line.
var errNotReadable = errors.New(`the configuration is written in a way that cannot be changed in part: write each of its fields on a line of its own`)

// cut finds the lines of the part. Comments above it belong to what is before.
func cut(text string) (head, part, tail string, err error) {
	if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\u0085\u2028\u2029") {
		return "", "", "", errNotReadable // for YAML they end a line
	}
	var document goyaml.Node
	if err := goyaml.Unmarshal([]byte(text), &document); err != nil {
		return "", "", "", err // it was decoded before
	}
	root := document.Content[0]
	if root.Style&goyaml.FlowStyle != 0 {
		return "", "", "", errNotReadable
	}
	lines := strings.SplitAfter(strings.TrimRight(text, "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	from, to := len(lines), len(lines)
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch {
		case root.Content[i].Value == partField:
			from = root.Content[i].Line - 1
		case from < len(lines):
			to = min(to, root.Content[i].Line-1)
		}
	}
	for to > from+1 && besides(lines[to-1]) {
		to--
	}
	return strings.Join(lines[:from], ""), strings.Join(lines[from:to], ""), strings.Join(lines[to:], ""), nil
}

// besides says whether a line belongs to no part.
func besides(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "...")
}

// rewrite changes the part, which is empty if there is none.
func rewrite(part string, edit func(*goyaml.Node) error) (string, error) {
	if part == "" {
		part = partField + ": {}\n"
	}
	var document goyaml.Node
	if err := goyaml.Unmarshal([]byte(part), &document); err != nil || !isPart(&document) {
		return "", errNotReadable
	}
	value := document.Content[0].Content[1]
	if value.Kind != goyaml.MappingNode || len(value.Content) == 0 { // nothing, or {}
		*value = goyaml.Node{Kind: goyaml.MappingNode, LineComment: value.LineComment, HeadComment: value.HeadComment, FootComment: value.FootComment}
	}
	if err := edit(value); err != nil {
		return "", err
	}
	if len(value.Content) == 0 {
		value.Style = goyaml.FlowStyle
	}
	var b bytes.Buffer
	e := goyaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&document); err != nil {
		return "", fmt.Errorf("write the configuration: %w", err)
	}
	return b.String(), nil
}

// isPart says whether a document is the part and nothing else.
func isPart(document *goyaml.Node) bool {
	if len(document.Content) == 0 {
		return false
	}
	root := document.Content[0]
	return root.Kind == goyaml.MappingNode && len(root.Content) == 2 && root.Content[0].Value == partField
}

func get(part *goyaml.Node, name string) *goyaml.Node {
	for i := 0; i+1 < len(part.Content); i += 2 {
		if part.Content[i].Value == name {
			return part.Content[i+1]
		}
	}
	return nil
}

// set gives a field a value. The comments beside it stay.
func set(part *goyaml.Node, name string, value any) error {
	n := &goyaml.Node{}
	if err := n.Encode(value); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if n.Kind == goyaml.SequenceNode {
		n.Style = goyaml.FlowStyle
	}
	if have := get(part, name); have != nil {
		n.LineComment, n.HeadComment, n.FootComment = have.LineComment, have.HeadComment, have.FootComment
		*have = *n
		return nil
	}
	part.Content = append(part.Content, &goyaml.Node{Kind: goyaml.ScalarNode, Value: name}, n)
	return nil
}

// partOf is what a configuration says about trees, as it is printed; nil if that
// cannot be read.
func partOf(text string) map[string]any {
	var content map[string]any
	if err := goyaml.Unmarshal([]byte(text), &content); err != nil {
		return nil
	}
	part, _ := content[partField].(map[string]any)
	return part
}

// printed is how Holdfast prints a configuration that it has taken.
func printed(text string) (string, error) {
	c, err := loader.Load([]byte(text))
	if err != nil {
		return "", err
	}
	out, err := config.Encode(c)
	return string(out), err
}

// sameJSON says whether two values are the same, whatever types they were read as.
func sameJSON(a, b any) bool {
	first, errA := json.Marshal(a)
	second, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(first, second)
}
