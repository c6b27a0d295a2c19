// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd has Holdfast's CustomResourceDefinitions, for the manager to apply. All other
// files here are made by controller-gen.
package crd

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml hnc/*.yaml configsync/*.yaml
var files embed.FS

// Of returns those of some API groups.
func Of(groups ...string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		o := &unstructured.Unstructured{}
		if text, err = yaml.YAMLToJSON(text); err == nil {
			err = o.UnmarshalJSON(text) // numbers as the API server's answers have them
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if group, _, _ := unstructured.NestedString(o.Object, "spec", "group"); slices.Contains(groups, group) {
			out = append(out, o)
		}
		return nil
	})
	return out, err
}
