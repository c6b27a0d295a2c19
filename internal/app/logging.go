// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-dev/holdfast/internal/platform/lease"
)

// setupLogging sends all logs, those of the libraries too, to standard error as
// JSON lines.
func setupLogging(level string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("--log-level %q is not debug, info, warn or error", level)
	}
	handler := newCalm(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: l}))
	slog.SetDefault(slog.New(handler)) // and with it the log package, which net/http writes to
	logger := logr.FromSlogHandler(handler)
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return nil
}

const (
	// reconcilerError is what controller-runtime says of every error of a reconciler, and watchError what client-go says each time
	// that an informer cannot list or watch.
	reconcilerError, watchError = "Reconciler error", "Failed to watch"
	// watchErrorAgain is how often the same watch error is logged. Informers try again within seconds, for as long as a definition
	// is gone or a right is missing.
	watchErrorAgain = time.Minute
	// watchErrors bounds how many are remembered.
	watchErrors = 256
)

// calm is a slog.Handler that lowers the level of errors after which a library retries: alerts on errors are for what a person has
// to fix.
type calm struct {
	slog.Handler
	lately *lately
}

func newCalm(h slog.Handler) slog.Handler { return &calm{h, &lately{at: map[string]time.Time{}}} }

// Handle implements slog.Handler.
func (c *calm) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelError {
		switch r.Message {
		case reconcilerError:
			r.Level = levelOf(errorIn(r))
		case watchError:
			r.Level = slog.LevelWarn
			if c.lately.has(attributes(r), r.Time) {
				return nil
			}
		}
		if !c.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (c *calm) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &calm{c.Handler.WithAttrs(attrs), c.lately}
}

// WithGroup implements slog.Handler.
func (c *calm) WithGroup(name string) slog.Handler { return &calm{c.Handler.WithGroup(name), c.lately} }

// levelOf returns the level of an error after which a reconciler tries again: what was written meanwhile is no news, and an API
// server that does not answer is a warning.
func levelOf(err error) slog.Level {
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return slog.LevelInfo
	case err != nil && (transient(err) || errors.Is(err, lease.ErrLost) || errors.Is(err, context.Canceled)):
		return slog.LevelWarn
	}
	return slog.LevelError
}

func errorIn(r slog.Record) (found error) {
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		if ok {
			found = err
		}
		return !ok
	})
	return found
}

// attributes is all that a record says besides its message.
func attributes(r slog.Record) (text string) {
	r.Attrs(func(a slog.Attr) bool {
		text += a.String() + "\n"
		return true
	})
	return text
}

// lately remembers what was logged in the last minute.
type lately struct {
	mu sync.Mutex
	at map[string]time.Time
}

// has reports whether a text was logged lately, and notes that it is now if not.
func (l *lately) has(text string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.at[text]; ok && now.Sub(at) < watchErrorAgain {
		return true
	}
	if len(l.at) >= watchErrors {
		clear(l.at)
	}
	l.at[text] = now
	return false
}
