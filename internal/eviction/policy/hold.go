// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	// minForget is the least time without an eviction after which a deadline counts
	// anew: drainers pause for minutes.
	minForget = 10 * time.Minute
	// freshness is how old the time of the last eviction on a pod may be, so that a
	// drainer that asks every few seconds does not cause a write each time.
	freshness = time.Minute
	// skew is by how much the clocks of two replicas may differ.
	skew = time.Minute
)

// hold has the pod carry which policy holds it and since when, and looks at the
// deadline.
func (p *Policy) hold(v Verdict, f Facts, want *Patch) Verdict {
	asked, known := Asked(f.Meta)
	first := !known || asked.Policy != p.Name || f.Now.Sub(asked.Last.Time) > p.Forget() || InFuture(asked, f.Now)
	if first {
		asked = v1alpha1.EvictionAsked{Policy: p.Name, UID: f.Meta.UID, First: metav1.NewTime(f.Now), Last: metav1.NewTime(f.Now)}
		if p.action.Event != nil {
			v.Events = append(v.Events, Event{Reason: p.action.Event.Reason, Message: p.action.Event.Message})
		}
	}
	overdue := p.deadline > 0 && f.Now.Sub(asked.First.Time) >= p.deadline
	fresh := f.Now.Sub(asked.Last.Time) < freshness
	if overdue && asked.Last.Sub(asked.First.Time) < p.deadline {
		fresh = false // the first one after the deadline
	}
	if !fresh {
		asked.Last = metav1.NewTime(f.Now)
	}
	want.Labels[v1alpha1.EvictingLabel] = p.Name
	want.Annotations[v1alpha1.EvictionAskedAnnotation] = encode(asked)
	if overdue {
		return p.pastDeadline(v, asked, !fresh)
	}
	if p.deadline > 0 {
		v.Due = asked.First.Add(p.deadline)
	}
	return v
}

// pastDeadline is the verdict on a pod that has been held for too long. The Event
// goes with each write of the time, so that a drainer that asks every few seconds
// does not cause one each time.
func (p *Policy) pastDeadline(v Verdict, asked v1alpha1.EvictionAsked, tell bool) Verdict {
	since := fmt.Sprintf("EvictionPolicy %s has held the pod since %s, and its deadline of %s has passed",
		p.Name, asked.First.UTC().Format(time.RFC3339), p.deadline)
	v.Outcome, v.Err = OutcomeOverdue, nil
	what := "; it is still refused"
	if p.overdue == v1alpha1.OverdueAllow {
		v.Allowed, v.Code, v.Reason, v.Message, v.Warning = true, 0, "", "", since
		what = "; the eviction passes"
	} else {
		v.Message += ". " + since
	}
	if tell {
		v.Events = append(v.Events, Event{Warning: true, Reason: "EvictionOverdue", Message: since + what})
	}
	return v
}

// InFuture says that what a pod tells of itself cannot be: somebody else wrote it,
// as whoever may change pods can. By such a time a deadline would never pass.
func InFuture(a v1alpha1.EvictionAsked, now time.Time) bool { return a.Last.Sub(now) > skew }

// Asked reads who holds a pod and since when.
func Asked(o *metav1.ObjectMeta) (v1alpha1.EvictionAsked, bool) {
	var a v1alpha1.EvictionAsked
	text, ok := o.Annotations[v1alpha1.EvictionAskedAnnotation]
	if !ok || json.Unmarshal([]byte(text), &a) != nil || a.Policy == "" || a.UID != o.UID || a.First.IsZero() || a.Last.IsZero() ||
		a.Last.Before(&a.First) {
		return v1alpha1.EvictionAsked{}, false // somebody else wrote it, or for another pod
	}
	return a, true
}

func encode(a v1alpha1.EvictionAsked) string {
	text, err := json.Marshal(a)
	if err != nil { // its fields are text and times
		return ""
	}
	return string(text)
}

func copied(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

func groupOf(apiVersion string) string {
	group, _, versioned := strings.Cut(apiVersion, "/")
	if !versioned {
		return ""
	}
	return group
}
