// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build kubernetes_1_36

package extension

func (strategy) AllowCreateOnUpdate() bool      { return false }
func (strategy) AllowUnconditionalUpdate() bool { return true }
