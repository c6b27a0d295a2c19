// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
	"github.com/holdfast-dev/holdfast/internal/testkit/gitserver"
)

var onMain = remote.Target{Branch: "main"}

func TestHTTPS(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{TLS: true, Username: "me", Password: "geheim"})
	other := gitserver.Start(t, gitserver.Options{TLS: true})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "x"})
	host := strings.TrimPrefix(repo.URL(), "https://")
	tests := []struct {
		name   string
		remote Remote
		words  []string
	}{
		{"user name, token and CA", Remote{URL: repo.URL(), Username: "me", Password: "geheim", CA: server.CA()}, nil},
		{"no check of the certificate", Remote{URL: repo.URL(), Username: "me", Password: "geheim", NoSSLVerify: true}, nil},
		{"credentials in the URL", Remote{URL: "https://me:geheim@" + host, CA: server.CA()}, nil},
		{"a certificate that nobody trusts", Remote{URL: repo.URL(), Username: "me", Password: "geheim"}, []string{"certificate that is not trusted", "caCertSecretRef"}},
		{"the CA of another server", Remote{URL: repo.URL(), CA: other.CA()}, []string{"certificate that is not trusted"}},
		{"a CA that is none", Remote{URL: repo.URL(), CA: "x"}, []string{"certificate"}},
		{"no credentials", Remote{URL: repo.URL(), CA: server.CA()}, []string{"wants credentials", "spec.git.auth"}},
		{"the wrong token", Remote{URL: repo.URL(), Username: "me", Password: "falsch", CA: server.CA()}, []string{"does not take the credentials", `"username" and "token"`}},
		{"the wrong token in the URL", Remote{URL: "https://me:falsch@" + host, CA: server.CA()}, []string{"does not take the credentials"}},
		{"a repository that is not there", Remote{URL: server.URL() + "/nope.git", Username: "me", Password: "geheim", CA: server.CA()}, []string{"does not exist"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := opened(t, Options{}, tt.remote)
			_, dir, err := fetched(t, r, onMain)
			if tt.words == nil {
				if err != nil {
					t.Fatal(err)
				}
				wantFiles(t, dir, map[string]string{"f": "x"})
			} else {
				wantError(t, err, tt.words...)
				if strings.Contains(err.Message(), "geheim") || strings.Contains(err.Message(), "falsch") {
					t.Errorf("the error shows the token: %s", err.Message())
				}
			}
			nowhere(t, r.dir, "geheim", "falsch")
		})
	}
}

