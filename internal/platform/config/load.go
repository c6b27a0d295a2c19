// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// MaxSize is how many bytes a configuration may have, the same as a ConfigMap.
const MaxSize = 1 << 20

// Override changes a configuration after it was read and before it is defaulted
// and validated, on every load: what stands in an environment variable or a flag
// goes before the file. It must do the same each time. An error refuses the load.
type Override func(*configv1alpha1.HoldfastConfiguration) error

// Validator adds rules that this package cannot know, such as which feature
// gates there are. It must not change what it is given.
type Validator func(*configv1alpha1.HoldfastConfiguration) field.ErrorList

// Empty is a configuration with nothing but defaults.
const Empty = "apiVersion: " + configv1alpha1.GroupVersion + "\nkind: " + configv1alpha1.Kind + "\n"

// Loader makes configurations out of bytes. The zero value is ready for use.
type Loader struct {
	Overrides  []Override
	Validators []Validator
}

// Load is Loader.Load without overrides and further validators.
func Load(data []byte) (*configv1alpha1.HoldfastConfiguration, error) {
	return Loader{}.Load(data)
}

// Load reads one YAML or JSON document strictly: a field that is unknown, stands
// twice or has the wrong type is a mistake, as is a second document. Then it
// applies the overrides and the defaults, and validates. The error is an
// *InvalidError with all mistakes of the first of these steps that found any.
func (l Loader) Load(data []byte) (*configv1alpha1.HoldfastConfiguration, error) {
	cfg, problems := decode(data)
	if len(problems) == 0 {
		problems = l.override(cfg)
	}
	if len(problems) == 0 {
		configv1alpha1.SetDefaults(cfg)
		problems = Validate(cfg)
		for _, validate := range l.Validators {
			problems = append(problems, validate(cfg)...)
		}
	}
	if len(problems) > 0 {
		return nil, &InvalidError{Problems: problems}
	}
	return cfg, nil
}

// sameAsEmpty reports whether a configuration says what an empty one does.
func (l Loader) sameAsEmpty(cfg *configv1alpha1.HoldfastConfiguration) bool {
	empty, err := l.Load([]byte(Empty))
	return err == nil && equality.Semantic.DeepEqual(empty, cfg)
}

func (l Loader) override(cfg *configv1alpha1.HoldfastConfiguration) field.ErrorList {
	var problems field.ErrorList
	for _, override := range l.Overrides {
		if err := override(cfg); err != nil {
			problems = append(problems, ofDocument(err.Error()))
		}
	}
	return problems
}
