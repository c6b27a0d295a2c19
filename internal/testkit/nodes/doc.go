// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodes gives tests nodes that run pods and can be drained, as verbs that fail the test. What is
// behind them is in the packages kwok and roller, for programs that are no tests.
package nodes
