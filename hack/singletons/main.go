// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Singletons writes into CRDs, given as file=name, that objects can have one name
// only. controller-gen has no marker for what the schema says about metadata, and
// a CEL rule instead would answer in other words than HNC's schema does.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, arg := range os.Args[1:] {
		if err := restrict(arg); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", arg, err)
			os.Exit(1)
		}
	}
}

func restrict(arg string) error {
	file, name, ok := strings.Cut(arg, "=")
	if !ok {
		return errors.New("not of the form file=name")
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
	for _, v := range versions {
		metadata := map[string]any{
			"type":       "object",
			"properties": map[string]any{"name": map[string]any{"type": "string", "enum": []any{name}}},
		}
		version, ok := v.(map[string]any)
		if !ok {
			return errors.New("a version is no object")
		}
		if err := unstructured.SetNestedMap(version, metadata, "schema", "openAPIV3Schema", "properties", "metadata"); err != nil {
			return err
		}
	}
	if err := unstructured.SetNestedSlice(crd, versions, "spec", "versions"); err != nil {
		return err
	}
	if text, err = yaml.Marshal(crd); err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}
