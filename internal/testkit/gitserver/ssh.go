// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSH serves the repositories of a Server by ssh, to whoever has one key.
type SSH struct {
	// Key is the private key that is let in, in PEM, and KnownHosts the line about the
	// server.
	Key, KnownHosts string

	server   *Server
	listener net.Listener
	config   *ssh.ServerConfig
	done     sync.WaitGroup
}

// StartSSH serves by ssh until Close.
func (s *Server) StartSSH() (*SSH, error) {
	hostKey, err := newKey()
	if err != nil {
		return nil, err
	}
	clientKey, err := newKey()
	if err != nil {
		return nil, err
	}
	host, err := ssh.NewSignerFromKey(hostKey)
	if err != nil {
		return nil, err
	}
	client, err := ssh.NewPublicKey(clientKey.Public())
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(clientKey, "")
	if err != nil {
		return nil, err
	}
	out := &SSH{server: s, Key: string(pem.EncodeToMemory(block))}
	out.config = &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), client.Marshal()) {
			return nil, errors.New("this key is not known")
		}
		return &ssh.Permissions{}, nil
	}}
	out.config.AddHostKey(host)
	if out.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	out.KnownHosts = knownhosts.Line([]string{out.listener.Addr().String()}, host.PublicKey()) + "\n"
	out.done.Go(out.serve)
	return out, nil
}

// Close ends it.
func (h *SSH) Close() {
	_ = h.listener.Close()
	h.done.Wait()
}

// URL is the address of a repository.
func (h *SSH) URL(r *Repo) string {
	return "ssh://git@" + h.listener.Addr().String() + r.Dir()
}

func newKey() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

func (h *SSH) serve() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.done.Go(func() {
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			_, channels, requests, err := ssh.NewServerConn(conn, h.config)
			if err != nil {
				return
			}
			go ssh.DiscardRequests(requests)
			for c := range channels {
				h.done.Go(func() { h.session(ctx, c) })
			}
		})
	}
}

// session runs the one command that a client asks for.
func (h *SSH) session(ctx context.Context, c ssh.NewChannel) {
	if c.ChannelType() != "session" {
		_ = c.Reject(ssh.UnknownChannelType, "sessions only")
		return
	}
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	env := append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	for r := range requests {
		switch r.Type {
		case "env":
			var v struct{ Name, Value string }
			ok := ssh.Unmarshal(r.Payload, &v) == nil && v.Name == "GIT_PROTOCOL"
			if ok {
				env = append(env, v.Name+"="+v.Value)
			}
			_ = r.Reply(ok, nil)
		case "exec":
			dir, found := uploadOf(r.Payload)
			_ = r.Reply(found, nil)
			if !found {
				return
			}
			code := h.upload(ctx, channel, dir, env)
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{code}))
			return
		default:
			_ = r.Reply(false, nil)
		}
	}
}

// uploadOf is the folder of "git-upload-pack '/folder'".
func uploadOf(payload []byte) (dir string, found bool) {
	var v struct{ Command string }
	if err := ssh.Unmarshal(payload, &v); err != nil {
		return "", false
	}
	dir, found = strings.CutPrefix(v.Command, "git-upload-pack '")
	return strings.TrimSuffix(dir, "'"), found
}

func (*SSH) upload(ctx context.Context, channel ssh.Channel, dir string, env []string) uint32 {
	cmd := exec.CommandContext(ctx, "git", "upload-pack", dir)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(channel.Stderr(), err)
		return 1
	}
	go func() {
		_, _ = io.Copy(in, channel)
		_ = in.Close()
	}()
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return uint32(exit.ExitCode()) //nolint:gosec // an exit code is small
	}
	return 1
}
