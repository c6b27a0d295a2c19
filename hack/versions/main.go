// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Versions writes into CRDs of one version, given as file=version, that another one is
// served with the same schema and not stored. controller-gen would need a second
// package with all types again.
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
		if err := serve(arg); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", arg, err)
			os.Exit(1)
		}
	}
}

func serve(arg string) error {
	file, name, ok := strings.Cut(arg, "=")
	if !ok {
		return errors.New("not of the form file=version")
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
	if len(versions) != 1 {
		return errors.New("there is not one version")
	}
	stored, ok := versions[0].(map[string]any)
	if !ok {
		return errors.New("the version is no object")
	}
	other := runtime.DeepCopyJSON(stored)
	other["name"], other["served"], other["storage"] = name, true, false
	if err := unstructured.SetNestedSlice(crd, []any{other, stored}, "spec", "versions"); err != nil {
		return err
	}
	if err := unstructured.SetNestedField(crd, "None", "spec", "conversion", "strategy"); err != nil {
		return err
	}
	if text, err = yaml.Marshal(crd); err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}
