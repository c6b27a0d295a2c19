// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// Remote is a repository, and who asks for it. It is comparable.
type Remote struct {
	// URL is https, http, ssh or file, or the short form of ssh "user@host:path".
	URL string
	// Username and Password are for https: the keys "username" and "token" of the Secret.
	Username, Password remote.Secret
	// PrivateKey and KnownHosts are for ssh: the keys "ssh" and "known_hosts".
	PrivateKey, KnownHosts remote.Secret
	// CA are certificates in PEM that are trusted instead of those of the system.
	CA string
	// NoSSLVerify trusts every certificate.
	NoSSLVerify bool
	// Proxy is for https and http; without one those of the environment are.
	Proxy string
}

// HostKeysUnchecked says whether whoever is on the way to the server can pass for it:
// ssh without known hosts, as in Config Sync. Whoever reports about the source should
// tell.
func (r Remote) HostKeysUnchecked() bool {
	a, err := parseAddress(r.URL)
	return err == nil && a.scheme == "ssh" && r.KnownHosts == ""
}

// PasswordUnencrypted reports that everyone on the way to the server reads the password: http without TLS.
func (r Remote) PasswordUnencrypted() bool {
	a, err := parseAddress(r.URL)
	return err == nil && a.scheme == "http" && (r.Password != "" || a.password != "")
}

// address is a URL without credentials.
type address struct {
	// url is what git is given.
	url    string
	scheme string
	// host is that of the server, with the port; empty for file.
	host string
	// username and password stood in the URL.
	username, password string
}

// short is the form "user@host:path" of ssh.
var short = regexp.MustCompile(`^(?:([A-Za-z0-9_][A-Za-z0-9_.-]*)@)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):([^:/].*|/[^/].*)$`)

// parseAddress reads a URL, and refuses what git would take for something else: an
// option, another transport, a folder of this machine.
func parseAddress(raw string) (address, error) {
	if raw == "" {
		return address{}, fmt.Errorf("it is empty")
	}
	for _, r := range raw {
		if r < ' ' || r == 0x7f {
			return address{}, fmt.Errorf("it has a control character")
		}
	}
	if !strings.Contains(raw, "://") {
		if m := short.FindStringSubmatch(raw); m != nil {
			return address{url: raw, scheme: "ssh", host: m[2]}, nil
		}
		return address{}, fmt.Errorf("it is no URL of the form https://…, ssh://… or user@host:path")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return address{}, fmt.Errorf("it is no URL") // the error of Parse shows it all, a password too
	}
	return addressOf(u)
}

func addressOf(u *url.URL) (address, error) {
	if err := checkHost(u); err != nil {
		return address{}, err
	}
	if u.Path == "" || u.Path == "/" {
		return address{}, fmt.Errorf("it names no repository")
	}
	out := address{scheme: u.Scheme, host: u.Host, username: u.User.Username()}
	out.password, _ = u.User.Password()
	if strings.HasPrefix(out.username, "-") {
		return address{}, fmt.Errorf("it names no user")
	}
	u.User = nil
	if u.Scheme == "ssh" && out.username != "" {
		u.User = url.User(out.username)
	}
	out.url = u.String()
	return out, nil
}

func checkHost(u *url.URL) error {
	switch u.Scheme {
	case "https", "http", "ssh":
		if u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") {
			return fmt.Errorf("it names no host")
		}
	case "file":
		if u.Host != "" && u.Host != "localhost" {
			return fmt.Errorf("a file is on this machine: the form is file:///path")
		}
	default:
		return fmt.Errorf("%q is none of https, http and ssh", u.Scheme)
	}
	return nil
}

// origin is what git asks a user name and a password for.
func (a address) origin() string { return a.scheme + "://" + a.host }
