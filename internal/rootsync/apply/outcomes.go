// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"net/http"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-dev/holdfast/internal/rootsync/decide"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/live"
	"github.com/holdfast-dev/holdfast/internal/rootsync/plan"
)

// written takes in that an object was written, or found to be as it should be.
func (t *task) written(got *unstructured.Unstructured, err error) {
	if err != nil {
		t.failed(err)
		return
	}
	it, now := t.it, t.o.Clock.Now()
	seen := live.Of(it.id, got)
	it.answer, it.answered, it.toldAt = seen, now, t.toldAt
	it.wrote = &decide.Wrote{Digest: t.want.Digest, UID: seen.UID, ResourceVersion: seen.ResourceVersion, Owned: seen.Owned}
	it.failures, it.until, it.missing, it.deleted, it.refused = 0, time.Time{}, "", "", nil
	if t.drift {
		it.fight.corrected(now)
	} else {
		it.ready, it.since = pending, now
	}
	t.count(now)
	t.queue.Add(it.id)
}

// count tells what was written.
func (t *task) count(now time.Time) {
	switch {
	case !t.drift && t.wrote:
		t.o.Did(Applied)
	case t.drift:
		t.o.Did(Corrected)
		if t.it.fight.rests(now) > 0 {
			t.o.Did(Fought)
		}
	}
}

// failed takes in that a call has failed. It is made again, later each time.
func (t *task) failed(err error) {
	it := t.it
	if t.outdated() {
		t.queue.Add(it.id) // it says nothing about what is declared now
		return
	}
	if apierrors.IsForbidden(err) {
		t.o.Forbidden(it.id)
	}
	it.failures++
	pause := backoff(it.failures)
	it.missing = missingNamespace(err)
	if it.missing != "" && it.came == t.cameAt { // it may have appeared while the answer was on its way
		pause = t.o.Pauses.RefusedAgain // its appearance is told
	}
	it.until = t.o.Clock.Now().Add(pause)
	t.queue.AddAfter(it.id, pause)
	if passing(err) && it.failures < surfaced {
		return
	}
	if !it.isDeclared() {
		t.finish(it, kept, knv.New(number(err), "%s", t.removing(it.id, err)).About(it.about).Because(err))
		return
	}
	t.finish(it, failed, knv.New(number(err), "failed to apply %s: %v", it.id, err).About(it.about).Because(err))
}

// outdated says whether the object has been declared otherwise since the call began.
func (t *task) outdated() bool {
	was := t.declared.Object != nil
	return was != t.it.isDeclared() || was && t.want.Digest != t.it.want.Digest
}

// removed takes in how the request to go was answered.
func (t *task) removed(f decide.Facts, err error) {
	it, seen := t.it, f.Seen
	var staying *errStaying
	var occupied *errOccupied
	switch {
	case errors.As(err, &staying):
		t.refuse(it, seen, plan.SkippedDelete(it.id, err.Error()), err, t.o.Pauses.RefusedAgain)
	case errors.As(err, &occupied):
		t.refuse(it, seen, plan.SkippedDelete(it.id, err.Error()), err, t.o.Pauses.OccupiedAgain)
	case err == nil:
		t.o.Did(Pruned)
		it.deleted, it.deletedAt, it.watched, it.since, it.failures = seen.UID, seen.ResourceVersion, !f.Looked, t.o.Clock.Now(), 0
		it.outcome, it.err, it.answer = open, nil, nil
		t.queue.Add(it.id)
	case apierrors.IsNotFound(err):
		t.finish(it, gone, nil)
	case refuses(err):
		it.failures = 0
		t.refuse(it, seen, t.removing(it.id, err), err, t.o.Pauses.RefusedAgain)
	default:
		t.failed(err)
	}
}

// missingNamespace is the namespace that is not there, if that is what is wrong.
func missingNamespace(err error) string {
	var s apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &s) {
		if d := s.Status().Details; d != nil && d.Kind == "namespaces" {
			return d.Name
		}
	}
	return ""
}

// passing says whether an error may well be over at the next attempt, and is not worth
// telling people at once.
func passing(err error) bool {
	code := codeOf(err)
	return errors.Is(err, errOvertaken) || code == 0 || code == http.StatusConflict || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}

// refuses says whether an error is a decision, which stays until something changes.
func refuses(err error) bool {
	code := codeOf(err)
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError &&
		code != http.StatusConflict && code != http.StatusTooManyRequests && code != http.StatusRequestTimeout && code != http.StatusUnauthorized
}

// number is that of the error for what a call has failed with.
func number(err error) knv.Code {
	if apierrors.IsForbidden(err) && lacksRights.MatchString(err.Error()) {
		return knv.InsufficientRights
	}
	return knv.Applier
}

// lacksRights is what the API server says of who may not do something, apart from what
// policies and webhooks say, which is forbidden as well: that the verb is not granted, or
// that it would grant what it has not.
var lacksRights = regexp.MustCompile(`: User "[^"]*" cannot |user "[^"]*" .*is attempting to grant RBAC permissions not currently held`)

// codeOf is the status of HTTP; 0 if there was no answer.
func codeOf(err error) int {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return int(s.Status().Code)
	}
	return 0
}
