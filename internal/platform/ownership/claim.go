// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// How is the way in which a namespace is claimed.
type How string

const (
	// Declared is a Namespace in the source of a RootSync.
	Declared How = "declared"
	// Subnamespace is an anchor in the parent.
	Subnamespace How = "subnamespace"
	// Foreign is a mark of another tool.
	Foreign How = "foreign"
	// Implicit is a RootSync that has objects in the namespace, does not declare it,
	// and makes it where it is not there.
	Implicit How = "implicit"
)

// ranks of the ways, the strongest first.
var ranks = []How{Declared, Subnamespace, Foreign, Implicit}

// rank of a way; those that this version does not know come last.
func (h How) rank() int {
	for i, known := range ranks {
		if h == known {
			return i
		}
	}
	return len(ranks)
}

// marked says whether claims of this way live and die with a mark on the namespace.
func (h How) marked() bool { return h == Subnamespace || h == Foreign }

// Claim says that somebody claims a namespace.
type Claim struct {
	How How
	// Claimant is who, as RootSync and its like name it.
	Claimant string
	// Since is when the claimant came to be, in UTC and whole seconds. The zero time
	// is not known, which is before anything that is.
	Since time.Time
}

// Names of claimants begin with what they are.
const (
	rootSync   = "rootsync"
	anchor     = "anchor"
	configSync = "configsync"
	flux       = "flux"
	argoCD     = "argocd"
	helm       = "helm"
)

// RootSync is the claimant that a RootSync is.
func RootSync(namespace, name string) string { return claimant(rootSync, namespace, name) }

// Anchor is the claimant that an anchor in a parent is. It has the name of the
// namespace that it claims, so that need not be said.
func Anchor(parent string) string { return claimant(anchor, parent) }

// maxPart bounds each part of a claimant. No name in Kubernetes is longer.
const maxPart = 253

// claimant joins parts, which may come from annotations that people wrote: what a
// claim cannot hold is escaped, and what is too long is cut and told apart by a
// hash.
func claimant(kind string, parts ...string) string {
	out := []string{kind}
	for _, part := range parts {
		escaped := escape(part)
		if len(escaped) > maxPart {
			escaped = fmt.Sprintf("%s~%x", escaped[:maxPart-9], sha256.Sum256([]byte(part)))[:maxPart]
		}
		out = append(out, escaped)
	}
	return strings.Join(out, "/")
}

func escape(part string) string {
	if part == "" {
		return "~"
	}
	var b strings.Builder
	for _, c := range []byte(part) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

const (
	separator = ", "
	// unknown stands for a time that is not known.
	unknown = "-"
)

var (
	howForm      = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	claimantForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}(/[A-Za-z0-9._~%-]{1,253}){1,3}$`)
)

// At is a claim whose claimant came to be at a time.
func At(how How, claimant string, since time.Time) Claim {
	return Claim{How: how, Claimant: claimant, Since: since.UTC().Truncate(time.Second)}
}

// String is the claim as it is written.
func (c Claim) String() string {
	since := unknown
	if !c.Since.IsZero() {
		since = c.Since.Format(time.RFC3339)
	}
	return string(c.How) + " " + c.Claimant + " " + since
}

// parseClaim reads what String wrote and nothing else.
func parseClaim(text string) (Claim, error) {
	words := strings.Split(text, " ")
	if len(words) != 3 {
		return Claim{}, errors.New("a claim has three words: how, who and since when")
	}
	c := Claim{How: How(words[0]), Claimant: words[1]}
	if !howForm.MatchString(words[0]) || words[0] == found {
		return Claim{}, fmt.Errorf("%q is no way to claim", words[0])
	}
	if !claimantForm.MatchString(words[1]) {
		return Claim{}, fmt.Errorf("%q is not the name of a claimant", words[1])
	}
	if words[2] == unknown {
		return c, nil
	}
	since, err := time.Parse(time.RFC3339, words[2])
	if err != nil || since.IsZero() {
		return Claim{}, fmt.Errorf("%q is no time", words[2])
	}
	if c.Since = since.UTC(); c.Since.Format(time.RFC3339) != words[2] {
		return Claim{}, fmt.Errorf("%q is not a time in UTC and whole seconds", words[2])
	}
	return c, nil
}
