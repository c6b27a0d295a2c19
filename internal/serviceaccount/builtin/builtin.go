// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package builtin has the ServiceAccountTemplates for the kinds of Strimzi, those that
// it has removed since among them. They are nothing that a user could not write.
package builtin

import (
	"embed"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

//go:embed *.yaml
var files embed.FS

// Templates are the built-in ServiceAccountTemplates, by name. Labels of an object
// whose whole key matches the pattern are not inherited; with an empty pattern all
// are.
func Templates(labelsExclusionPattern string) ([]v1alpha1.ServiceAccountTemplate, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	out := make([]v1alpha1.ServiceAccountTemplate, len(names))
	for i, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(content, &out[i]); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		for j := range out[i].Spec.Accounts {
			out[i].Spec.Accounts[j].InheritLabels.Exclude = labelsExclusionPattern
		}
	}
	return out, nil
}
