// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fields says for people who owns which fields of an object, by what the API
// server keeps of it in managedFields.
package fields

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Manager owns fields of an object. One name may have several entries: one for each
// way of writing, each subresource and each version of the kind.
type Manager struct {
	Name string `json:"name"`
	// Operation is Apply or Update.
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	// Time is when it last wrote something else than before.
	Time *metav1.Time `json:"time,omitempty"`
	// Fields that have no fields below them, as spec.replicas or metadata.labels[team].
	Fields []string `json:"fields,omitempty"`
	// Problem says why its fields are not known.
	Problem string `json:"problem,omitempty"`
}

// Managers are those of an object, by name.
func Managers(entries []metav1.ManagedFieldsEntry) []Manager {
	out := make([]Manager, 0, len(entries))
	for _, e := range entries {
		m := Manager{Name: e.Manager, Operation: string(e.Operation), Subresource: e.Subresource, Time: e.Time}
		if e.FieldsV1 != nil {
			var err error
			if m.Fields, err = leaves(e.FieldsV1); err != nil {
				m.Problem = "its fields cannot be read: " + err.Error()
			}
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b Manager) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Operation, b.Operation))
	})
	return out
}

func leaves(f *metav1.FieldsV1) ([]string, error) {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(f.GetRawBytes())); err != nil {
		return nil, err
	}
	set = set.Leaves()
	out := make([]string, 0, set.Size())
	for p := range set.All() {
		out = append(out, Text(p))
	}
	slices.Sort(out)
	return out, nil
}

// Text is a path as people write it: spec.template.spec.containers[name=web].image,
// metadata.labels[team]. What cannot stand between dots is in brackets.
func Text(p fieldpath.Path) string {
	var b strings.Builder
	for i, e := range p {
		switch {
		case e.FieldName != nil && (inMap(p[:i]) || !plain(*e.FieldName)):
			fmt.Fprintf(&b, "[%s]", *e.FieldName)
		case e.FieldName != nil:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(*e.FieldName)
		case e.Key != nil:
			keys := make([]string, 0, len(*e.Key))
			for _, k := range *e.Key {
				keys = append(keys, k.Name+"="+scalar(k.Value))
			}
			fmt.Fprintf(&b, "[%s]", strings.Join(keys, ","))
		case e.Value != nil:
			fmt.Fprintf(&b, "[=%s]", scalar(*e.Value))
		case e.Index != nil:
			fmt.Fprintf(&b, "[%d]", *e.Index)
		}
	}
	return b.String()
}

// maps hold what people have named, and not fields of a kind.
var maps = []string{"labels", "annotations", "matchLabels", "nodeSelector", "data", "binaryData", "stringData"}

func inMap(above fieldpath.Path) bool {
	return len(above) > 0 && above[len(above)-1].FieldName != nil && slices.Contains(maps, *above[len(above)-1].FieldName)
}

func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$'
	})
}

func scalar(v value.Value) string {
	if v.IsString() {
		return v.AsString()
	}
	return value.ToString(v)
}

// Head is the manager without its fields: "kubelet (Update of status)".
func (m Manager) Head() string {
	text := m.Name + " (" + m.Operation
	if m.Subresource != "" {
		text += " of " + m.Subresource
	}
	return text + ")"
}

// Summary is what it owns in a line. More than a few fields are told by the part of the
// object that they are in.
func (m Manager) Summary(few int) string {
	if m.Problem != "" {
		return m.Problem
	}
	if len(m.Fields) <= few {
		return strings.Join(m.Fields, ", ")
	}
	var parts []string
	count := map[string][]string{}
	for _, f := range m.Fields {
		part := partOf(f)
		if count[part] == nil {
			parts = append(parts, part)
		}
		count[part] = append(count[part], f)
	}
	for i, part := range parts {
		if of := count[part]; len(of) > 1 {
			parts[i] = fmt.Sprintf("%s (%d)", part, len(of))
		} else {
			parts[i] = of[0]
		}
	}
	return strings.Join(parts, ", ")
}

// partOf is the first part of a path and, since all objects have metadata, two of that.
func partOf(field string) string {
	const metadata = "metadata."
	rest, ofMetadata := strings.CutPrefix(field, metadata)
	if end := strings.IndexAny(rest, ".["); end >= 0 {
		rest = rest[:end]
	}
	if ofMetadata {
		return metadata + rest
	}
	return rest
}
