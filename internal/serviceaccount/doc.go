// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serviceaccount keeps the labels and annotations of service accounts as
// the objects that they belong to say: what an operator's custom resource has under
// its template for a service account reaches the account, and what other people have
// set on it stays.
//
// Package mapping tells which accounts objects want, package plan decides about one
// account. This package follows the objects and the accounts, has the decision made
// whenever one of them has changed, and does the one write that it asks for. In mode
// Report it does everything but the write.
package serviceaccount
