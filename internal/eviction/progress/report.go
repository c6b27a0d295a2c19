// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/eviction/policy"
)

// report is what there is to say about a pod.
type report struct {
	// done says that Holdfast has no more part in the eviction.
	done    bool
	message string
	// due is when the end is expected; zero if nobody knows.
	due time.Time
}

func reportOn(f Found, now time.Time) report {
	switch {
	case f.Gone:
		return report{done: true, message: "The pod is gone"}
	case f.Finished:
		return report{done: true, message: "The pod has finished"}
	case f.Terminating != nil && now.After(f.Terminating.Add(overstay)):
		return report{done: true, message: "The pod was to be gone by " + f.Terminating.UTC().Format(time.RFC3339) + " and is still terminating; others may know more"}
	case f.Terminating != nil:
		return report{message: "The pod is terminating", due: f.Terminating.Time}
	}
	return reportOnVerdict(f.Verdict)
}

// reportOnVerdict completes wherever the webhook would let an eviction pass: the
// next responder is to have its turn, and the last one asks for an eviction.
func reportOnVerdict(v policy.Verdict) report {
	held := !v.Allowed && v.Enforced()
	switch {
	case held && v.Outcome == policy.OutcomeElsewhere:
		return report{done: true, message: v.Message} // no policy will act on it there
	case held:
		return report{message: v.Message, due: v.Due}
	case !v.Allowed:
		return report{done: true, message: v.Message + " (only told, in mode " + string(v.Mode) + ")"}
	case v.Warning != "":
		return report{done: true, message: v.Warning}
	case v.Outcome == policy.OutcomeOtherUID:
		return report{done: true, message: "The pod is gone"}
	case v.Outcome == policy.OutcomeLeaving: // it was deleted after the responder read it; the next reconcile reports how
		return report{message: "The pod is terminating"}
	case v.Policy != "":
		return report{done: true, message: "EvictionPolicy " + v.Policy + " lets the eviction pass"}
	case v.DrainCleaner:
		return report{done: true, message: "The Strimzi Cluster Operator was asked to roll the pod; the eviction passes"}
	}
	return report{done: true, message: "No rule of Holdfast holds the pod"}
}