// nowhere looks for credentials in every file of a folder.
func nowhere(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		for _, s := range secrets {
			if strings.Contains(string(data), s) {
				t.Errorf("%s has a credential in it", name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCredentialsThatExpireAndComeBack(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{Username: "me", Password: "a"})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "x"})
	r := opened(t, Options{}, Remote{URL: repo.URL(), Username: "me", Password: "a"})
	if _, _, err := fetched(t, r, onMain); err != nil {
		t.Fatal(err)
	}
	server.SetLogin("me", "b")
	repo.Commit(t, map[string]string{"f": "y"})
	_, _, err := fetched(t, r, onMain)
	wantError(t, err, "expired")
	server.SetLogin("me", "a")
	if _, _, err := fetched(t, r, onMain); err != nil {
		t.Fatal(err)
	}
}

func TestSSH(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{})
	repo := server.Repo(t, "r")
	old := repo.Commit(t, map[string]string{"f": "1"})
	repo.Commit(t, map[string]string{"f": "2"})
	access, err := server.StartSSH()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(access.Close)
	stranger, err := server.StartSSH()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stranger.Close)
	address := func(line string) string { where, _, _ := strings.Cut(line, " "); return where }
	impostor := strings.Replace(stranger.KnownHosts, address(stranger.KnownHosts), address(access.KnownHosts), 1)
	url := access.URL(repo)
	tests := []struct {
		name      string
		remote    Remote
		target    remote.Target
		unchecked bool
		words     []string
	}{
		{"key and known hosts", Remote{URL: url, PrivateKey: remote.Secret(access.Key), KnownHosts: remote.Secret(access.KnownHosts)}, onMain, false, nil},
		{"an old commit, which the newer protocol gives away", Remote{URL: url, PrivateKey: remote.Secret(access.Key)}, remote.Target{Revision: old}, true, nil},
		{"no known hosts", Remote{URL: url, PrivateKey: remote.Secret(access.Key)}, onMain, true, nil},
		{"a key without its last line end", Remote{URL: url, PrivateKey: remote.Secret(strings.TrimSpace(access.Key))}, onMain, true, nil},
		{"known hosts without this one", Remote{URL: url, PrivateKey: remote.Secret(access.Key), KnownHosts: remote.Secret(stranger.KnownHosts)}, onMain, false, []string{"key is not known", "ssh-keyscan", `"known_hosts"`}},
		{"another key of the host", Remote{URL: url, PrivateKey: remote.Secret(access.Key), KnownHosts: remote.Secret(impostor)}, onMain, false, []string{"not the known one"}},
		{"known hosts that are none", Remote{URL: url, PrivateKey: remote.Secret(access.Key), KnownHosts: "x y z"}, onMain, false, []string{`"known_hosts"`, "a line that is none"}},
		{"another private key", Remote{URL: url, PrivateKey: remote.Secret(stranger.Key)}, onMain, true, []string{"does not take the private key", `"ssh"`}},
		{"a private key that is none", Remote{URL: url, PrivateKey: "geheim"}, onMain, true, []string{"no private key"}},
		{"no private key", Remote{URL: url}, onMain, true, []string{"no private key"}},
		{"a repository that is not there", Remote{URL: url + "x", PrivateKey: remote.Secret(access.Key)}, onMain, true, []string{"does not exist"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.remote.HostKeysUnchecked(); got != tt.unchecked {
				t.Errorf("host keys unchecked: %t", got)
			}
			r := opened(t, Options{}, tt.remote)
			_, dir, err := fetched(t, r, tt.target)
			nowhere(t, r.dir, "PRIVATE KEY", "geheim")
			if tt.words != nil {
				wantError(t, err, tt.words...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := "2"
			if tt.target.Revision != "" {
				want = "1"
			}
			wantFiles(t, dir, map[string]string{"f": want})
		})
	}
}

func TestBrokenServers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault gitserver.Fault
		words []string
	}{
		{"an error of the server", gitserver.Fault{Status: 500}, []string{"its server has an error", "500"}},
		{"too many requests", gitserver.Fault{Status: 429}, []string{"its server has an error"}},
		{"a pack that breaks off", gitserver.Fault{CutPackAfter: 3000}, []string{"broke off"}},
		{"a pack that hardly begins", gitserver.Fault{CutPackAfter: 3}, []string{"broke off"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := gitserver.Start(t, gitserver.Options{})
			repo := server.Repo(t, "r")
			want := map[string]string{"f": noise(100_000)}
			repo.Commit(t, want)
			server.SetFault(tt.fault)
			r := opened(t, Options{}, Remote{URL: repo.URL()})
			_, _, first := fetched(t, r, onMain)
			wantError(t, first, tt.words...)
			if remote.IsContent(first) {
				t.Error("it is to be tried again")
			}
			_, _, second := fetched(t, r, onMain)
			if second == nil || second.Text != first.Text {
				t.Errorf("another text the second time:\n%v\n%v", first, second)
			}
			server.SetFault(gitserver.Fault{})
			_, dir, err := fetched(t, r, onMain)
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, dir, want)
		})
	}
	t.Run("a server that is down, and comes back", func(t *testing.T) {
		t.Parallel()
		server := gitserver.Start(t, gitserver.Options{})
		repo := server.Repo(t, "r")
		repo.Commit(t, map[string]string{"f": "x"})
		server.Stop()
		r := opened(t, Options{}, Remote{URL: repo.URL()})
		_, _, err := fetched(t, r, onMain)
		wantError(t, err, "cannot be reached")
		if err := server.Resume(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := fetched(t, r, onMain); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a host that is not there", func(t *testing.T) {
		t.Parallel()
		_, _, err := fetched(t, opened(t, Options{}, Remote{URL: "https://nowhere.invalid/r.git"}), onMain)
		wantError(t, err, "host that is not known")
	})
	t.Run("a repository without commits", func(t *testing.T) {
		t.Parallel()
		server := gitserver.Start(t, gitserver.Options{})
		_, _, err := fetched(t, opened(t, Options{}, Remote{URL: server.Repo(t, "r").URL()}), onMain)
		wantError(t, err, "is empty")
	})
	t.Run("no git", func(t *testing.T) {
		t.Parallel()
		_, _, err := fetched(t, opened(t, Options{Binary: "no-such-git"}, Remote{URL: "https://example.com/r.git"}), onMain)
		wantError(t, err, "the program git is not there")
	})
}

