// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// poolStartTimeout and resetTimeout bound what a borrower waits for on a busy machine.
	poolStartTimeout = 3 * time.Minute
	resetTimeout     = time.Minute
)

// Pool starts clusters as they are wanted, up to a limit, and lends each to one borrower after the other.
// It resets a cluster between two borrowers. A cluster with options is for those alone who want the same, and
// there is one such cluster at a time: it takes the place of the one with options before.
type Pool struct {
	limit    int // of clusters without options
	progress io.Writer
	// kubectl belongs to all clusters.
	kubectl string

	mu      sync.Mutex
	members map[*member]bool
	changed chan struct{} // closed, and replaced, when a borrower that waits should look again
	closed  bool
	counts  Counts
}

// Counts are what a pool has done until now.
type Counts struct {
	// Starts of control planes, Leases of them, and Discarded ones: those that could not be reset, or whose
	// borrower ended without giving them back.
	Starts, Leases, Discarded int
	// Waited is how long borrowers have waited for a cluster, all added up.
	Waited time.Duration
}

// member is a cluster of a pool, or one that is being started.
type member struct {
	key     string // its options
	cluster *Cluster
	lent    bool
}

// NewPool returns a pool of at most limit clusters that run at the same time, and one with options. It starts
// none.
func NewPool(ctx context.Context, limit int, progress io.Writer) (*Pool, error) {
	binary, err := Binary(ctx, progress)
	if err != nil {
		return nil, err
	}
	return &Pool{
		limit: limit, progress: progress, kubectl: kubectlBeside(binary),
		members: map[*member]bool{}, changed: make(chan struct{}),
	}, nil
}

// Counts returns what the pool has done until now.
func (p *Pool) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// Close stops all clusters. It does not wait for borrowers, whose clusters end with it.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	members := p.members
	p.members = map[*member]bool{}
	p.mu.Unlock()
	errs := make(chan error, len(members))
	for m := range members {
		go func() {
			if m.cluster == nil { // its start notices
				errs <- nil
				return
			}
			errs <- m.cluster.Stop()
		}()
	}
	var all []error
	for range members {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// Serve lends clusters to those who connect, until the listener is closed.
func (p *Pool) Serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go p.lend(conn)
	}
}

// A connection is a lease: the borrower says what it wants, then what is to be done to it, and at last
// that it gives it back. Each message has an answer.

// borrowed is a message of a borrower: the first has its name and options, each later one a request.
type borrowed struct {
	Borrower string   `json:"borrower,omitempty"`
	Options  *Options `json:"options,omitempty"`
	Request  string   `json:"request,omitempty"`
}

// answer has the state of the cluster after what was asked, or why that failed.
type answer struct {
	Status  status `json:"status"`
	Kubectl string `json:"kubectl,omitempty"`
	Error   string `json:"error,omitempty"`
}

// giveBack is the last request of a borrower.
const giveBack = "give-back"

// lend serves one borrower.
func (p *Pool) lend(conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	messages := make(chan borrowed)
	go func() {
		defer cancel() // the borrower is gone
		receive(ctx, conn, messages)
	}()
	encoder := json.NewEncoder(conn)
	first, ok := <-messages
	if !ok || first.Options == nil {
		return
	}
	m, err := p.acquire(ctx, first.Borrower, *first.Options)
	if err != nil {
		_ = encoder.Encode(answer{Error: err.Error()}) // nobody may be there any more
		return
	}
	orderly := false
	defer func() { p.release(m, first.Borrower, orderly) }()
	if encoder.Encode(answer{Status: m.cluster.control.latest(), Kubectl: p.kubectl}) != nil {
		return
	}
	for next := range messages {
		if next.Request == giveBack {
			orderly = encoder.Encode(answer{}) == nil
			return
		}
		reply := answer{}
		if err := m.cluster.control.request(ctx, next.Request); err != nil {
			reply.Error = err.Error()
		}
		reply.Status = m.cluster.control.latest()
		if encoder.Encode(reply) != nil {
			return
		}
	}
}

