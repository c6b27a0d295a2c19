// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serviceaccount is "kubectl holdfast serviceaccount": what Holdfast would do to
// service accounts.
//
// look.go reads the cluster, settings.go the configuration, and what may not be read is
// a gap beside the rest. made.go makes a Plan of that, and is pure: it asks the package
// serviceaccount/plan about each account, as the controller does. text.go is for people.
// keeper.go says by which template, and for which object, one account is kept.
//
// It writes nothing.
package serviceaccount
