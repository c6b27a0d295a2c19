// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// bench has Rights with answers of the test, and a clock that the test moves.
type bench struct {
	*gomega.WithT
	*Rights
	clock *clocktesting.FakeClock

	mu      sync.Mutex
	grants  map[Question]Answer
	err     error
	fails   map[object.Sync]error
	uses    map[object.Sync]Use
	asked   []string
	changed []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{WithT: gomega.NewWithT(t), clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), grants: map[Question]Answer{}, uses: map[object.Sync]Use{}}
	b.Rights = New(Options{
		Clock: b.clock, Pauses: timing.Production(),
		Ask: func(_ context.Context, q Question) (Answer, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.asked = append(b.asked, text(q))
			if err := b.fails[q.Sync]; err != nil {
				return Answer{}, err
			}
			return b.grants[q], b.err
		},
		Use: func(q Question, _ bool) Use {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.uses[q.Sync]
		},
		Changed: func(q Question) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.changed = append(b.changed, text(q))
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return b
}

func text(q Question) string { return fmt.Sprintf("%s %s/%s", q.Sync, q.Namespace, q.Name) }

// about is a question about a ConfigMap: "a shop/x".
func about(of string) Question {
	who, at, _ := strings.Cut(of, " ")
	namespace, name, _ := strings.Cut(at, "/")
	return Question{Sync: object.Sync(who), Resource: schema.GroupResource{Resource: "configmaps"}, Namespace: namespace, Name: name}
}

func (b *bench) with(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
}

// becomes waits until there is an answer.
func (b *bench) becomes(of string, want object.Right) {
	b.Eventually(func() object.Right { return b.May(about(of), true) }, "60s", "1ms").Should(gomega.Equal(want), of)
}

// asks moves the clock on in small steps, and returns what was asked meanwhile.
func (b *bench) asks(d time.Duration) []string {
	b.with(func() { b.asked = nil })
	for range 100 {
		b.clock.Step(d / 100)
		b.rest()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.asked)
}

// rest waits until nothing is under way: all that is due waits for the clock.
func (b *bench) rest() {
	last, same := -1, 0
	b.Eventually(func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		if n := len(b.asked) + b.queue.Len(); n != last {
			last, same = n, 0
		} else {
			same++
		}
		return same
	}, "60s", "200us").Should(gomega.BeNumerically(">", 3))
}

func TestMay_asksForAllObjectsAndThenForOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.grants[about("a shop/")] = Answer{Patch: true, Create: true}
	b.grants[about("b shop/named")] = Answer{Patch: true}
	b.grants[about("c shop/")] = Answer{Patch: true}
	b.uses["a"], b.uses["b"], b.uses["c"] = Used, Used, Used
	if got := b.May(about("a shop/x"), true); got != object.Unknown {
		t.Errorf("before it was asked: %v", got)
	}
	b.becomes("a shop/x", object.Granted)
	b.becomes("a shop/y", object.Granted)
	b.becomes("b shop/x", object.Missing)
	b.becomes("b shop/named", object.Granted)
	b.becomes("c shop/x", object.Granted)
	b.Eventually(func() object.Right { return b.May(about("c shop/x"), false) }, "60s", "1ms").Should(gomega.Equal(object.Missing), "it may not create it")
	b.SetReach("d", object.Reach{Admin: true})
	if got := b.May(about("d shop/x"), false); got != object.Granted {
		t.Errorf("who is cluster-admin: %v", got)
	}
	b.SetReach("e", object.Reach{In: []string{"other"}})
	if got := b.May(about("e shop/x"), false); got != object.Missing {
		t.Errorf("whose roles do not reach the namespace: %v", got)
	}
	b.with(func() {
		slices.Sort(b.asked)
		want := []string{"a shop/", "b shop/", "b shop/named", "b shop/x", "c shop/", "c shop/x"}
		if diff := cmp.Diff(want, b.asked); diff != "" {
			t.Errorf("asked (-want +got)\n%s", diff)
		}
		slices.Sort(b.changed)
		if diff := cmp.Diff(want, b.changed); diff != "" {
			t.Errorf("told (-want +got)\n%s", diff)
		}
	})
}

