// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uid is about writes that carry the UID of the object that they are meant
// for.
package uid

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Changed says whether a write failed because its object is gone and another has
// its name. To a server-side apply and to a deletion API servers answer that with
// a conflict; to a merge patch, that the field cannot be changed.
func Changed(err error) bool {
	if apierrors.IsConflict(err) {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil {
		return false
	}
	return slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}
