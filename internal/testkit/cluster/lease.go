// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// PoolVariable names the socket of a pool for Lease to borrow from, which a run of all tests has.
const PoolVariable = "HOLDFAST_CLUSTERS"

// ownLimit bounds the clusters of a test binary that runs by itself.
const ownLimit = 4

// ownPool is that of such a test binary. Its clusters end with the process.
var ownPool = sync.OnceValues(func() (*Pool, error) {
	return NewPool(context.Background(), ownLimit, os.Stderr)
})

// Lease borrows a cluster that is as a new one, from the pool that HOLDFAST_CLUSTERS names or else from
// one of this process. Its Stop gives it back; one that is not given back is not used again. Lease waits
// for as long as others have all clusters, and who already has one must not wait for another that such a
// holder may have. The borrower's name is for messages.
//
// A cluster with a folder that the caller has chosen is not borrowed: Lease starts it, and its Stop ends it.
func Lease(ctx context.Context, borrower string, o Options) (*Cluster, error) {
	if o.Dir != "" {
		return Start(ctx, o)
	}
	conn, err := dialPool(ctx)
	if err != nil {
		return nil, fmt.Errorf("borrow a cluster: %w", err)
	}
	return newLease(conn).borrow(ctx, borrower, o)
}

func dialPool(ctx context.Context) (net.Conn, error) {
	if socket := os.Getenv(PoolVariable); socket != "" {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	pool, err := ownPool()
	if err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	go pool.lend(there) //nolint:gosec // it ends with the connection, and not with the context of the call
	return here, nil
}

// lease is a borrower's side of a connection to a pool.
type lease struct {
	conn     net.Conn
	encoder  *json.Encoder
	decoder  *json.Decoder
	giveBack func() error

	mu   sync.Mutex // held from a message to its answer
	last status
}

func newLease(conn net.Conn) *lease {
	l := &lease{conn: conn, encoder: json.NewEncoder(conn), decoder: json.NewDecoder(conn)}
	l.giveBack = sync.OnceValue(l.end)
	return l
}

// borrow waits for a cluster.
func (l *lease) borrow(ctx context.Context, borrower string, o Options) (*Cluster, error) {
	first, err := l.exchange(ctx, borrowed{Borrower: borrower, Options: &o})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("borrow a cluster: %w", err), l.conn.Close())
	}
	return newCluster(first.Status, first.Kubectl, l), nil
}

// exchange sends a message and waits for the answer to it.
func (l *lease) exchange(ctx context.Context, m borrowed) (answer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var reply answer
	err := l.encoder.Encode(m)
	if err == nil {
		err = l.decoder.Decode(&reply)
	}
	if ctx.Err() != nil {
		return reply, context.Cause(ctx)
	}
	if err != nil {
		return reply, fmt.Errorf("talk to the pool of clusters: %w", err)
	}
	if reply.Error != "" {
		return reply, errors.New(reply.Error)
	}
	l.last = reply.Status
	return reply, nil
}

func (l *lease) request(ctx context.Context, name string) error {
	_, err := l.exchange(ctx, borrowed{Request: name})
	return err
}

func (l *lease) latest() status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *lease) stop() error { return l.giveBack() }

func (l *lease) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	_, err := l.exchange(ctx, borrowed{Request: giveBack})
	return errors.Join(err, l.conn.Close())
}
