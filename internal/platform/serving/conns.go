// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
)

// listener accepts as many connections as the share has room for, and closes the others at once.
type listener struct {
	net.Listener
	conns *share
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: raw}
		if c.hold, err = l.conns.take(context.Background(), clientAt(raw.RemoteAddr().String()), 1, 0, c.cut); err == nil {
			return c, nil
		}
		turnedAway.WithLabelValues(reasonConnections).Inc()
		_ = raw.Close()
	}
}

// conn is a connection that counts.
type conn struct {
	net.Conn
	hold *hold
	// trusts is whose certificate the client has shown, if that was asked for.
	trusts atomic.Pointer[trust]
	// stop cancels what is done for the client.
	stop atomic.Pointer[context.CancelFunc]
}

// cut ends a connection whose place another client needs. A request that waits does not wait on: the place is free soon.
func (c *conn) cut() {
	turnedAway.WithLabelValues(reasonConnectionCut).Inc()
	_ = c.Conn.Close()
	if stop := c.stop.Load(); stop != nil {
		(*stop)()
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if stop := c.stop.Load(); stop != nil {
		(*stop)()
	}
	c.hold.release()
	return err
}

// clientAt is the client that an address belongs to.
func clientAt(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

type connKey struct{}

// withConn is http.Server.ConnContext.
func withConn(ctx context.Context, c net.Conn) context.Context {
	counted := under(c)
	ctx, cancel := context.WithCancel(context.WithValue(ctx, connKey{}, counted))
	counted.stop.Store(&cancel)
	return ctx
}

// connOf is the connection of a request; nil in a test without one.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

// onState is http.Server.ConnState.
func onState(c net.Conn, state http.ConnState) {
	if counted := under(c); counted != nil && state == http.StateIdle {
		counted.hold.waits()
	}
}

func under(c net.Conn) *conn {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	counted, _ := c.(*conn)
	return counted
}
