// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

func TestVerdict(t *testing.T) {
	const until = `"verdict":{"type":"DenyUntil","until":"'moved' in pod.metadata.annotations","message":"m"}`
	const action = `"action":{"annotations":{"move":"please"},"labels":{"moving":"yes"}},`
	draining := func(f *Facts) { f.Node = &Node{Draining: true} }
	for _, tt := range []struct {
		name, policy string
		words        []string
		mend         func(*Facts)
		want, text   string
	}{
		{name: "refused", policy: `p: {"match":{"podSelector":{}},` + action + deny + `}`, want: "held, p, 429 TooManyRequests, writes move=please moving=yes", text: "EvictionPolicy p: m"},
		{name: "what is there is not written", policy: `p: {"match":{"podSelector":{}},` + action + deny + `}`, words: []string{"moving=yes", "@move=now"}, want: "held, p, 429 TooManyRequests, writes move=please"},
		{name: "a dry run is refused and writes nothing", policy: `p: {"match":{"podSelector":{}},` + action + deny + `}`, mend: dry, want: "held, p, 429 TooManyRequests"},
		{name: "the UID of another pod", policy: `p: {"match":{"podSelector":{}},` + action + deny + `}`, mend: forUID("other"), want: "other-uid, p, passes"},
		{name: "a terminating pod", policy: `p: {"match":{"podSelector":{}},` + action + deny + `}`, words: []string{"terminating"}, want: "leaving, p, passes"},
		{name: "a pod that has succeeded", policy: `p: {"match":{"podSelector":{}},` + action + deny + `}`, words: []string{"phase:Succeeded"}, want: "leaving, p, passes"},
		{name: "a pod that has failed", policy: `p: {"match":{"podSelector":{}},` + action + deny + `}`, words: []string{"phase:Failed"}, want: "leaving, p, passes"},
		{name: "the UID of this pod", policy: `p: {"match":{"podSelector":{}},` + deny + `}`, mend: forUID("this"), want: "held, p, 429 TooManyRequests, writes "},
		{name: "let pass, after the action", policy: `p: {"match":{"podSelector":{}},` + action + `"verdict":{"type":"Allow"}}`, want: "allowed, p, passes, writes move=please moving=yes"},
		{name: "let pass with nothing to do", policy: `p: {"match":{"podSelector":{}},"verdict":{"type":"Allow"}}`, want: "allowed, p, passes"},
		{name: "refused until something holds", policy: `p: {"match":{"podSelector":{}},` + action + until + `}`, want: "held, p, 429 TooManyRequests, writes move=please moving=yes"},
		{name: "released when it holds", policy: `p: {"match":{"podSelector":{}},` + action + until + `}`, words: []string{"@moved="}, want: "released, p, passes"},
		{name: "a code has its reason", policy: `p: {"match":{"podSelector":{}},"verdict":{"type":"Deny","message":"m","code":400}}`, want: "held, p, 400 BadRequest, writes "},
		{name: "403", policy: `p: {"match":{"podSelector":{}},"verdict":{"type":"Deny","message":"m","code":403}}`, want: "held, p, 403 Forbidden, writes "},
		{name: "404", policy: `p: {"match":{"podSelector":{}},"verdict":{"type":"Deny","message":"m","code":404}}`, want: "held, p, 404 NotFound, writes "},
		{name: "500", policy: `p: {"match":{"podSelector":{}},"verdict":{"type":"Deny","message":"m","code":500}}`, want: "held, p, 500 InternalError, writes "},
		{name: "503", policy: `p: {"match":{"podSelector":{}},"verdict":{"type":"Deny","message":"m","code":503}}`, want: "held, p, 503 ServiceUnavailable, writes "},
		{name: "a reason of its own", policy: `p: {"match":{"podSelector":{}},"verdict":{"type":"Deny","message":"m","code":503,"reason":"Moving"}}`, want: "held, p, 503 Moving, writes "},
		{name: "a node that is drained", policy: `p: {"match":{"podSelector":{},"node":"Draining"},` + deny + `}`, mend: draining, want: "held, p, 429 TooManyRequests, writes "},
		{
			name: "another node", policy: `p: {"match":{"podSelector":{},"node":"Draining"},` + action + deny + `}`, want: "elsewhere, p, 404 NotFound",
			text: "EvictionPolicy p: the node of the pod is not being drained; if the pod was moved there, there is nothing more to do",
		},
		{
			name: "another node, for somebody who means this very pod", policy: `p: {"match":{"podSelector":{},"node":"Draining"},` + action + deny + `}`,
			mend: forUID("this"), want: "elsewhere, p, 429 TooManyRequests",
			text: "EvictionPolicy p: the node of the pod is not being drained, and the policy has pods moved from nodes that are",
		},
		{name: "another node, where that is let pass", policy: `p: {"match":{"podSelector":{},"node":"Draining","elsewhere":"Allow"},` + action + deny + `}`, want: "elsewhere, p, passes"},
		{name: "any node", policy: `p: {"match":{"podSelector":{},"node":"Any"},` + deny + `}`, mend: func(f *Facts) { f.Node = nil }, want: "held, p, 429 TooManyRequests, writes "},
		{
			name: "a condition that fails refuses", policy: `p: {"match":{"condition":"pod.no.such == 1"},` + action + deny + `}`, want: "error, p, 429 TooManyRequests, writes ",
			text: `Holdfast could not judge this eviction: EvictionPolicy p: spec.match.condition: evaluate "pod.no.such == 1": no such key: no`,
		},
		{name: "a condition that fails lets pass where it should", policy: `p: {"onError":"Allow","match":{"condition":"pod.no.such == 1"},` + deny + `}`, want: "error, p, passes"},
		{name: "a condition that is no truth refuses", policy: `p: {"match":{"condition":"pod.metadata.name"},` + deny + `}`, want: "error, p, 429 TooManyRequests, writes "},
		{
			name: "an until that fails refuses", policy: `p: {"match":{"podSelector":{}},"verdict":{"type":"DenyUntil","until":"pod.no == 1","message":"m"}}`, want: "error, p, 429 TooManyRequests, writes ",
			text: `Holdfast could not judge this eviction: EvictionPolicy p: spec.verdict.until: evaluate "pod.no == 1": no such key: no`,
		},
		{
			name: "an until that fails because the operator was not asked yet", policy: `p: {"match":{"podSelector":{}},` + action + `"verdict":{"type":"DenyUntil","until":"pod.metadata.annotations.moved == 'yes'","message":"m"}}`,
			want: "error, p, 429 TooManyRequests, writes move=please moving=yes",
		},
		{name: "an until that fails lets pass where it should", policy: `p: {"onError":"Allow","match":{"podSelector":{}},"verdict":{"type":"DenyUntil","until":"pod.no == 1","message":"m"}}`, want: "error, p, passes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := about(pod(tt.words...))
			if tt.mend != nil {
				tt.mend(&f)
			}
			v := Decide(enforced(compiled(t, tt.policy)...), f)
			if diff := cmp.Diff(tt.want, brief(v)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.text != "" && v.Message != tt.text {
				t.Errorf("got message %q, want %q", v.Message, tt.text)
			}
			if (v.Outcome == OutcomeError) != (v.Err != nil) {
				t.Errorf("got error %v", v.Err)
			}
		})
	}
}

