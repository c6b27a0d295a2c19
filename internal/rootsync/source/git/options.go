// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"cmp"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/rootsync/source/remote"
)

// Options are the same for all repositories of a process.
type Options struct {
	// Binary is the program "git", 2.32 or later; "" is that of the PATH.
	Binary string
	// Helper is a program whose main calls helper.Main first; "" is this program.
	Helper string
	// AllowFile lets sources be folders of this machine. Whoever may declare a source can
	// read them then: it is for the demo and for tests.
	AllowFile bool
	Limits    remote.Limits
	// ListTimeout and FetchTimeout bound one call; 0 is 30 seconds and 5 minutes.
	ListTimeout, FetchTimeout time.Duration
}

func (o Options) orDefaults() Options {
	o.Binary = cmp.Or(o.Binary, "git")
	if o.Helper == "" {
		o.Helper, _ = os.Executable() // without it, git says that it cannot ask
	}
	o.Limits = o.Limits.OrDefaults()
	o.ListTimeout = cmp.Or(o.ListTimeout, 30*time.Second)
	o.FetchTimeout = cmp.Or(o.FetchTimeout, 5*time.Minute)
	return o
}

func (o Options) protocols() string {
	if o.AllowFile {
		return "https:http:ssh:file"
	}
	return "https:http:ssh"
}

// inherited are the variables that git and the libraries below it may see of this
// process: how to find programs and certificates, and the way out.
var inherited = []string{
	"PATH", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"HTTPS_PROXY", "https_proxy", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy",
}

// tolerated are defects that git finds in the objects of old repositories and that do
// no harm. All others are refused, among them a folder ".git" in a tree.
var tolerated = []string{
	"badDate", "badEmail", "badName", "badTimezone", "badFilemode", "missingEmail", "missingNameBeforeEmail",
	"missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingTaggerEntry", "badTagName", "zeroPaddedFilemode",
	"zeroPaddedDate", "multipleAuthors", "nulInCommit", "missingAuthor",
}

// configuration is all that git is configured with. It comes by the environment, so that
// there is no file that could be changed.
func configuration(proxy string) [][2]string {
	c := [][2]string{
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"core.attributesFile", os.DevNull},
		{"fetch.fsckObjects", "true"},
		{"fetch.recurseSubmodules", "false"},
		{"fetch.writeCommitGraph", "false"},
		{"fetch.unpackLimit", "1"}, // a fetch is one pack, whose size can be watched
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"protocol.version", "2"},
		{"credential.helper", ""},
		// Less than 1000 bytes a second for a while is a server that is gone.
		{"http.lowSpeedLimit", "1000"},
		{"http.lowSpeedTime", "30"},
		// Small memory rather than fast unpacking: larger files are not held in memory.
		{"core.bigFileThreshold", "4m"},
		{"core.deltaBaseCacheLimit", "16m"},
		{"core.packedGitWindowSize", "16m"},
		{"core.packedGitLimit", "64m"},
		{"pack.threads", "1"},
	}
	for _, id := range tolerated {
		c = append(c, [2]string{"fetch.fsck." + id, "ignore"})
	}
	if proxy != "" {
		c = append(c, [2]string{"http.proxy", proxy})
	}
	return c
}

// environment is that of every git of a repository; home is an empty folder.
func environment(o Options, r Remote, home string) []string {
	env := []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "LC_ALL=C", "LANGUAGE=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=" + o.protocols(),
	}
	for _, name := range inherited {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	env = append(env, configured(0, configuration(r.Proxy)...)...)
	if r.NoSSLVerify {
		env = append(env, "GIT_SSL_NO_VERIFY=true")
	}
	return env
}

// configured is the environment for more settings; there are some before them.
func configured(before int, pairs ...[2]string) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(before+len(pairs))}
	for i, p := range pairs {
		n := strconv.Itoa(before + i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+p[0], "GIT_CONFIG_VALUE_"+n+"="+p[1])
	}
	return env
}

// secrets are what no message may show.
func secrets(r Remote, a address) []string {
	list := []string{string(r.Password), a.password, strings.TrimSpace(string(r.PrivateKey))}
	if u, err := url.Parse(r.Proxy); err == nil && u.User != nil {
		p, _ := u.User.Password()
		list = append(list, p)
	}
	return list
}
