// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rights knows what the accounts of RootSyncs may apply, by what the API server answers. It asks only what a
// decision depends on, and keeps an answer as long as one does.
package rights
