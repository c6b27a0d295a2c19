// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status says on one screen how Holdfast and all of its features are doing. It
// goes by what Holdfast has written into statuses, and looks through nothing.
package status
