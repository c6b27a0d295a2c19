// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package eviction

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestFilter_countsForTheSummary(t *testing.T) {
	t.Parallel()
	var f filter
	for i := range 10 {
		f.count(fmt.Sprintf("ns-%d", i%3))
	}
	if evictions, namespaces := f.take(); evictions != 10 || namespaces != 3 {
		t.Errorf("got %d evictions in %d namespaces, want 10 in 3", evictions, namespaces)
	}
	if evictions, _ := f.take(); evictions != 0 {
		t.Errorf("%d evictions are told twice", evictions)
	}
}

func TestStuck_isBounded(t *testing.T) {
	t.Parallel()
	s := stuck{since: map[types.UID]time.Time{}}
	now := time.Now()
	for i := range mostStuck {
		s.since[types.UID(fmt.Sprint(i))] = now.Add(time.Duration(i) * time.Second)
	}
	for i := range 10 {
		s.lasts(types.UID(fmt.Sprint(mostStuck+i)), now.Add(time.Duration(mostStuck+i)*time.Second))
	}
	if len(s.since) > mostStuck {
		t.Errorf("%d pods are remembered", len(s.since))
	}
	last := types.UID(fmt.Sprint(mostStuck))
	if got := s.lasts(last, now.Add((mostStuck+60)*time.Second)); got != time.Minute {
		t.Errorf("got %s, want a minute", got)
	}
	s.lasts("new", now.Add(2*forgetStuck))
	if len(s.since) != 1 {
		t.Errorf("%d pods are remembered for longer than any deadline", len(s.since))
	}
}
