// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !kubernetes_1_36

package extension

import "context"

func (strategy) AllowCreateOnUpdate(context.Context) bool      { return false }
func (strategy) AllowUnconditionalUpdate(context.Context) bool { return true }
