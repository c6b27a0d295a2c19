// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// The truth table of the Strimzi Drain Cleaner, every combination of it.
func TestDrainCleaner_truthTable(t *testing.T) {
	bools := []bool{false, true}
	for _, kind := range []string{"Kafka", "KafkaConnect", "kafka", ""} {
		for _, name := range []string{"x-kafka", "x-zookeeper", "x-kafka-exporter", "-kafka", "-zookeeper", "kafka", "x-Kafka", ""} {
			for i := range 32 {
				d := DrainCleaner{Enabled: true, Kafka: bools[i&1], ZooKeeper: bools[i>>1&1], Deny: bools[i>>2&1]}
				annotated, isDry := bools[i>>3&1], bools[i>>4&1]
				p := pod("strimzi.io/kind="+kind, "strimzi.io/name="+name)
				if annotated {
					p.Annotations = map[string]string{"strimzi.io/manual-rolling-update": "true"}
				}
				f := about(p)
				f.Request.DryRun = isDry
				s := enforced()
				s.DrainCleaner = d

				counts := kind == "Kafka" && (name == "x-kafka" && d.Kafka || name == "x-zookeeper" && d.ZooKeeper)
				want := "no-match, passes"
				if counts {
					want = "allowed, drain cleaner, passes"
					if d.Deny {
						want = "held, drain cleaner, 500"
					}
					if !annotated && !isDry {
						want += ", writes strimzi.io/manual-rolling-update=true"
					}
				}
				v := Decide(s, f)
				if diff := cmp.Diff(want, brief(v)); diff != "" {
					t.Errorf("kind %q, name %q, %+v, annotated %v, dry run %v (-want +got):\n%s", kind, name, d, annotated, isDry, diff)
				}
				if !v.Allowed && (v.Message != "The pod will be rolled by the Strimzi Cluster Operator" || v.Reason != "") {
					t.Errorf("got message %q and reason %q", v.Message, v.Reason)
				}
			}
		}
	}
}

func TestDrainCleaner_whatItLooksAt(t *testing.T) {
	kafka := []string{"strimzi.io/kind=Kafka", "strimzi.io/name=x-kafka"}
	for _, tt := range []struct {
		name  string
		words []string
		mend  func(*Settings, *Facts)
		want  string
	}{
		{name: "a pod without labels passes", want: "no-match, passes"},
		{name: "the kind alone does not count", words: []string{"strimzi.io/kind=Kafka"}, want: "no-match, passes"},
		{name: "the name alone does not count", words: []string{"strimzi.io/name=x-kafka"}, want: "no-match, passes"},
		{
			name: "another UID passes and nothing is written", words: kafka, mend: func(_ *Settings, f *Facts) { f.Request.UID = "other" },
			want: "other-uid, drain cleaner, passes",
		},
		{
			name: "the UID of the pod changes nothing", words: kafka, mend: func(_ *Settings, f *Facts) { f.Request.UID = "this" },
			want: "held, drain cleaner, 500, writes strimzi.io/manual-rolling-update=true",
		},
		{
			name: "another value of the annotation is overwritten", words: append([]string{"@strimzi.io/manual-rolling-update=false"}, kafka...),
			want: "held, drain cleaner, 500, writes strimzi.io/manual-rolling-update=true",
		},
		{
			name: "a terminating pod stays all the same", words: append([]string{"terminating"}, kafka...),
			want: "held, drain cleaner, 500, writes strimzi.io/manual-rolling-update=true",
		},
		{
			name: "a finished pod stays all the same", words: append([]string{"phase:Failed"}, kafka...),
			want: "held, drain cleaner, 500, writes strimzi.io/manual-rolling-update=true",
		},
		{
			name: "it needs no more than metadata", words: kafka, mend: func(_ *Settings, f *Facts) { f.Pod, f.Node, f.Namespace, f.Protection = nil, nil, nil, nil },
			want: "held, drain cleaner, 500, writes strimzi.io/manual-rolling-update=true",
		},
		{
			name: "in mode Warn nothing is written", words: kafka, mend: func(s *Settings, _ *Facts) { s.Mode = configv1alpha1.ModeWarn },
			want: "held, drain cleaner, in mode Warn, 500",
		},
		{
			name: "in mode Audit nothing is written", words: kafka, mend: func(s *Settings, _ *Facts) { s.Mode = configv1alpha1.ModeAudit },
			want: "held, drain cleaner, in mode Audit, 500",
		},
		{name: "it can be off", words: kafka, mend: func(s *Settings, _ *Facts) { s.DrainCleaner.Enabled = false }, want: "no-match, passes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, f := enforced(), about(pod(tt.words...))
			s.DrainCleaner = DrainCleaner{Enabled: true, Kafka: true, ZooKeeper: true, Deny: true}
			if tt.mend != nil {
				tt.mend(&s, &f)
			}
			if diff := cmp.Diff(tt.want, brief(Decide(s, f))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What protects a pod from deletion comes before all rules, where it counts at all.
func TestProtected(t *testing.T) {
	s := enforced(compiled(t, `allow: {"match":{"podSelector":{}},"verdict":{"type":"Allow"},"priority":1000000}`)...)
	s.RefuseProtected = true
	for _, tt := range []struct {
		name string
		off  bool
		f    Facts
		need Need
		want string
	}{
		{name: "a protected pod stays", f: about(pod(), protectedBy("a label")), want: "protected, 429 TooManyRequests"},
		{name: "an unprotected pod goes on", f: about(pod()), want: "allowed, allow, passes"},
		{name: "what is not known is asked", f: about(pod(), func(f *Facts) { f.Protection = nil }), need: NeedProtection},
		{name: "a terminating pod goes on", f: about(pod("terminating"), protectedBy("a label")), want: "leaving, allow, passes"},
		{name: "an eviction for another pod goes on", f: about(pod(), protectedBy("a label"), forUID("other")), want: "other-uid, allow, passes"},
		{name: "off, nothing is asked", off: true, f: about(pod(), func(f *Facts) { f.Protection = nil }), want: "allowed, allow, passes"},
		{name: "a dry run is no different", f: about(pod(), protectedBy("a label"), dry), want: "protected, 429 TooManyRequests"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := s
			s.RefuseProtected = !tt.off
			v := Decide(s, tt.f)
			if v.Need != tt.need || v.Need == NeedNothing && brief(v) != tt.want {
				t.Errorf("got %s and need %d, want %s and %d", brief(v), v.Need, tt.want, tt.need)
			}
			if v.Outcome == OutcomeProtected && v.Message != "The pod is protected from deletion: a label" {
				t.Errorf("got message %q", v.Message)
			}
		})
	}
}

func protectedBy(what string) func(*Facts) { return func(f *Facts) { f.Protection = &what } }

func TestStrimziNames(t *testing.T) {
	got := fmt.Sprint(v1alpha1.StrimziRollAnnotation, " ", v1alpha1.StrimziRollValue, " ", strimziKindLabel, " ", strimziNameLabel)
	if diff := cmp.Diff("strimzi.io/manual-rolling-update true strimzi.io/kind strimzi.io/name", got); diff != "" {
		t.Error(diff)
	}
}