// receive decodes messages until the borrower closes the connection.
func receive(ctx context.Context, conn net.Conn, messages chan<- borrowed) {
	defer close(messages)
	for decoder := json.NewDecoder(conn); ; {
		var m borrowed
		if decoder.Decode(&m) != nil {
			return
		}
		select {
		case messages <- m:
		case <-ctx.Done():
			return
		}
	}
}

// acquire waits for a cluster with the options that nobody has.
func (p *Pool) acquire(ctx context.Context, borrower string, o Options) (*member, error) {
	key, began := keyOf(o), time.Now()
	for {
		m, start, changed, err := p.take(key, began)
		switch {
		case err != nil:
			return nil, err
		case start:
			return m, p.start(ctx, m, borrower, o)
		case m != nil && m.key != key: // it makes room
			p.drop(m)
			continue
		case m != nil:
			return m, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// plainKey is that of a cluster without options.
var plainKey = keyOf(Options{})

func keyOf(o Options) string {
	key, err := json.Marshal(o)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(key)
}

// take returns a cluster that can be lent at once, or a new one to be started, or one with other options
// that is to make room; or what to wait for.
func (p *Pool) take(key string, began time.Time) (m *member, start bool, changed <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, nil, errors.New("the pool of clusters is closed")
	}
	plain, special := 0, (*member)(nil)
	for candidate := range p.members {
		if !candidate.lent && candidate.key == key {
			candidate.lent = true
			p.counts.Leases++
			p.counts.Waited += time.Since(began)
			return candidate, false, nil, nil
		}
		if candidate.key == plainKey {
			plain++
		} else {
			special = candidate
		}
	}
	if key == plainKey && plain < p.limit || key != plainKey && special == nil {
		m = &member{key: key, lent: true}
		p.members[m] = true
		p.counts.Leases++
		p.counts.Starts++
		p.counts.Waited += time.Since(began)
		return m, true, nil, nil
	}
	if key != plainKey && !special.lent {
		special.lent = true
		return special, false, nil, nil
	}
	return nil, false, p.changed, nil
}

func (p *Pool) start(ctx context.Context, m *member, borrower string, o Options) error {
	ctx, cancel := context.WithTimeout(ctx, poolStartTimeout)
	defer cancel()
	o.Progress = p.progress
	c, err := Start(ctx, o)
	p.mu.Lock()
	if err == nil && p.closed {
		err = errors.New("the pool of clusters is closed")
		defer c.Stop() //nolint:errcheck // it was never used
	}
	if err != nil {
		delete(p.members, m)
	} else {
		m.cluster = c
	}
	starts := p.counts.Starts
	p.wake()
	p.mu.Unlock()
	if err == nil {
		fmt.Fprintf(p.progress, "control plane %d runs, first for %s\n", starts, borrower)
	}
	return err
}

// drop stops a cluster that nobody has.
func (p *Pool) drop(m *member) {
	if err := m.cluster.Stop(); err != nil {
		fmt.Fprintln(p.progress, "a control plane did not end in order:", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.members, m)
	p.wake()
}

// release takes a cluster back.
func (p *Pool) release(m *member, borrower string, orderly bool) {
	err := errors.New("it was not given back")
	if orderly {
		ctx, cancel := context.WithTimeout(context.Background(), resetTimeout)
		defer cancel()
		err = m.cluster.Reset(ctx)
	}
	p.mu.Lock()
	closed := p.closed
	if err == nil {
		m.lent = false
		p.wake()
	} else if !closed {
		p.counts.Discarded++
	}
	p.mu.Unlock()
	if err != nil && !closed {
		fmt.Fprintf(p.progress, "the control plane that %s had is not lent again: %v\n", borrower, err)
		p.drop(m)
	}
}

// wake has all borrowers that wait look again. It needs the lock.
func (p *Pool) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}
