// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Formats of structured output.
const (
	JSON = "json"
	YAML = "yaml"
)

// Encode writes a value as JSON or YAML.
func (s *Streams) Encode(format string, value any) error {
	var (
		data []byte
		err  error
	)
	switch format {
	case JSON:
		if data, err = json.MarshalIndent(value, "", "    "); err == nil {
			data = append(data, '\n')
		}
	case YAML:
		data, err = yaml.Marshal(value)
	default:
		err = fmt.Errorf("unknown output format %q", format)
	}
	if err != nil {
		return err
	}
	write(s.Out, string(data))
	return nil
}
