// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hns

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func TestPagesAndRounds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		more      bool
		remaining *int64
		want      int64
	}{
		{"all on the first", false, nil, 1},
		{"one more object", true, new(int64(1)), 2},
		{"two full pages more", true, new(int64(2 * pageSize)), 3},
		{"nobody knows", true, nil, 1 << 32},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			first := &metav1.Table{}
			if tt.more {
				first.Continue = "more"
			}
			first.RemainingItemCount = tt.remaining
			if got := pagesOf(first); got != tt.want {
				t.Errorf("got %d pages, want %d", got, tt.want)
			}
		})
	}
	for namespaces, want := range map[int]int64{1: 1, parallelism: 1, parallelism + 1: 2, 1000: 63} {
		if got := roundsOf(namespaces); got != want {
			t.Errorf("%d namespaces: got %d rounds, want %d", namespaces, got, want)
		}
	}
}

func TestDecodeTable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	tests := []struct{ name, answer, want string }{
		{
			"a table: numbers stay as they are, and what is for wide tables is left out",
			`{"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Size"},{"name":"More","priority":1}],"rows":[
			  {"cells":["a",12000000,"x"],"object":{"kind":"PartialObjectMetadata","metadata":{"name":"a","namespace":"ns"}}}]}`,
			"NAMESPACE   NAME   SIZE\nns          a      12000000\n",
		},
		{
			"plain objects",
			`{"kind":"PodList","items":[{"metadata":{"name":"a","namespace":"ns","creationTimestamp":"2026-01-01T00:00:00Z"}},{"metadata":{"name":"b","namespace":"ns"}}]}`,
			"NAMESPACE   NAME   AGE\nns          a      60s\nns          b      <unknown>\n",
		},
		{"nothing", `{"kind":"Table","columnDefinitions":[{"name":"Name"}]}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table, err := decodeTable([]byte(tt.answer), now)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := newTablePrinter(&out).print(table.ColumnDefinitions, table.Rows); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// story is a source that plays what is written in it: lists, and watches with
// their events, one after the other. At the end of it the context ends.
type story struct {
	t     *testing.T
	lines []string
	end   context.CancelFunc
}

func (s *story) next(verb string) []string {
	if len(s.lines) == 0 {
		s.end()
		return nil
	}
	words := strings.Fields(s.lines[0])
	if words[0] != verb {
		s.t.Errorf("got a %s, want: %s", verb, s.lines[0])
		s.end()
		return nil
	}
	s.lines = s.lines[1:]
	return words[1:]
}

func (s *story) list(context.Context, string) (*metav1.Table, error) {
	table := &metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: "of-list"}}
	for _, word := range s.next("list") {
		table.Rows = append(table.Rows, metav1.TableRow{Object: runtime.RawExtension{Object: objectOf(word)}})
	}
	return table, nil
}

// objectOf reads a name and a version: a1.
func objectOf(word string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: word[:1], UID: types.UID(word[:1]), ResourceVersion: word[1:],
	}}
}

var errRefused = apierrors.NewForbidden(hierarchiesResource.GroupResource(), "", errors.New("no"))

func (s *story) watchFrom(_ context.Context, version, _ string) (watch.Interface, error) {
	words := s.next("watch")
	events := make(chan watch.Event, len(words))
	defer close(events)
	for i, word := range words {
		switch {
		case i == 0 && word != version:
			s.t.Errorf("got a watch from %q, want %q", version, word)
		case i == 0:
		case word == "forbidden":
			return nil, errRefused
		case word == "expired":
			status := apierrors.NewResourceExpired("long ago").Status()
			events <- watch.Event{Type: watch.Error, Object: &status}
		default:
			kind := map[byte]watch.EventType{'+': watch.Added, '-': watch.Deleted}[word[0]]
			o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(objectOf(word[1:]))
			if err != nil {
				return nil, err
			}
			events <- watch.Event{Type: kind, Object: &unstructured.Unstructured{Object: o}}
		}
	}
	return watch.NewProxyWatcher(events), nil
}

func TestFollower(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		story   string
		from    string
		known   versions
		once    bool
		want    string
		wantErr bool
	}{
		{name: "what is there is news to who knows nothing", story: "list a1 b2\nwatch of-list +c3", want: "a1 b2 c3"},
		{name: "who knows goes on from there", from: "5", known: versions{"a": "1"}, story: "watch 5 +a6 -a7", want: "a6 a7"},
		{name: "a watch that ends is made again from the last event", from: "5", story: "watch 5 +a6\nwatch 6 +a7", want: "a6 a7"},
		{name: "after a long time there is a list, and only what changed is told", from: "5", known: versions{"a": "1", "b": "2"},
			story: "watch 5 +c6 expired\nlist a1 b3 c6\nwatch of-list +a9", want: "c6 b3 a9"},
		{name: "one that was deleted and comes again is news", from: "5", known: versions{"a": "1"}, story: "watch 5 -a6 +a6", want: "a6 a6"},
		{name: "once is a list", once: true, story: "list a1\nlist never", want: "a1"},
		{name: "who may not is told", from: "5", story: "watch 5 forbidden", wantErr: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.known == nil {
				tt.known = versions{}
			}
			var got []string
			f := &follower{
				source:  &story{t: t, lines: strings.Split(tt.story, "\n"), end: cancel},
				version: tt.from, known: tt.known, once: tt.once,
				emit: func(rows []metav1.TableRow) error {
					for i := range rows {
						got = append(got, rowMeta(&rows[i]).Name+rowMeta(&rows[i]).ResourceVersion)
					}
					return nil
				},
			}
			if err := f.run(ctx); (err != nil) != tt.wantErr {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
