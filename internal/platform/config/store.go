// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// Store keeps the configuration in force: always a good one, also while what is
// offered is not. It is safe for concurrent use.
type Store struct {
	loader  Loader
	clock   clock.PassiveClock
	current atomic.Pointer[configv1alpha1.HoldfastConfiguration]
	last    atomic.Pointer[outcome]

	// offering lets one offer be dealt with at a time, callbacks included.
	offering sync.Mutex
	// offered is what was offered last, good or bad; nil after a source failed.
	offered []byte

	subscribing sync.Mutex
	callbacks   []func()
}

// outcome is what there is to say of the offers so far.
type outcome struct {
	err       error     // of the last one
	loaded    time.Time // of the last good one
	successes uint64
	failures  uint64
}

// NewStore returns a store with the configuration that the process starts with.
// At start there is no last good one to keep: a bad one is an error. From says
// where the data comes from, for people.
func NewStore(clk clock.PassiveClock, loader Loader, data []byte, from string) (*Store, error) {
	cfg, err := loader.Load(data)
	if err != nil {
		return nil, loadError(from, err)
	}
	s := &Store{loader: loader, clock: clk, offered: bytes.Clone(data)}
	s.current.Store(cfg)
	s.last.Store(&outcome{loaded: clk.Now()})
	return s, nil
}

// Current returns the configuration in force. It is shared: nobody changes it.
func (s *Store) Current() *configv1alpha1.HoldfastConfiguration {
	return s.current.Load()
}

// LastError returns why the last offer was refused, or why there was none to be
// had; nil if what was offered last is in force.
func (s *Store) LastError() error {
	return s.last.Load().err
}

// Empty reports whether nothing but defaults is in force, and what goes before the file.
func (s *Store) Empty() bool { return s.loader.sameAsEmpty(s.Current()) }

// OnChange has the function called after each change of the configuration, but
// not after a change of comments or of order. It reads what is new from Current,
// should be quick, and must not call Offer or Reject.
func (s *Store) OnChange(callback func()) {
	s.subscribing.Lock()
	defer s.subscribing.Unlock()
	s.callbacks = append(s.callbacks, callback)
}

// Offer puts the data in force if it is good and returns an error if it is not;
// then the last good configuration stays. The same data as the time before is
// neither looked at nor counted again, and has the same answer.
func (s *Store) Offer(data []byte, from string) error {
	s.offering.Lock()
	defer s.offering.Unlock()
	if s.offered != nil && bytes.Equal(data, s.offered) {
		return s.LastError()
	}
	s.offered = bytes.Clone(data)
	if s.offered == nil {
		s.offered = []byte{}
	}

	cfg, err := s.loader.Load(data)
	if err != nil {
		return s.failed(loadError(from, err))
	}
	changed := !equality.Semantic.DeepEqual(cfg, s.Current())
	if changed {
		s.current.Store(cfg)
	}
	s.succeeded()
	if changed {
		s.notify()
	}
	return nil
}

// errWithdrawn says that a source has no document any more.
var errWithdrawn = errors.New("the key " + DataKey + " is gone: write the configuration there again, or, for every default, only " +
	`"apiVersion: ` + configv1alpha1.GroupVersion + `" and "kind: ` + configv1alpha1.Kind + `"`)

// Withdraw records that a source has no document any more, which means every default. It rejects that unless the defaults are in
// force: it may be a mistake, and would turn features off.
func (s *Store) Withdraw(from string) error {
	if s.loader.sameAsEmpty(s.Current()) {
		return s.Offer([]byte(Empty), from)
	}
	return s.Reject(errWithdrawn, from)
}

// Reject records that a source could not be read, and keeps the configuration in
// force. The returned error is what LastError returns from now on. The same
// failure again is not counted again.
func (s *Store) Reject(err error, from string) error {
	s.offering.Lock()
	defer s.offering.Unlock()
	err = loadError(from, err)
	if last := s.LastError(); s.offered == nil && last != nil && last.Error() == err.Error() {
		return last
	}
	s.offered = nil
	return s.failed(err)
}

func (s *Store) failed(err error) error {
	next := *s.last.Load()
	next.err = err
	next.failures++
	s.last.Store(&next)
	return err
}

func (s *Store) succeeded() {
	next := *s.last.Load()
	next.err = nil
	next.loaded = s.clock.Now()
	next.successes++
	s.last.Store(&next)
}

func (s *Store) notify() {
	s.subscribing.Lock()
	callbacks := slices.Clip(s.callbacks)
	s.subscribing.Unlock()
	for _, callback := range callbacks {
		callback()
	}
}

func loadError(from string, err error) error {
	return fmt.Errorf("load configuration from %s: %w", from, err)
}
