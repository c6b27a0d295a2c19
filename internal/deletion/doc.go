// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deletion is the guard against accidental deletion: it turns the rules
// of package policy into ValidatingAdmissionPolicies, which hold inside the API
// server while Holdfast is down.
package deletion
