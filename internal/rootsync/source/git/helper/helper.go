// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// The environment of a helper. It is that of git too, and of nothing else.
const (
	role       = "HOLDFAST_GIT_HELPER"
	origin     = "HOLDFAST_GIT_ORIGIN"
	username   = "HOLDFAST_GIT_USERNAME"
	password   = "HOLDFAST_GIT_PASSWORD" //nolint:gosec // the name of a variable
	privateKey = "HOLDFAST_GIT_SSH_KEY"
	knownHosts = "HOLDFAST_GIT_KNOWN_HOSTS"

	roleAskpass = "askpass"
	roleSSH     = "ssh"
)

// Askpass is the environment in which git asks the program self for a user name and a
// password, for one server and no other: not for one that it is sent on to.
func Askpass(self, forOrigin, user, pass string) []string {
	return []string{"GIT_ASKPASS=" + self, role + "=" + roleAskpass, origin + "=" + forOrigin, username + "=" + user, password + "=" + pass}
}

// SSH is the environment in which git speaks ssh by the program self. Without a file of
// known hosts, every host is who it says it is.
func SSH(self, key, knownHostsFile string) []string {
	return []string{
		"GIT_SSH=" + self, "GIT_SSH_VARIANT=ssh", role + "=" + roleSSH,
		privateKey + "=" + key, knownHosts + "=" + knownHostsFile,
	}
}

// Main does what git has started this program for, and says whether it has. Every program
// that reads Git repositories calls it first.
func Main() (code int, started bool) {
	switch os.Getenv(role) {
	case roleAskpass:
		return askpass(os.Args[1:], os.Stdout), true
	case roleSSH:
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		code, err := runSSH(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s%v\n", Prefix, err)
			return 255, true
		}
		return code, true
	}
	return 0, false
}

// Prefix begins what the ssh client says itself.
const Prefix = "holdfast ssh: "

// askpass answers what git asks in the C locale: "Username for 'https://host': ".
func askpass(args []string, out io.Writer) int {
	if len(args) != 1 {
		return 1
	}
	answer, ok := answerTo(args[0], os.Getenv(origin), os.Getenv(username), os.Getenv(password))
	if !ok {
		return 1
	}
	fmt.Fprintln(out, answer)
	return 0
}

func answerTo(prompt, forOrigin, user, pass string) (answer string, ok bool) {
	what, where, found := strings.Cut(strings.TrimSuffix(prompt, "': "), " for '")
	if !found {
		return "", false
	}
	u, err := url.Parse(where)
	if err != nil || u.Scheme+"://"+u.Host != forOrigin {
		return "", false
	}
	switch what {
	case "Username":
		return user, true
	case "Password":
		return pass, true
	}
	return "", false
}
