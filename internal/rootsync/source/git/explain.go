// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/git/helper"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// kind says what is wrong, as far as git's words tell.
type kind int

const (
	unclear kind = iota
	authentication
	certificate
	unknownHost
	changedHost
	badKey
	badHosts
	noSuchHost
	unreachable
	notFound
	serverError
	brokenOff
	unadvertised
	noRepository
	unsafeContent
	diskFull
	noShallow
	redirect
)

// signs are what git, curl, TLS libraries and the own ssh client say, in the order in
// which they count: the cause comes before what follows from it.
var signs = []struct {
	kind  kind
	words []string
}{
	{diskFull, []string{"No space left on device", "Disk quota exceeded"}},
	{unsafeContent, []string{"fsck error"}},
	{unknownHost, []string{helper.SaysUnknownHost}},
	{changedHost, []string{helper.SaysChangedHost}},
	{badKey, []string{helper.SaysNoKey}},
	{badHosts, []string{helper.SaysBadHosts}},
	{certificate, []string{
		"server certificate verification failed", "SSL certificate problem", "SSL: no alternative certificate subject name",
		"certificate subject name", "error setting certificate", "self-signed certificate", "unable to get local issuer certificate",
	}},
	{authentication, []string{
		helper.SaysRefused, "Authentication failed", "could not read Username", "could not read Password", "unable to get password",
		"returned error: 401", "returned error: 403", "Access denied", "Permission denied", "invalid credentials",
	}},
	{unadvertised, []string{"not our ref", "unadvertised object"}},
	{noSuchHost, []string{"Could not resolve host", "Could not resolve proxy", "no such host"}},
	{unreachable, []string{
		"Connection refused", "connection refused", "Failed to connect", "Couldn't connect", "Connection timed out", "Operation timed out",
		"Operation too slow", "i/o timeout", "No route to host", "no route to host", "Network is unreachable", "network is unreachable",
	}},
	{redirect, []string{"returned error: 30"}},
	{notFound, []string{"returned error: 404", "returned error: 410", "Repository not found", "' not found", "repository does not exist"}},
	{noRepository, []string{"does not appear to be a git repository", "not valid: is this a git repository", "dubious ownership"}},
	{noShallow, []string{"does not support shallow", "dumb http transport"}},
	{serverError, []string{"returned error: 5", "HTTP 5", "returned error: 429"}},
	{brokenOff, []string{
		"early EOF", "unexpected disconnect", "RPC failed", "hung up unexpectedly", "transfer closed", "invalid index-pack output",
		"index-pack failed", "Empty reply from server", "reset by peer", "Recv failure", "unexpected EOF", "broken pipe", "expected flush",
		"bad line length", "TLS connection was non-properly terminated", "SSL_read", "GnuTLS recv error", "HTTP/2 stream", "unexpected end of file",
	}},
}

// kindOf reads the words.
func kindOf(words string) kind {
	for _, s := range signs {
		for _, w := range s.words {
			if strings.Contains(words, w) {
				return s.kind
			}
		}
	}
	return unclear
}

// isUnadvertised says whether a server has a commit perhaps and does not give it away by
// its name.
func isUnadvertised(err error) bool {
	var f *failure
	return errors.As(err, &f) && kindOf(f.words) == unadvertised
}

// isRedirect says whether the server has sent git on.
func isRedirect(err error) bool {
	var f *failure
	return errors.As(err, &f) && kindOf(f.words) == redirect
}

// isElsewhere says whether a fetch failed for what is not in the own repository.
func isElsewhere(err error) bool {
	var f *failure
	if !errors.As(err, &f) {
		return false
	}
	if _, ok := errors.AsType[*exec.ExitError](f.err); !ok {
		return true // it was ended, or not even started
	}
	switch kindOf(f.words) {
	case unclear, unsafeContent, diskFull:
		return false
	}
	return true
}

// explain says what is wrong and what to do.
func (r *Repository) explain(err error) *knv.Error {
	var f *failure
	var text string
	switch {
	case errors.Is(err, context.Canceled):
		text = "was not read: Holdfast ends"
	case remote.IsContent(err):
		text = fmt.Sprintf("cannot be used: %v", err)
	case errors.Is(err, errTooLarge):
		text = fmt.Sprintf("is too large: one fetch may bring %d MiB at most; give a repository of its own to the configuration", r.options.Limits.FetchBytes>>20)
		err = remote.Content("%w", err)
	case errors.Is(err, errTimeout):
		text = "did not answer in time; check the server, the network, and the size of the repository"
	case errors.Is(err, exec.ErrNotFound):
		text = "cannot be read: the program git is not there; the image of Holdfast must have it"
	case errors.As(err, &f):
		text, err = r.explainFailure(f)
	default:
		text = fmt.Sprintf("cannot be read: %v", err)
	}
	return knv.New(knv.Source, "%s", r.redact("the Git repository "+r.address.url+" "+text)).Because(err)
}

