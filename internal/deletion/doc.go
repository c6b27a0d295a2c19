// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion is the guard against accidental deletion: it turns the rules
// of package policy into ValidatingAdmissionPolicies, which hold inside the API
// server while Holdfast is down, and puts together what runs in the manager.
//
// What is decided, without I/O: package policy says what protects an object and
// what a request may do to it, selection what ResourceDeletionProtections select,
// contents what hangs below a namespace, a definition or an owner.
//
// What runs: marker writes on objects what a policy cannot look up; confirm
// answers the webhook that looks below a namespace or a definition; protection and
// override keep the two kinds of that name.
package deletion
