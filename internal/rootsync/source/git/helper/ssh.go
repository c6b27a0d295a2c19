// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package helper

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// connectTimeout bounds the way to a session; what comes after is bounded by whoever runs
// git.
const connectTimeout = 20 * time.Second

// The words by which the messages of this client are known again.
const (
	SaysUnknownHost = "the host key is not among the known hosts"
	SaysChangedHost = "the host key is not that of the known hosts"
	SaysNoKey       = "the private key cannot be read"
	SaysRefused     = "the server does not take the key"
	SaysBadHosts    = "the known hosts cannot be read"
)

// destination is what git wants of an ssh client.
type destination struct {
	user, address, command string
}

// parseArgs reads the arguments that git gives to an ssh client of OpenSSH's kind:
// [-o Name[=value]] [-4|-6] [-p port] [user@]host command.
func parseArgs(args []string) (destination, error) {
	port := "22"
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "-4" || args[0] == "-6":
			args = args[1:]
		case len(args) > 1 && (args[0] == "-o" || args[0] == "-p"):
			if args[0] == "-p" {
				port = args[1]
			}
			args = args[2:]
		default:
			return destination{}, fmt.Errorf("git gives an option that is not known: %s", args[0])
		}
	}
	if len(args) != 2 {
		return destination{}, fmt.Errorf("git gives %d arguments instead of a host and a command", len(args))
	}
	user, host, found := strings.Cut(args[0], "@")
	if !found {
		user, host = "git", args[0]
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return destination{user: user, address: net.JoinHostPort(host, port), command: args[1]}, nil
}

// runSSH runs one command on a server, and returns its exit code.
func runSSH(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) (int, error) {
	to, err := parseArgs(args)
	if err != nil {
		return 0, err
	}
	client, err := dial(ctx, to)
	if err != nil {
		return 0, err
	}
	// A second close does nothing.
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer func() {
		stop()
		_ = client.Close()
	}()
	session, err := client.NewSession()
	if err != nil {
		return 0, err
	}
	session.Stdout, session.Stderr = out, errs
	pipe, err := session.StdinPipe()
	if err != nil {
		return 0, err
	}
	if v := os.Getenv("GIT_PROTOCOL"); v != "" {
		_ = session.Setenv("GIT_PROTOCOL", v) // a server that does not take it speaks the older protocol
	}
	if err := session.Start(to.command); err != nil {
		return 0, err
	}
	go func() {
		_, _ = io.Copy(pipe, in)
		_ = pipe.Close()
	}()
	err = session.Wait()
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
		return cmp.Or(exit.ExitStatus(), 1), nil
	}
	return 0, err
}

func dial(ctx context.Context, to destination) (*ssh.Client, error) {
	config, err := clientConfig(to, os.Getenv(privateKey), os.Getenv(knownHosts))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.address)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	c, channels, requests, err := ssh.NewClientConn(conn, to.address, config)
	if err != nil {
		_ = conn.Close()
		return nil, explain(err)
	}
	_ = conn.SetDeadline(time.Time{})
	return ssh.NewClient(c, channels, requests), nil
}

func clientConfig(to destination, key, hostsFile string) (*ssh.ClientConfig, error) {
	signer, err := ssh.ParsePrivateKey([]byte(strings.TrimSpace(key) + "\n"))
	if err != nil {
		if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
			return nil, errors.New(SaysNoKey + ": it is protected by a passphrase")
		}
		return nil, errors.New(SaysNoKey) // its words could show parts of it
	}
	config := &ssh.ClientConfig{
		User: to.user,
		Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		// As in Config Sync, which tells nobody; here the report about the source does.
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), //nolint:gosec // only without known hosts
	}
	if hostsFile == "" {
		return config, nil
	}
	check, err := knownhosts.New(hostsFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", SaysBadHosts, err)
	}
	config.HostKeyCallback = check
	config.HostKeyAlgorithms = algorithms(check, to.address)
	return config, nil
}

// algorithms are those of the keys that are known of a host: a server has several keys,
// and would offer one that is not known though another is. nil means all.
func algorithms(check ssh.HostKeyCallback, address string) (out []string) {
	none, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		return nil
	}
	var unknown *knownhosts.KeyError
	if err := check(address, &net.TCPAddr{}, none); !errors.As(err, &unknown) {
		return nil
	}
	for _, k := range unknown.Want {
		if k.Key.Type() == ssh.KeyAlgoRSA {
			out = append(out, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		}
		out = append(out, k.Key.Type())
	}
	return out
}

// explain puts what failed before a session into words.
func explain(err error) error {
	var key *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &key) && len(key.Want) == 0:
		return errors.New(SaysUnknownHost)
	case errors.As(err, &key), errors.As(err, &revoked):
		return errors.New(SaysChangedHost)
	case strings.Contains(err.Error(), "unable to authenticate"):
		return errors.New(SaysRefused)
	case strings.Contains(err.Error(), "no common algorithm for host key"):
		return errors.New(SaysChangedHost + ": it has none of a kind that is known")
	}
	return err
}
