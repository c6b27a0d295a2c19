// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/json"
	k8syaml "sigs.k8s.io/yaml"
)

// An API server takes no request of more than 3 MiB, so no object can be larger. All
// objects of a source together have to fit into the memory of a process with many.
const (
	maxObject = 3 << 20
	maxTotal  = 128 << 20
)

var errTotal = fmt.Errorf("the files of the source have more than %d MiB together", maxTotal>>20)

// documents are the objects of a file, YAML or JSON. Of a file with an error in it there
// are none. What they need of the budget is taken off it.
func documents(data []byte, budget *int) ([]map[string]any, error) {
	var out []map[string]any
	for _, doc := range split(data) {
		m, size, err := decode(doc)
		if *budget -= size; *budget < 0 {
			return nil, errTotal
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(out)+1, err)
		}
		if m != nil {
			out = append(out, m)
		}
	}
	return out, nil
}

// split cuts a stream where a line marks the end of a document or the start of one: the
// reader of YAML would see no more than the first.
func split(data []byte) [][]byte {
	var out [][]byte
	start := 0
	for at := 0; at < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		switch line := data[at:end]; {
		case marker(line, "---"):
			out, start = append(out, data[start:at]), at
		case marker(line, "..."):
			out, start = append(out, data[start:at]), end
		}
		at = end
	}
	return append(out, data[start:])
}

func marker(line []byte, mark string) bool {
	rest, found := bytes.CutPrefix(line, []byte(mark))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// decode reads one document; nil if there is nothing in it. The size is that of what it
// expands to.
func decode(doc []byte) (m map[string]any, size int, err error) {
	data, size, err := toJSON(doc)
	if err != nil {
		return nil, size, err
	}
	var value any
	strict, err := json.UnmarshalStrict(data, &value, json.DisallowDuplicateFields)
	if err := errors.Join(append(strict, err)...); err != nil {
		return nil, size, err
	}
	m, isMap := value.(map[string]any)
	if value != nil && !isMap {
		return nil, size, fmt.Errorf("an object of Kubernetes is expected, with apiVersion and kind, and not %s", article(value))
	}
	return m, size, nil
}

func article(value any) string {
	switch value.(type) {
	case []any:
		return "a list"
	case string:
		return "a text"
	}
	return "a single value"
}

func toJSON(doc []byte) (data []byte, size int, err error) {
	tooLarge := fmt.Errorf("an object has more than %d MiB, which no API server takes", maxObject>>20)
	data, size = doc, len(doc)
	if !isJSON(doc) {
		expanded, err := inspect(doc)
		switch {
		case expanded > 2*maxObject: // the measure is a little above that of JSON
			return nil, size, tooLarge
		case err != nil:
			return nil, size, err
		}
		if data, err = k8syaml.YAMLToJSON(doc); err != nil {
			return nil, size, err
		}
		size = max(expanded, len(data))
	}
	if len(data) > maxObject {
		return nil, size, tooLarge
	}
	return data, size, nil
}

// isJSON says whether a document is to be read as JSON. JSON may be indented with tabs,
// which YAML does not allow.
func isJSON(doc []byte) bool {
	doc = bytes.TrimSpace(doc)
	return bytes.HasPrefix(doc, []byte("{")) && stdjson.Valid(doc)
}

// inspect says how large a document of YAML is once its aliases are expanded, without
// expanding them, and refuses what readers of YAML take in different ways.
func inspect(doc []byte) (size int, err error) {
	var node yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(doc))
	switch err := d.Decode(&node); {
	case errors.Is(err, io.EOF):
		return 0, nil
	case err != nil:
		return len(doc), err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return len(doc), errors.New("there is something after its end")
	}
	return measure(&node, map[*yaml.Node]int{}), unambiguous(&node)
}

// measure is the size of a node, saturated: each alias costs what it stands for.
func measure(n *yaml.Node, known map[*yaml.Node]int) int {
	if size, is := known[n]; is {
		return size
	}
	// An alias to what it is in would be without end.
	known[n] = maxTotal
	size := len(n.Value) + 4
	if n.Kind == yaml.AliasNode {
		size = measure(n.Alias, known)
	}
	for _, c := range n.Content {
		size = min(size+measure(c, known), maxTotal+1)
	}
	known[n] = size
	return size
}

// unambiguous refuses a key that is there twice, also as "1" and 1.
func unambiguous(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			name := canonical(key)
			if key.Kind == yaml.ScalarNode && seen[name] {
				return fmt.Errorf("line %d: the key %q is there twice", key.Line, key.Value)
			}
			seen[name] = true
		}
	}
	for _, c := range n.Content {
		if err := unambiguous(c); err != nil {
			return err
		}
	}
	return nil
}

// words are what YAML takes for a boolean or for nothing where it is not in quotes.
var words = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true}

// isText says whether every reader takes a scalar without quotes for a text: most keys
// are such, and need no further look.
func isText(s string) bool {
	letter := s != "" && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z'
	return letter && !words[strings.ToLower(s)]
}

// canonical is the name that a key has in JSON.
func canonical(key *yaml.Node) string {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	if key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 || isText(key.Value) || len(key.Value) > 64 {
		return key.Value
	}
	data, err := k8syaml.YAMLToJSON([]byte(key.Value + ": 0"))
	var m map[string]any
	if err != nil || json.UnmarshalCaseSensitivePreserveInts(data, &m) != nil || len(m) != 1 {
		return key.Value
	}
	for name := range m {
		return name
	}
	return key.Value
}

// Expanded is the size that data has for a reader of YAML, which replaces each alias by
// what it stands for: a few lines may become more than fits into any memory. It is
// no more than a bound that is too large for any source. What is no YAML has its size.
func Expanded(data []byte) int {
	if bytes.IndexByte(data, '&') < 0 || bytes.IndexByte(data, '*') < 0 {
		return len(data)
	}
	total := 0
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		if d.Decode(&node) != nil {
			return max(total, len(data))
		}
		total = min(total+measure(&node, map[*yaml.Node]int{}), maxTotal+1)
	}
}
