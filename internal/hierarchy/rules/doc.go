// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules decides on changes of the hierarchy, of namespaces and of what is
// propagated: who asks for something that cannot be is told why, with the code
// that HNC answered. It looks at the tree as it stands and does no I/O; what must
// be asked of the API server is in the Verdict.
//
// Holdfast's own requests do not come here.
package rules
