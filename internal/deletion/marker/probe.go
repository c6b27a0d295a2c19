// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

// verdict says whether the server of a kind asks the cluster's policies.
type verdict int

const (
	unknown verdict = iota
	enforced
	notEnforced
)

// probe is what was found out about an aggregated kind.
type probe struct {
	verdict verdict
	message string
}
