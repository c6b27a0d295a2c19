// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// InvalidError lists everything that is wrong with a configuration. An entry
// with an empty Field is about the document as a whole.
type InvalidError struct {
	Problems field.ErrorList
}

// Error says all problems in one line.
func (e *InvalidError) Error() string {
	problems := make([]string, 0, len(e.Problems))
	for _, problem := range e.Problems {
		problems = append(problems, describe(problem))
	}
	return "invalid configuration: " + strings.Join(problems, "; ")
}

// Below returns the problems with their fields below path, for a configuration
// that is itself a field of something.
func (e *InvalidError) Below(path *field.Path) field.ErrorList {
	below := make(field.ErrorList, 0, len(e.Problems))
	for _, problem := range e.Problems {
		moved := *problem
		moved.Field = path.String()
		if problem.Field != "" {
			moved.Field += "." + problem.Field
		}
		below = append(below, &moved)
	}
	return below
}

func describe(problem *field.Error) string {
	if problem.Field == "" {
		return problem.Detail
	}
	return problem.Error()
}

// ofDocument is a problem of no single field.
func ofDocument(detail string) *field.Error {
	return &field.Error{Type: field.ErrorTypeInvalid, BadValue: field.OmitValueType{}, Detail: detail}
}
