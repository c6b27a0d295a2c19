// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package uid

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	invalid := func(path ...string) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", field.ErrorList{field.Invalid(field.NewPath(path[0], path[1:]...), "x", "field is immutable")})
	}
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"no error", nil, false},
		{"a conflict", apierrors.NewConflict(corev1.Resource("pods"), "p", errors.New("uid mismatch")), true},
		{"a merge patch with another UID", fmt.Errorf("patch: %w", invalid("metadata", "uid")), true},
		{"another mistake", invalid("metadata", "labels"), false},
		{"gone", apierrors.NewNotFound(corev1.Resource("pods"), "p"), false},
	}
	for _, tt := range tests {
		if got := Changed(tt.err); got != tt.want {
			t.Errorf("%s: got %t", tt.name, got)
		}
	}
}
