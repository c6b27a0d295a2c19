// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Target is what is wanted of a Git repository. Of an image nothing is left to say, as
// its tag or digest belongs to its name.
type Target struct {
	// Branch is followed if Revision is empty or "HEAD". If it is empty too, the
	// repository's own HEAD is.
	Branch string
	// Revision is a tag, a branch, another ref by its full name, or a commit, in full or
	// abbreviated.
	Revision string
	// Depth is how many commits of each branch are looked through for an abbreviated
	// commit, and for one that the server does not give away by its name; 0 is all.
	Depth int
}

// Secret is a credential that no message and no log shows. It is comparable, and so
// is what has one.
type Secret string

const hidden = "[hidden]"

// String hides it.
func (Secret) String() string { return hidden }

// GoString hides it.
func (Secret) GoString() string { return hidden }

// MarshalText hides it from what encodes and logs.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// leastHidden is the length from which on a secret is one: a shorter one would take
// letters out of every text.
const leastHidden = 4

// Hide takes secrets out of a text: a server may repeat what it was sent.
func Hide(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) >= leastHidden {
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	return text
}

// Limits bound what a source can take of this machine, whoever can write to it.
type Limits struct {
	// FetchBytes is what one fetch may bring, compressed as it comes.
	FetchBytes int64
	// TreeBytes is what all files together may have.
	TreeBytes int64
	// TreeFiles is how many files, folders and links there may be.
	TreeFiles int
}

// OrDefaults fills up what is 0.
func (l Limits) OrDefaults() Limits {
	return Limits{
		FetchBytes: cmp.Or(l.FetchBytes, 512<<20),
		TreeBytes:  cmp.Or(l.TreeBytes, 512<<20),
		TreeFiles:  cmp.Or(l.TreeFiles, 100_000),
	}
}

// ErrMissing is the cause of an error about a branch or a revision that is not there: the
// next look at the server may show it.
var ErrMissing = errors.New("it is not there")

// contentError is about what a commit or an image has in it.
type contentError struct{ error }

func (e *contentError) Unwrap() error { return e.error }

// Content makes an error, as fmt.Errorf does, about what a commit or an image has in it:
// fetching it again does not help.
func Content(format string, args ...any) error {
	return &contentError{fmt.Errorf(format, args...)}
}

// IsContent says whether an error is, or comes from, one of Content.
func IsContent(err error) bool {
	var c *contentError
	return errors.As(err, &c)
}
