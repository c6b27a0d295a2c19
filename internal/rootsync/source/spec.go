// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/oci"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// DefaultPeriod is how often a source is looked at.
const DefaultPeriod = 15 * time.Second

// Spec says what is followed. It is comparable. Two with the same Remote share every
// look at the server; so do not two with other credentials, lest one sees by the other's
// what it may not.
type Spec struct {
	Remote
	// Target is what of a Git repository is followed.
	Target remote.Target
	// Period is how often to look, 0 is DefaultPeriod. Of those who share, the shortest
	// counts.
	Period time.Duration
}

// Remote is either a Git repository or an image: one has a URL, the other a name.
type Remote struct {
	Git git.Remote
	OCI oci.Remote
}

// HostKeysUnchecked says whether whoever is on the way to the server can pass for it.
// Whoever reports about the source should tell.
func (r Remote) HostKeysUnchecked() bool { return r.OCI.Image == "" && r.Git.HostKeysUnchecked() }

// PasswordUnencrypted reports that everyone on the way to the server reads the password.
func (r Remote) PasswordUnencrypted() bool { return r.OCI.Image == "" && r.Git.PasswordUnencrypted() }

// Options are those of a Cache.
type Options struct {
	// Dir is a folder for the Cache alone: whatever is in it is removed at the start.
	Dir string
	Git git.Options
	OCI oci.Options
	// Lists and Fetches bound how many looks at servers, and how many fetches, are under
	// way at once; 0 is 8 and 3. They bound the memory of the programs that do it.
	Lists, Fetches int
	// Retry is the first pause after an error; 0 is a second.
	Retry time.Duration
	// Asked tells of each request to a server, a "poll" or a "fetch", for those who count.
	// It may be nil, is called from several goroutines, and must not block.
	Asked func(what string, succeeded bool)
}

// open makes the backend of a remote. One that cannot be used says so whenever it is
// asked.
func (o Options) open(r Remote, dir string) backend {
	var b backend
	var err *knv.Error
	if r.OCI.Image != "" {
		b, err = oci.Open(o.OCI, r.OCI)
	} else {
		b, err = git.Open(o.Git, r.Git, dir)
	}
	if err != nil {
		return unusable{err}
	}
	return b
}