// A condition that never ends is ended.
func TestCondition_thatCostsTooMuch(t *testing.T) {
	list := `[0,1,2,3,4,5,6,7,8,9].all(x, `
	p := compiled(t, `p: {"match":{"condition":"`+strings.Repeat(list, 8)+`true`+strings.Repeat(")", 8)+`"},`+deny+`}`)
	if v := Decide(enforced(p...), about(pod())); v.Err == nil || !strings.Contains(v.Err.Error(), "cost") {
		t.Errorf("got %+v", v)
	}
}

func TestFailed_leavesNothingBehind(t *testing.T) {
	broke := errors.New("it broke")
	v := Verdict{Policy: "p", OnError: Refuse, Patch: &Patch{}, Events: []Event{{}}, Outcome: OutcomeHeld, Code: 500, Reason: "R", Message: "m"}.Failed(broke)
	if brief(v) != "error, p, in mode , 429 TooManyRequests" || v.Events != nil || !errors.Is(v.Err, broke) {
		t.Errorf("got %+v", v)
	}
	v = Verdict{Policy: "p", OnError: Allow, Patch: &Patch{}, Code: 500, Reason: "R", Message: "m"}.Failed(broke)
	if !v.Allowed || v.Patch != nil || v.Code != 0 || v.Reason != "" || v.Message != "" || v.Warning != "Holdfast could not judge this eviction: it broke" {
		t.Errorf("got %+v", v)
	}
}

