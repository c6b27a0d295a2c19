// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	goyaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

const header = `start with "apiVersion: ` + configv1alpha1.GroupVersion + `" and "kind: ` + configv1alpha1.Kind + `"`

// decode reads the document and holds it against the types, without defaults.
func decode(data []byte) (*configv1alpha1.HoldfastConfiguration, field.ErrorList) {
	if len(data) > MaxSize {
		return nil, field.ErrorList{ofDocument(fmt.Sprintf("the document has %d bytes, at most %d are read: shorten it", len(data), MaxSize))}
	}
	document, err := onlyDocument(data)
	if err != nil {
		return nil, field.ErrorList{ofDocument(err.Error())}
	}
	if problems := duplicates(document, nil); len(problems) > 0 {
		return nil, problems // it is not known which of the two is meant
	}
	content, err := contentOf(document)
	if err != nil {
		return nil, field.ErrorList{ofDocument(err.Error())}
	}
	if problems := checkHeader(content); len(problems) > 0 {
		return nil, problems // the fields of something else mean nothing here
	}
	if problems := checkType(content, configurationType, nil); len(problems) > 0 {
		return nil, problems
	}

	cfg := &configv1alpha1.HoldfastConfiguration{}
	if err := convert(content, cfg); err != nil {
		return nil, field.ErrorList{ofDocument(err.Error())}
	}
	return cfg, nil
}

// onlyDocument returns the content of the one YAML document that there is.
func onlyDocument(data []byte) (*goyaml.Node, error) {
	decoder := goyaml.NewDecoder(bytes.NewReader(data))
	var document, second goyaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && len(document.Content) == 0 {
		return nil, errors.New("the document is empty: " + header)
	}
	if err != nil {
		return nil, fmt.Errorf("the document is not YAML: %w", err)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New(`there is more than one YAML document: keep one, without "---" behind it`)
	}
	return document.Content[0], nil
}

// contentOf returns the fields of the document. YAML is read as in version 1.2,
// where only true and false are booleans: by the older rules, which most of
// Kubernetes reads by, "mode: Off" would say "mode: false".
func contentOf(document *goyaml.Node) (map[string]any, error) {
	if document.Kind != goyaml.MappingNode {
		return nil, errors.New("the document is not a list of fields with values: " + header)
	}
	var content map[string]any
	if err := document.Decode(&content); err != nil {
		return nil, fmt.Errorf("the document is not YAML: %w", err)
	}
	return content, nil
}

func checkHeader(content map[string]any) field.ErrorList {
	var problems field.ErrorList
	for _, want := range []struct{ name, value string }{
		{name: "apiVersion", value: configv1alpha1.GroupVersion},
		{name: "kind", value: configv1alpha1.Kind},
	} {
		path := field.NewPath(want.name)
		got, found := content[want.name]
		switch {
		case !found || got == nil || got == "":
			problems = append(problems, field.Required(path, header))
		case got != want.value:
			problems = append(problems, field.NotSupported(path, got, []string{want.value}))
		}
	}
	return problems
}

func convert(content map[string]any, cfg *configv1alpha1.HoldfastConfiguration) error {
	asJSON, err := json.Marshal(withoutNulls(content))
	if err != nil {
		return err
	}
	return json.Unmarshal(asJSON, cfg)
}

// withoutNulls leaves out fields that have no value: most decoders of JSON do the
// same, that of a duration does not.
func withoutNulls(content map[string]any) map[string]any {
	kept := make(map[string]any, len(content))
	for name, value := range content {
		switch value := value.(type) {
		case nil:
		case map[string]any:
			kept[name] = withoutNulls(value)
		default:
			kept[name] = value
		}
	}
	return kept
}

// duplicates returns the fields that stand more than once in one place. The
// last one would win and nobody would see it.
func duplicates(node *goyaml.Node, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	switch node.Kind {
	case goyaml.SequenceNode:
		for i, item := range node.Content {
			problems = append(problems, duplicates(item, path.Index(i))...)
		}
	case goyaml.MappingNode:
		first := map[string]int{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			at := path.Child(key.Value)
			if line, found := first[key.Value]; found {
				again := field.Duplicate(at, field.OmitValueType{})
				again.Detail = fmt.Sprintf("the field stands on line %d and again on line %d: keep one", line, key.Line)
				problems = append(problems, again)
			} else {
				first[key.Value] = key.Line
			}
			problems = append(problems, duplicates(value, at)...)
		}
	}
	return problems
}