func TestLook_howOftenItAsks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.grants[about("a shop/")] = Answer{Patch: true}
	b.uses["a"] = Used
	b.becomes("a shop/x", object.Granted)
	if got := b.asks(30 * time.Second); len(got) != doubts-1 {
		t.Errorf("a new binding may take a moment: %v", got)
	}
	if got := b.asks(2 * time.Hour); len(got) > 0 {
		t.Errorf("nothing depends on it, and it is asked for: %v", got)
	}
	// A decision would like a newer one, and has the last meanwhile.
	b.with(func() { b.grants[about("a shop/")] = Answer{} })
	if got := b.May(about("a shop/x"), true); got != object.Granted {
		t.Errorf("while it is asked for again: %v", got)
	}
	b.becomes("a shop/x", object.Missing)

	b.with(func() { b.uses["a"] = Contested })
	if got := b.asks(2 * time.Hour); len(got) < 10 || len(got) > 30 {
		t.Errorf("two are contested, and in two hours it is asked %d times: %v", len(got), got)
	}
	b.with(func() { b.grants[about("a shop/")] = Answer{Patch: true} })
	b.asks(15 * time.Minute)
	if got := b.May(about("a shop/x"), true); got != object.Granted {
		t.Errorf("nobody has found out that it may: %v", got)
	}

	b.with(func() { b.uses["a"] = Unused })
	b.asks(time.Hour)
	b.Rights.mu.Lock()
	defer b.Rights.mu.Unlock()
	if len(b.entries) > 0 {
		t.Errorf("what nobody needs is kept: %v", b.entries)
	}
}

func TestBoundAndRefused_putAnswersInDoubt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.uses["a"] = Used
	b.grants[about("a shop/")] = Answer{Patch: true}
	b.becomes("a shop/x", object.Granted)
	b.asks(10 * time.Minute)

	b.with(func() { b.grants[about("a shop/")] = Answer{} })
	b.Refused(about("a shop/x"))
	if got := b.asks(3 * time.Second); len(got) == 0 {
		t.Error("an apply was forbidden, and nothing is asked")
	}
	b.becomes("a shop/x", object.Missing)
	b.asks(10 * time.Minute)
	b.Refused(about("a shop/x"))
	if got := b.asks(10 * time.Second); len(got) > 0 {
		t.Errorf("that it may not is known: %v", got)
	}

	b.with(func() { b.grants[about("a shop/")] = Answer{Patch: true} })
	b.Bound("a")
	if got := b.asks(3 * time.Second); len(got) == 0 {
		t.Error("its bindings were written, and nothing is asked")
	}
	b.becomes("a shop/x", object.Granted)

	// The authorizer needs a moment to see a binding.
	b.uses["b"] = Used
	b.Bound("b")
	b.May(about("b shop/x"), true)
	if got := b.asks(settles / 2); slices.Contains(got, "b shop/") {
		t.Error("it was asked at once")
	}
}

func TestUnanswered_staysAsItWas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.uses["a"], b.uses["b"] = Contested, Contested
	b.grants[about("a shop/")] = Answer{Patch: true}
	b.becomes("a shop/x", object.Granted)
	b.asks(time.Hour)
	b.with(func() { b.err = errors.New("connection refused") })
	if got := b.asks(time.Hour); len(got) > 40 {
		t.Errorf("it is asked again and again: %d times", len(got))
	}
	if got := b.May(about("a shop/x"), true); got != object.Granted {
		t.Errorf("the last answer is forgotten: %v", got)
	}
	b.May(about("b shop/x"), true)
	b.asks(10 * time.Minute)
	if got := b.May(about("b shop/x"), true); got != object.Unknown {
		t.Errorf("without an answer: %v", got)
	}
	if err := b.Unanswered(); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("people are told %v", err)
	}
	b.with(func() { b.err = nil })
	b.asks(10 * time.Minute)
	b.becomes("b shop/x", object.Missing)
	if err := b.Unanswered(); err != nil {
		t.Error(err)
	}
}

// The API server answers other questions all the while, as when the authorizer of one API group fails.
func TestUnanswered_ofOneQuestionAmongOthers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.uses["good"], b.uses["bad"] = Contested, Contested
	b.fails = map[object.Sync]error{"bad": errors.New("connection refused")}
	b.grants[about("good shop/")] = Answer{Patch: true}
	b.May(about("bad shop/x"), true)
	b.becomes("good shop/x", object.Granted)
	b.asks(10 * time.Minute)
	if err := b.Unanswered(); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("people are told %v", err)
	}
	b.Forget("bad")
	if err := b.Unanswered(); err != nil {
		t.Errorf("of a RootSync that is gone: %v", err)
	}
}