// step is one eviction in a row of them about the same pod.
type step struct {
	at   time.Duration // after noon
	want string
	// asked is what the pod says afterwards; empty for no write.
	asked  string
	events []string
}

func TestDeadline(t *testing.T) {
	const before = `{"match":{"podSelector":{}},"action":{"event":{"reason":"Move","message":"move it"}},` + deny
	held, refused, passes := "held, p, 429 TooManyRequests", "overdue, p, 429 TooManyRequests", "overdue, p, passes"
	asked := func(first, last string) string {
		return `{"policy":"p","uid":"this","first":"2026-03-01T` + first + `Z","last":"2026-03-01T` + last + `Z"}`
	}
	since := "EvictionPolicy p has held the pod since 2026-03-01T12:00:00Z, and its deadline of 5m0s has passed"
	for _, tt := range []struct {
		name, policy string
		annotation   string
		steps        []step
	}{
		{name: "without one a pod is held for ever, and written to once a minute", policy: `p: ` + before + `}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
			{5 * time.Second, held, "", nil},
			{59 * time.Second, held, "", nil},
			{time.Minute, held, asked("12:00:00", "12:01:00"), nil},
			{9 * time.Minute, held, asked("12:00:00", "12:09:00"), nil},
		}},
		{name: "after it the eviction passes with a warning", policy: `p: ` + before + `,"deadline":{"after":"5m"}}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
			{4*time.Minute + 30*time.Second, held, asked("12:00:00", "12:04:30"), nil},
			{5*time.Minute - time.Second, held, "", nil},
			{5 * time.Minute, passes, asked("12:00:00", "12:05:00"), []string{since + "; the eviction passes"}},
			{5*time.Minute + 5*time.Second, passes, "", nil},
			{6 * time.Minute, passes, asked("12:00:00", "12:06:00"), []string{since + "; the eviction passes"}},
		}},
		{name: "after it the eviction is refused all the same", policy: `p: ` + before + `,"deadline":{"after":"5m","then":"Deny"}}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
			{4*time.Minute + 30*time.Second, held, asked("12:00:00", "12:04:30"), nil},
			{5 * time.Minute, refused, asked("12:00:00", "12:05:00"), []string{since + "; it is still refused"}},
			{5*time.Minute + 5*time.Second, refused, "", nil},
		}},
		{name: "it ends what is refused because until fails", policy: `p: {"match":{"podSelector":{}},"verdict":{"type":"DenyUntil","until":"pod.no == 1","message":"m"},"deadline":{"after":"5m"}}`, steps: []step{
			{0, "error, p, 429 TooManyRequests", asked("12:00:00", "12:00:00"), nil},
			{5 * time.Minute, passes, asked("12:00:00", "12:05:00"), []string{since + "; the eviction passes"}},
		}},
		{name: "it counts anew when nobody asked for long enough", policy: `p: ` + before + `,"deadline":{"after":"5m"}}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
			{10*time.Minute + time.Second, held, asked("12:10:01", "12:10:01"), []string{"Move"}},
		}},
		{name: "a long deadline is remembered as long", policy: `p: ` + before + `,"deadline":{"after":"1h"}}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
			{time.Hour, passes, asked("12:00:00", "13:00:00"), []string{"EvictionPolicy p has held the pod since 2026-03-01T12:00:00Z, and its deadline of 1h0m0s has passed; the eviction passes"}},
			{2*time.Hour + time.Second, held, asked("14:00:01", "14:00:01"), []string{"Move"}},
		}},
		{name: "what another policy wrote does not count", policy: `p: ` + before + `,"deadline":{"after":"5m"}}`, annotation: `{"policy":"q","uid":"this","first":"2026-03-01T11:00:00Z","last":"2026-03-01T11:59:59Z"}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
		}},
		{name: "what was copied from another pod does not count", policy: `p: ` + before + `,"deadline":{"after":"5m"}}`, annotation: `{"policy":"p","uid":"that","first":"2026-03-01T11:00:00Z","last":"2026-03-01T11:59:59Z"}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
		}},
		{name: "what no policy wrote does not count", policy: `p: ` + before + `,"deadline":{"after":"5m"}}`, annotation: `yesterday`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
		}},
		{name: "a time that is still to come does not count", policy: `p: ` + before + `,"deadline":{"after":"5m"}}`, annotation: `{"policy":"p","uid":"this","first":"2026-03-01T12:01:01Z","last":"2126-03-01T12:00:00Z"}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
		}},
		{name: "the clock of another replica may be a little ahead", policy: `p: ` + before + `,"deadline":{"after":"5m"}}`, annotation: `{"policy":"p","uid":"this","first":"2026-03-01T12:00:59Z","last":"2026-03-01T12:01:00Z"}`, steps: []step{
			{2 * time.Minute, held, asked("12:00:59", "12:02:00"), nil},
		}},
		{name: "a beginning after the end does not count", policy: `p: ` + before + `,"deadline":{"after":"5m"}}`, annotation: `{"policy":"p","uid":"this","first":"2126-03-01T12:00:00Z","last":"2026-03-01T12:00:00Z"}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
		}},
		{name: "half of it does not count", policy: `p: ` + before + `,"deadline":{"after":"5m"}}`, annotation: `{"policy":"p","uid":"this","first":"2026-03-01T11:00:00Z"}`, steps: []step{
			{0, held, asked("12:00:00", "12:00:00"), []string{"Move"}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, p := enforced(compiled(t, tt.policy)...), pod()
			if tt.annotation != "" {
				metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.EvictionAskedAnnotation, tt.annotation)
			}
			for _, step := range tt.steps {
				f := about(p, func(f *Facts) { f.Now = noon.Add(step.at) })
				v := Decide(s, f)
				got := stepOf(v)
				got.at = step.at
				if diff := cmp.Diff(step, got, cmp.AllowUnexported(step)); diff != "" {
					t.Errorf("after %s (-want +got):\n%s", step.at, diff)
				}
				if v.Patch != nil {
					for k, value := range v.Patch.Annotations {
						metav1.SetMetaDataAnnotation(&p.ObjectMeta, k, value)
					}
					for k, value := range v.Patch.Labels {
						metav1.SetMetaDataLabel(&p.ObjectMeta, k, value)
					}
				}
				if p.Labels[v1alpha1.EvictingLabel] != "p" {
					t.Errorf("after %s the pod has labels %v", step.at, p.Labels)
				}
			}
		})
	}
}

func stepOf(v Verdict) step {
	out := step{want: strings.TrimSuffix(brief(v), ", writes ")}
	if v.Patch != nil {
		out.asked = v.Patch.Annotations[v1alpha1.EvictionAskedAnnotation]
	}
	for _, e := range v.Events {
		if e.Warning {
			out.events = append(out.events, e.Message)
		} else {
			out.events = append(out.events, e.Reason)
		}
	}
	return out
}