func (r *Repository) explainFailure(f *failure) (text string, cause error) {
	k := kindOf(f.words)
	text = r.say(k)
	if quote := essence(f.words); quote != "" {
		text += " (git: " + quote + ")"
	}
	if k == unsafeContent {
		return text, remote.Content("%w", f)
	}
	return text, f
}

// sayings are what the kinds of failures mean, and what to do about them.
var sayings = map[kind]string{
	unclear:     "cannot be read",
	certificate: "has a certificate that is not trusted; put the CA into the key \"cert\" of the Secret of spec.git.caCertSecretRef",
	unknownHost: "is on a host whose key is not known; add the line that ssh-keyscan prints to the key \"known_hosts\" of the Secret of spec.git.secretRef",
	changedHost: "is on a host whose key is not the known one: it was changed, or somebody pretends to be the host; " +
		"if it was changed, correct the key \"known_hosts\" of the Secret of spec.git.secretRef",
	badKey:        "cannot be asked: the key \"ssh\" of the Secret of spec.git.secretRef is no private key without a passphrase",
	badHosts:      "cannot be asked: the key \"known_hosts\" of the Secret of spec.git.secretRef has a line that is none",
	noSuchHost:    "is on a host that is not known; correct spec.git.repo, or check the name server",
	unreachable:   "cannot be reached; check the server, the network and spec.git.repo",
	redirect:      "is at another address; correct spec.git.repo",
	notFound:      "does not exist, or not for this user; correct spec.git.repo, or check what the credentials may read",
	noRepository:  "does not exist, or not for this user; correct spec.git.repo, or check what the credentials may read",
	serverError:   "cannot be read: its server has an error; it is asked again soon",
	brokenOff:     "broke off while it was read; it is asked again soon",
	unadvertised:  "does not have the commit any more; it is asked again soon",
	noShallow:     "is on a server that has files only; it must speak Git's smart protocol",
	unsafeContent: "has a commit that could do harm and is refused",
	diskFull:      "cannot be fetched: the disk of Holdfast is full; give its volume for sources more room",
}

func (r *Repository) say(k kind) string {
	if k == authentication {
		return r.sayLogin()
	}
	return sayings[k]
}

func (r *Repository) sayLogin() string {
	_, password := r.login()
	switch {
	case r.address.scheme == "ssh" && r.remote.PrivateKey != "":
		return "does not take the private key; check the key \"ssh\" of the Secret of spec.git.secretRef, and that the server knows its public half"
	case password != "":
		return "does not take the credentials, or they have expired; check the keys \"username\" and \"token\" of the Secret of spec.git.secretRef"
	}
	return "wants credentials, or does not exist; set spec.git.auth and spec.git.secretRef, or correct spec.git.repo"
}

var (
	// varying are parts of messages that are different each time: the status of a
	// RootSync must not change with them.
	varying = regexp.MustCompile(` after \d+ (ms|milliseconds)|\d+ bytes? of body are still expected|; last alert.*$`)
	prefix  = regexp.MustCompile(`^(remote: )?(fatal|error|ERROR): `)
)

const maxQuote = 300

// essence is the one line of git's words that says most: the first that is fatal, or the
// first that is an error, or what the own ssh client says.
func essence(words string) string {
	best, rank := "", 0
	for line := range strings.Lines(words) {
		line = strings.TrimSpace(line)
		n := 0
		switch {
		case strings.HasPrefix(line, helper.Prefix), strings.HasPrefix(line, "error: object "): // the latter is a defect in one
			n = 4
		case strings.HasPrefix(line, "fatal: "):
			n = 3
		case prefix.MatchString(line):
			n = 2
		case line != "":
			n = 1
		}
		if n > rank {
			best, rank = line, n
		}
	}
	best = varying.ReplaceAllString(prefix.ReplaceAllString(best, ""), "")
	if len(best) > maxQuote {
		best = strings.ToValidUTF8(best[:maxQuote], "") + "…"
	}
	return best
}

// redact takes out every credential.
func (r *Repository) redact(text string) string {
	hide := secrets(r.remote, r.address)
	if user, pass := r.login(); pass != "" {
		hide = append(hide, strings.TrimPrefix(basic(user, pass), "Basic "))
	}
	return remote.Hide(text, hide...)
}
