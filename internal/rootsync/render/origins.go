// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// origins is a file system in which the kustomization of one folder asks for the annotation
// "config.kubernetes.io/origin" on each object, which names the file that it is from. Config Sync
// adds that to each kustomization as well.
type origins struct {
	fileSystem
	// root is the folder, without symbolic links.
	root string
}

// ReadFile reads a file.
func (o origins) ReadFile(name string) ([]byte, error) {
	data, err := o.fileSystem.ReadFile(name)
	if err != nil || path.Dir(name) != o.root || !slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)) {
		return data, err
	}
	return withOrigins(data), nil
}

// withOrigins returns a kustomization that asks for origins. What cannot be read is as it was, for kustomize to say what is wrong.
func withOrigins(data []byte) []byte {
	var k types.Kustomization
	var all map[string]any
	if k.Unmarshal(data) != nil || yaml.Unmarshal(data, &all) != nil || slices.Contains(k.BuildMetadata, types.OriginAnnotations) {
		return data
	}
	if all == nil {
		all = map[string]any{}
	}
	all["buildMetadata"] = append(slices.Clone(k.BuildMetadata), types.OriginAnnotations)
	out, err := yaml.Marshal(all)
	if err != nil {
		return data
	}
	return out
}
