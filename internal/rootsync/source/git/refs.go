// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

const (
	head        = "HEAD"
	heads       = "refs/heads/"
	tags        = "refs/tags/"
	peeled      = "^{}"
	abbreviated = 4 // the shortest form of a commit that git takes
	shown       = 5 // how many branches a message names
)

var (
	full     = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	hexadec  = regexp.MustCompile(`^[0-9a-f]+$`)
	refNames = regexp.MustCompile(`^[^\x00-\x20\x7f~^:?*\[\\]+$`)
)

// refs are what a server has, by their full names. A tag with a message is also there
// with "^{}" behind its name, for the commit that it names.
type refs map[string]string

// parseRefs reads what "git ls-remote" says.
func parseRefs(out []byte) (refs, error) {
	r := refs{}
	for line := range strings.Lines(string(out)) {
		id, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !found || !full.MatchString(id) || !refNames.MatchString(strings.TrimSuffix(name, peeled)) {
			return nil, fmt.Errorf("the list of refs has a line that is none: %.80q", line)
		}
		r[name] = id
	}
	return r, nil
}

// wanted is the name that a target follows, and whether it is a branch's.
func wanted(t remote.Target) (name string, branch bool) {
	if t.Revision != "" && t.Revision != head {
		return t.Revision, false
	}
	return cmp.Or(t.Branch, head), true
}

// fixed says whether a target is a commit in full, which never changes.
func fixed(t remote.Target) bool {
	name, branch := wanted(t)
	return !branch && full.MatchString(name)
}

// beyond says whether a target is to be found only in the list of all refs, which on
// some servers has every pull request that ever was.
func beyond(t remote.Target) bool {
	name, _ := wanted(t)
	return name == head || strings.HasPrefix(name, "refs/") && !strings.HasPrefix(name, heads) && !strings.HasPrefix(name, tags)
}

// candidates are the refs that a name can mean, the first that there is counts. As in git
// a tag comes before a branch, unless a branch was asked for.
func candidates(name string, branch bool) []string {
	switch {
	case name == head:
		return []string{head}
	case strings.HasPrefix(name, "refs/"):
		return []string{name}
	case strings.HasPrefix(name, "heads/"), strings.HasPrefix(name, "tags/"):
		return []string{"refs/" + name, heads + name, tags + name}
	case branch:
		return []string{heads + name, tags + name}
	}
	return []string{tags + name, heads + name}
}

// find is the commit of a target; "" if there is no such ref. An abbreviated commit is
// found if it is that of exactly one ref.
func (r refs) find(t remote.Target) string {
	name, branch := wanted(t)
	if !branch && full.MatchString(name) {
		return name
	}
	for _, c := range candidates(name, branch) {
		if id, ok := r[c+peeled]; ok {
			return id
		}
		if id, ok := r[c]; ok {
			return id
		}
	}
	if branch || !isShort(name) {
		return ""
	}
	return r.only(name)
}

// isShort says whether a name can be an abbreviated commit.
func isShort(name string) bool { return len(name) >= abbreviated && hexadec.MatchString(name) }

// only is the one commit that begins with a prefix; "" if there are none or several.
func (r refs) only(prefix string) string {
	found := ""
	for name, id := range r {
		if _, tag := r[name+peeled]; tag || !strings.HasPrefix(id, prefix) {
			continue
		}
		if found != "" && found != id {
			return ""
		}
		found = id
	}
	return found
}

// names are some branches, for a message that says which there are.
func (r refs) names() string {
	var out []string
	for name := range r {
		if b, ok := strings.CutPrefix(name, heads); ok {
			out = append(out, b)
		}
	}
	slices.Sort(out)
	if len(out) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(out[:shown], ", "), len(out)-shown)
	}
	return strings.Join(out, ", ")
}

// any is one of the commits, whichever; its length says which format the server has.
func (r refs) any() string {
	for _, id := range r {
		return id
	}
	return ""
}
