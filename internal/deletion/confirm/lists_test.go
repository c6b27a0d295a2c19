// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package confirm

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestListed_boundsAllRequestsTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slots, asked = 3, 100
		b := newBound(slots)
		var mu sync.Mutex
		var now, most, ended int
		end := make(chan struct{})
		for range asked {
			go func() {
				_, _ = listed(t.Context(), b, func() (int, error) {
					mu.Lock()
					now++
					most = max(most, now)
					mu.Unlock()
					<-end
					mu.Lock()
					now--
					ended++
					mu.Unlock()
					return 0, nil
				})
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := listed(ctx, b, func() (int, error) { t.Error("there is no room"); return 0, nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("of a request that has ended: got %v", err)
		}
		close(end)
		synctest.Wait()
		if most != slots || ended != asked {
			t.Errorf("%d at once, %d in all; want %d and %d", most, ended, slots, asked)
		}
	})
}

func TestEachPage(t *testing.T) {
	t.Parallel()
	fails := errors.New("no answer")
	type answer struct {
		found, next string
		err         error
	}
	for _, tt := range []struct {
		name    string
		answers []answer
		want    string
		err     error
	}{
		{name: "ends with the first that shows it", answers: []answer{{next: "2"}, {found: "pods/p is active", next: "3"}}, want: "pods/p is active"},
		{name: "ends with the last page", answers: []answer{{next: "2"}, {}}},
		{name: "ends with an error", answers: []answer{{next: "2"}, {err: fails}}, err: fails},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked []metav1.ListOptions
			got, err := eachPage(metav1.ListOptions{Limit: 1, FieldSelector: "s"}, func(o metav1.ListOptions) (string, string, error) {
				a := tt.answers[len(asked)]
				asked = append(asked, o)
				return a.found, a.next, a.err
			})
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
			want := []metav1.ListOptions{{Limit: 1, FieldSelector: "s"}, {Limit: page, FieldSelector: "s", Continue: "2"}}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("what was asked (-want +got):\n%s", diff)
			}
		})
	}
}
