// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory knows which kinds the API server serves, and watches the
// metadata of those objects that somebody wants to know of. Both follow the
// cluster: a kind that comes or goes with a CustomResourceDefinition or an
// APIService is known a moment later.
package inventory