func TestRedirect_toAnotherHostGetsNoPassword(t *testing.T) {
	t.Parallel()
	asked := gitserver.Start(t, gitserver.Options{})
	thief := gitserver.Start(t, gitserver.Options{Username: "me", Password: "geheim"})
	repo := thief.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "x"})
	asked.SetFault(gitserver.Fault{RedirectTo: thief.URL()})
	r := opened(t, Options{}, Remote{URL: asked.URL() + "/r.git", Username: "me", Password: "geheim"})
	_, _, err := fetched(t, r, onMain)
	wantError(t, err, "credentials")
	if c := repo.Counts(); c.Lists != 0 {
		t.Errorf("the other host was given the password: %+v", c)
	}
}

func TestRedirect_onTheSameHost(t *testing.T) {
	t.Parallel()
	server := gitserver.Start(t, gitserver.Options{Username: "me", Password: "geheim"})
	repo := server.Repo(t, "r")
	repo.Commit(t, map[string]string{"f": "x"})
	server.Rename("old", "r")
	_, dir, err := fetched(t, opened(t, Options{}, Remote{URL: server.URL() + "/old.git", Username: "me", Password: "geheim"}), onMain)
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, dir, map[string]string{"f": "x"})
}

func TestOpen_refuses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "-x", "--upload-pack=x", "/etc", "../x", "ext::sh -c id", "fd::3", "git://host/r", "ftp://host/r", "https://", "https://host", "https://host/",
		"ssh://-oProxyCommand=x/r", "ssh://-x@host/r", "-oProxyCommand=x:r", "host\n:r", "https://host/r\x00", "file://host/r", "host::r", "http:///r", "https://u:p w@host/r",
	} {
		if _, err := Open(Options{AllowFile: true}, Remote{URL: url}, filepath.Join(t.TempDir(), "x")); err == nil {
			t.Errorf("%q was taken", url)
		}
	}
	if _, err := Open(Options{}, Remote{URL: "file:///etc"}, filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("a folder was taken without being allowed")
	}
	for _, url := range []string{"https://host/r", "http://host:1/r", "ssh://u@host:22/r", "ssh://host/r", "git@host:o/r.git", "host:r", "git@[::1]:r"} {
		if _, err := Open(Options{}, Remote{URL: url}, filepath.Join(t.TempDir(), "x")); err != nil {
			t.Errorf("%q was refused: %v", url, err)
		}
	}
}

func FuzzParseRefs(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add([]byte(id + "\trefs/heads/main\n" + id + "\trefs/tags/v^{}\n"))
	f.Add([]byte(id + "\t\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRefs(data)
		if err != nil {
			return
		}
		for name, id := range r {
			if !full.MatchString(id) || strings.ContainsAny(name, " \n\t\x00") {
				t.Errorf("%q: %q", name, id)
			}
			if got := r.find(remote.Target{Revision: strings.TrimSuffix(name, peeled)}); strings.HasPrefix(name, "refs/") && got == "" {
				t.Errorf("%q is not found", name)
			}
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	f.Add("100644 blob " + strings.Repeat("a", 40) + "      12\td/f")
	f.Add("160000 commit " + strings.Repeat("a", 40) + "       -\tsub")
	f.Fuzz(func(t *testing.T, record string) {
		e, err := parseEntry(record)
		if err == nil && (!filepath.IsLocal(e.path) || e.size < 0 || !full.MatchString(e.id)) {
			t.Errorf("%q: %+v", record, e)
		}
	})
}

func TestPasswordUnencrypted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		remote Remote
		want   bool
	}{
		{Remote{URL: "http://host/r", Username: "u", Password: "p"}, true},
		{Remote{URL: "http://u:p@host/r"}, true},
		{Remote{URL: "http://host/r"}, false},
		{Remote{URL: "https://host/r", Username: "u", Password: "p"}, false},
		{Remote{URL: "git@host:r", PrivateKey: "k"}, false},
	} {
		if got := tt.remote.PasswordUnencrypted(); got != tt.want {
			t.Errorf("%s: %t", tt.remote.URL, got)
		}
	}
}
