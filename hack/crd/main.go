// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Crd writes into generated CRDs what controller-gen has no marker for. Arguments are
// of the form file:name=NAME, objects can have that name only (a CEL rule would answer
// in other words than HNC's schema does), or file:version=VERSION, the one version is
// served under that name too, and not stored (a second package would repeat all types).
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, arg := range os.Args[1:] {
		if err := rewrite(arg); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", arg, err)
			os.Exit(1)
		}
	}
}

func rewrite(arg string) error {
	file, change, _ := strings.Cut(arg, ":")
	what, value, ok := strings.Cut(change, "=")
	changes := map[string]func([]any, string) ([]any, error){"name": onlyName, "version": alsoVersion}
	apply, known := changes[what]
	if !ok || !known {
		return errors.New("neither file:name=NAME nor file:version=VERSION")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil {
		return err
	}
	if versions, err = apply(versions, value); err != nil {
		return err
	}
	if err := unstructured.SetNestedSlice(crd, versions, "spec", "versions"); err != nil {
		return err
	}
	if len(versions) > 1 {
		if err := unstructured.SetNestedField(crd, "None", "spec", "conversion", "strategy"); err != nil {
			return err
		}
	}
	if text, err = yaml.Marshal(crd); err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}

func onlyName(versions []any, name string) ([]any, error) {
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("a version is no object")
		}
		metadata := map[string]any{
			"type":       "object",
			"properties": map[string]any{"name": map[string]any{"type": "string", "enum": []any{name}}},
		}
		if err := unstructured.SetNestedMap(version, metadata, "schema", "openAPIV3Schema", "properties", "metadata"); err != nil {
			return nil, err
		}
	}
	return versions, nil
}

func alsoVersion(versions []any, name string) ([]any, error) {
	if len(versions) != 1 {
		return nil, errors.New("there is not one version")
	}
	stored, ok := versions[0].(map[string]any)
	if !ok {
		return nil, errors.New("the version is no object")
	}
	other := runtime.DeepCopyJSON(stored)
	other["name"], other["served"], other["storage"] = name, true, false
	return []any{other, stored}, nil
}
