// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

var (
	configurationType = reflect.TypeFor[configv1alpha1.HoldfastConfiguration]()
	durationType      = reflect.TypeFor[metav1.Duration]()
)

// checkType holds a value, as JSON has it, against the Go type that it is meant
// for, and names every field that is unknown or of another type. The decoders at
// hand stop at the first of these, and say of a duration not even where it is.
func checkType(value any, want reflect.Type, path *field.Path) field.ErrorList {
	if value == nil {
		return nil // the same as leaving the field out
	}
	if want == durationType {
		return checkDuration(value, path)
	}
	switch want.Kind() {
	case reflect.Pointer:
		return checkType(value, want.Elem(), path)
	case reflect.Struct:
		return checkStruct(value, want, path)
	case reflect.Map:
		return checkMap(value, want, path)
	case reflect.Slice:
		return checkSlice(value, want, path)
	case reflect.String:
		return checkScalar[string](value, path, "text, in quotes if it looks like something else")
	case reflect.Bool:
		return checkScalar[bool](value, path, "true or false, without quotes")
	default:
		return nil // the decoding that follows finds it
	}
}

func checkScalar[T any](value any, path *field.Path, expected string) field.ErrorList {
	if _, ok := value.(T); !ok {
		return field.ErrorList{mistyped(path, value, expected)}
	}
	return nil
}

func checkDuration(value any, path *field.Path) field.ErrorList {
	text, ok := value.(string)
	if !ok {
		return field.ErrorList{mistyped(path, value, "a duration, such as 90m or 24h")}
	}
	if _, err := time.ParseDuration(text); err != nil {
		return field.ErrorList{field.Invalid(path, text, "must be a duration, such as 90m or 24h; the units are h, m, s and smaller")}
	}
	return nil
}

func checkStruct(value any, want reflect.Type, path *field.Path) field.ErrorList {
	content, ok := value.(map[string]any)
	if !ok {
		return field.ErrorList{mistyped(path, value, "a list of fields with values")}
	}
	known := map[string]reflect.Type{}
	collectFields(want, known)

	var problems field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(content)) {
		at := path.Child(name)
		fieldType, found := known[name]
		if !found {
			problems = append(problems, field.Forbidden(at, "there is no such field: known here are "+
				strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
			continue
		}
		problems = append(problems, checkType(content[name], fieldType, at)...)
	}
	return problems
}

// collectFields gathers the fields of a struct by their JSON names, those of an
// inlined struct among them.
func collectFields(structType reflect.Type, known map[string]reflect.Type) {
	for _, f := range reflect.VisibleFields(structType) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if len(f.Index) == 1 && f.Anonymous && name == "" {
			collectFields(f.Type, known)
			continue
		}
		if len(f.Index) == 1 && name != "" && name != "-" {
			known[name] = f.Type
		}
	}
}

func checkMap(value any, want reflect.Type, path *field.Path) field.ErrorList {
	content, ok := value.(map[string]any)
	if !ok {
		return field.ErrorList{mistyped(path, value, "a list of names with values")}
	}
	var problems field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(content)) {
		problems = append(problems, checkType(content[name], want.Elem(), path.Key(name))...)
	}
	return problems
}

func checkSlice(value any, want reflect.Type, path *field.Path) field.ErrorList {
	items, ok := value.([]any)
	if !ok {
		return field.ErrorList{mistyped(path, value, "a list")}
	}
	var problems field.ErrorList
	for i, item := range items {
		problems = append(problems, checkType(item, want.Elem(), path.Index(i))...)
	}
	return problems
}

func mistyped(path *field.Path, value any, expected string) *field.Error {
	switch value.(type) {
	case map[any]any:
		return field.TypeInvalid(path, field.OmitValueType{}, "has a name that is not text: put it in quotes")
	case map[string]any, []any:
		value = field.OmitValueType{} // it can be half the file
	}
	return field.TypeInvalid(path, value, "must be "+expected)
}
