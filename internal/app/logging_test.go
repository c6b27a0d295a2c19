// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-dev/holdfast/internal/platform/lease"
)

func TestCalm_retriesOfTheLibrariesAreNoErrors(t *testing.T) {
	t.Parallel()
	secrets := corev1.Resource("secrets")
	tests := []struct {
		name    string
		message string
		err     error
		level   slog.Level
		want    string
	}{
		{name: "somebody was faster", message: reconcilerError, err: fmt.Errorf("write: %w", apierrors.NewConflict(secrets, "x", nil)), want: "INFO"},
		{name: "the API server is busy", message: reconcilerError, err: apierrors.NewTooManyRequests("later", 1), want: "WARN"},
		{name: "another replica leads", message: reconcilerError, err: fmt.Errorf("PUT: %w", lease.ErrLost), want: "WARN"},
		{name: "the process ends", message: reconcilerError, err: context.Canceled, want: "WARN"},
		{name: "a right is missing", message: reconcilerError, err: apierrors.NewForbidden(secrets, "x", nil), want: "ERROR"},
		{name: "any other error", message: reconcilerError, err: errors.New("a bug"), want: "ERROR"},
		{name: "an error of Holdfast's own", message: "Something is wrong", err: apierrors.NewConflict(secrets, "x", nil), want: "ERROR"},
		{name: "a watch fails", message: watchError, err: errors.New("not found"), want: "WARN"},
		{name: "a level that is off stays off", message: reconcilerError, err: apierrors.NewConflict(secrets, "x", nil), level: slog.LevelWarn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			h := slog.NewTextHandler(&out, &slog.HandlerOptions{Level: tt.level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.LevelKey {
					return a
				}
				return slog.Attr{}
			}})
			logr.FromSlogHandler(newCalm(h)).WithValues("controller", "x").WithName("y").Error(tt.err, tt.message)
			want := ""
			if tt.want != "" {
				want = "level=" + tt.want + "\n"
			}
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("logged (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCalm_theSameWatchErrorIsLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := newCalm(slog.NewTextHandler(&out, nil))
	begin := time.Unix(0, 0)
	logged := func(after time.Duration, kind string) bool {
		t.Helper()
		out.Reset()
		r := slog.NewRecord(begin.Add(after), slog.LevelError, watchError, 0)
		r.AddAttrs(slog.Any("err", errors.New("not found")), slog.String("type", kind))
		if err := h.Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return out.Len() > 0
	}
	for _, step := range []struct {
		after time.Duration
		kind  string
		want  bool
	}{
		{0, "Secret", true}, {time.Second, "Secret", false}, {2 * time.Second, "Role", true}, {59 * time.Second, "Secret", false}, {time.Minute, "Secret", true},
	} {
		if got := logged(step.after, step.kind); got != step.want {
			t.Errorf("%s after %s: logged: %t", step.kind, step.after, got)
		}
	}
}
