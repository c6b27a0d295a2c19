// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package flags

import "regexp/syntax"

// asHNC makes of an expression one for whole names that matches what HNC matches by
// it, and says whether the two are the same. HNC puts ^ before it and $ behind it,
// without a group around it; so of a|b it takes what begins with a or ends with b.
// A namespace that HNC has managed must not fall out of the trees because another
// controller knows better.
func asHNC(expression string) (whole string, same bool) {
	bare, err := syntax.Parse("^"+expression+"$", syntax.Perl)
	if err != nil {
		return expression, true // and whoever compiles it says what is wrong
	}
	grouped, err := syntax.Parse("^(?:"+expression+")$", syntax.Perl)
	if err != nil || bare.Simplify().String() == grouped.Simplify().String() {
		return expression, true
	}
	return ".*(?:^" + expression + "$).*", false
}
