// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	goyaml "go.yaml.in/yaml/v3"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// Encode writes the configuration as YAML with every default filled in, so that
// what is in force can be read in the log and used as a file again.
func Encode(cfg *configv1alpha1.HoldfastConfiguration) ([]byte, error) {
	complete := cfg.DeepCopy()
	configv1alpha1.SetDefaults(complete)
	asJSON, err := json.Marshal(complete)
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	var content map[string]any
	if err := json.Unmarshal(asJSON, &content); err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	var document bytes.Buffer
	encoder := goyaml.NewEncoder(&document)
	encoder.SetIndent(2)
	if err := encoder.Encode(content); err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	return document.Bytes(), nil
}
