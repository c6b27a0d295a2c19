// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/platform/resourceversion"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/rootsync/report"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// pace is how often the status is written while a sync goes on.
const pace = time.Second

// reporter writes the status of one RootSync, if it has changed.
type reporter struct {
	// last is the RootSync as it was after the last write.
	last    *configsyncv1beta1.RootSync
	written time.Time
	// over is since when it goes over what it has synced already.
	over time.Time
	// told says that the status is of this process: before that, what stands in it is what
	// an earlier one has come to, which this one may well come to as well.
	told bool
	// patience is how much longer than Pauses.UnsaidAtStart a start may go over what has failed.
	patience time.Duration
	// ignored is the generation of which the fields without a meaning were told.
	ignored int64
}

// report writes the status and returns when to do so again; 0 if it is as it should be.
func (p *reporter) report(ctx context.Context, s *Syncer, rs *configsyncv1beta1.RootSync, facts report.Facts) time.Duration {
	p.tellIgnored(s, rs)
	now := s.o.Clock.Now()
	former := p.newest(rs)
	next := report.Report(facts, former.Status, now)
	if equality.Semantic.DeepEqual(next, former.Status) {
		p.over, p.told = time.Time{}, p.told || facts.Progress != nil
		return 0
	}
	if wait := p.unsaid(former.Status, next, now, s.o.Pauses); wait > 0 {
		return wait
	}
	if wait := pace - now.Sub(p.written); wait > 0 && !ends(former.Status, next) {
		return wait
	}
	for {
		err := p.write(ctx, s, former, next)
		switch {
		case err == nil:
			s.say(former, eventsOf(former.Status, next))
			return 0
		case client.IgnoreNotFound(err) == nil, ctx.Err() != nil:
			return 0
		case apierrors.IsConflict(err):
			p.last = nil // the watch tells of what has changed
			return pace
		}
		var smaller bool
		if facts, smaller = facts.Smaller(); !tooLarge(err) || !smaller {
			ctrl.LoggerFrom(ctx).Error(err, "Status cannot be written; it is tried again")
			return s.o.Pauses.SyncAgain
		}
		next = report.Report(facts, former.Status, now)
	}
}

// unsaid is how long nothing is written because a sync only goes over what the status
// tells already: that costs two writes for each RootSync, and says nothing.
func (p *reporter) unsaid(former, next configsyncv1beta1.RootSyncStatus, now time.Time, pauses timing.Pauses) time.Duration {
	if !repeats(former, next) || p.told && former.Sync.Commit != former.Source.Commit {
		p.over = time.Time{}
		return 0
	}
	if p.over.IsZero() {
		p.over = now
	}
	limit := pauses.Unsaid
	if !p.told {
		if limit = pauses.UnsaidAtStart; failed(former) {
			limit += p.patience
		}
	}
	return limit - now.Sub(p.over)
}

// repeats says whether the same commit of the same spec is being looked at as was last,
// with whatever result.
func repeats(former, next configsyncv1beta1.RootSyncStatus) bool {
	const about = configsyncv1beta1.ConditionSyncing
	return former.ObservedGeneration == next.ObservedGeneration && isSet(former, about, metav1.ConditionFalse) && isSet(next, about, metav1.ConditionTrue) &&
		isSet(former, configsyncv1beta1.ConditionSuspended, metav1.ConditionTrue) == isSet(next, configsyncv1beta1.ConditionSuspended, metav1.ConditionTrue) &&
		(next.Source.Commit == "" || next.Source.Commit == former.Source.Commit)
}

// failed says whether a sync has ended with errors.
func failed(status configsyncv1beta1.RootSyncStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c configsyncv1beta1.Condition) bool {
		return c.Type == configsyncv1beta1.ConditionSyncing && c.ErrorSummary != nil && c.ErrorSummary.TotalCount > 0
	})
}

// ends says whether what was going on has ended: whoever waits for that waits no longer
// than it takes. It comes once for each commit.
func ends(former, next configsyncv1beta1.RootSyncStatus) bool {
	const about = configsyncv1beta1.ConditionSyncing
	return isSet(former, about, metav1.ConditionTrue) && isSet(next, about, metav1.ConditionFalse)
}

func isSet(status configsyncv1beta1.RootSyncStatus, about configsyncv1beta1.ConditionType, value metav1.ConditionStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c configsyncv1beta1.Condition) bool { return c.Type == about && c.Status == value })
}

func (p *reporter) write(ctx context.Context, s *Syncer, former *configsyncv1beta1.RootSync, next configsyncv1beta1.RootSyncStatus) error {
	o := former.DeepCopy()
	o.Status = next
	if err := s.client.Status().Update(ctx, o); err != nil {
		return err
	}
	p.last, p.written, p.told = o, s.o.Clock.Now(), true
	return nil
}

// newest is the RootSync as the last write left it, until the watch tells of that.
func (p *reporter) newest(rs *configsyncv1beta1.RootSync) *configsyncv1beta1.RootSync {
	if p.last == nil || p.last.UID != rs.UID {
		return rs
	}
	if !resourceversion.Newer(p.last.ResourceVersion, rs.ResourceVersion) {
		return rs
	}
	return p.last
}

// tooLarge says whether a status does not fit into the API server: it refuses what is very
// large, etcd what is large, and its client what is in between.
func tooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "too large") || strings.Contains(err.Error(), "larger than max")
}

func (p *reporter) tellIgnored(s *Syncer, rs *configsyncv1beta1.RootSync) {
	if p.ignored == rs.Generation {
		return
	}
	p.ignored = rs.Generation
	if fields := spec.Ignored(rs); len(fields) > 0 && rs.Status.ObservedGeneration != rs.Generation {
		s.events.Eventf(rs, nil, corev1.EventTypeNormal, "FieldsIgnored", "Read", "%s change nothing where all RootSyncs are in one process, and are ignored", strings.Join(fields, ", "))
	}
}

// misplaced says of a RootSync in another namespace that it cannot be there.
func (s *Syncer) misplaced(ctx context.Context, rs *configsyncv1beta1.RootSync) {
	_, invalid := spec.Read(rs)
	if invalid == nil || rs.DeletionTimestamp != nil {
		return
	}
	var p reporter
	p.report(ctx, s, rs, report.Facts{
		Generation: rs.Generation, Stalled: &report.Stalled{Reason: configsyncv1beta1.ReasonValidation, Err: invalid},
	})
}
