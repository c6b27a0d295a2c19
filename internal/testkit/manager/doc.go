// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manager installs Holdfast on a cluster and runs its manager as a
// process of this machine, under the manager's own service account.
package manager
