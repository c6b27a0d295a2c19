// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	rootsync "github.com/holdfast-dev/holdfast/internal/cli/sync"
)

// report says what follows from what was read.
func (l *looked) report() *Report {
	r := &Report{TypeMeta: metav1.TypeMeta{APIVersion: "cli.holdfast.dev/v1alpha1", Kind: "HoldfastReport"}, Ready: metav1.ConditionUnknown}
	modes := map[string]string{}
	if h := l.holdfast; h != nil {
		r.Version = h.Status.Version
		for _, f := range h.Status.Features {
			modes[f.Name] = f.Mode
		}
		if c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			r.Ready = c.Status
		}
		for _, c := range h.Status.Conditions {
			if c.Type != v1alpha1.ConditionReady && c.Status != metav1.ConditionTrue {
				r.Problems = append(r.Problems, fmt.Sprintf("%s: %s: %s", c.Type, c.Reason, c.Message))
			}
		}
	}
	l.silent(r)
	scopes, err := scopesOf(l.holdfast)
	if err != nil {
		r.Problems = append(r.Problems, fmt.Sprintf("the scope of the features is not known: %v", err))
	}
	r.Scope = scopes[""]
	for _, f := range []struct {
		name  string
		state []string
	}{
		{"deletion", l.deletion()}, {"eviction", l.eviction()}, {"hierarchy", l.hierarchy()}, {"rootSync", l.rootSyncs()}, {"serviceAccounts", l.accounts()},
	} {
		r.Features = append(r.Features, Feature{Name: f.name, Mode: modes[f.name], Scope: scopes[f.name], State: f.state})
	}
	if l.home != nil {
		r.Problems = append(r.Problems, l.home.Error())
	}
	r.Problems = append(r.Problems, l.problems...)
	return r
}

// silent reports workloads that no replica leads, unless they were removed and have left a lease behind.
func (l *looked) silent(r *Report) {
	if l.guardSilent != "" && l.holdfast != nil {
		r.Ready = metav1.ConditionUnknown
		r.Problems = append(r.Problems, l.guardSilent)
	}
	if l.syncSilent != "" && len(l.syncs) > 0 {
		r.Problems = append(r.Problems, l.syncSilent)
	}
}

// state builds the lines of a feature.
type state []string

func (s *state) add(when bool, format string, args ...any) {
	if when {
		*s = append(*s, fmt.Sprintf(format, args...))
	}
}

// notReady are the names of objects whose condition Ready is not true.
func notReady[T any](list []T, of func(*T) (string, []metav1.Condition)) (names []string) {
	for i := range list {
		if name, conditions := of(&list[i]); !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (l *looked) deletion() []string {
	var (
		s     state
		total int64
	)
	for i := range l.protections {
		total += int64(l.protections[i].Status.Matches.Total)
	}
	s.add(len(l.protections) > 0, "%d ResourceDeletionProtections select %d objects", len(l.protections), total)
	not := notReady(l.protections, func(p *v1alpha1.ResourceDeletionProtection) (string, []metav1.Condition) {
		return p.Name, p.Status.Conditions
	})
	s.add(len(not) > 0, "%d of them do not protect all that they select: %s", len(not), few(not))
	phases := map[string]int{}
	for i := range l.overrides {
		phases[string(l.overrides[i].Status.Phase)]++
	}
	for _, phase := range slices.Sorted(maps.Keys(phases)) {
		s.add(phase != "", "%d DeletionOverrides %s", phases[phase], strings.ToLower(phase))
	}
	return s
}

func (l *looked) eviction() []string {
	var s state
	waiting := int32(0)
	for i := range l.policies {
		waiting += l.policies[i].Status.Waiting
	}
	s.add(len(l.policies) > 0, "%d EvictionPolicies, for which %d pods wait", len(l.policies), waiting)
	not := notReady(l.policies, func(p *v1alpha1.EvictionPolicy) (string, []metav1.Condition) { return p.Name, p.Status.Conditions })
	s.add(len(not) > 0, "%d of them are not in force: %s", len(not), few(not))
	return s
}

func (l *looked) hierarchy() []string {
	var (
		s          state
		told, lost []string
	)
	for i := range l.hierarchies {
		if len(l.hierarchies[i].Status.Conditions) > 0 {
			told = append(told, l.hierarchies[i].Namespace)
		}
	}
	for i := range l.anchors {
		if a := &l.anchors[i]; a.Status.State != hncv1alpha2.AnchorOk {
			lost = append(lost, a.Namespace+"/"+a.Name)
		}
	}
	slices.Sort(told)
	slices.Sort(lost)
	s.add(len(l.hierarchies)+len(l.anchors) > 0, "%d HierarchyConfigurations, %d SubnamespaceAnchors", len(l.hierarchies), len(l.anchors))
	s.add(len(told) > 0, "%d namespaces have conditions: %s", len(told), few(told))
	s.add(len(lost) > 0, "%d anchors have no subnamespace: %s", len(lost), few(lost))
	return s
}

func (l *looked) rootSyncs() []string {
	var s state
	states := map[string][]string{}
	for i := range l.syncs {
		word := rootsync.StateOf(&l.syncs[i])
		states[word] = append(states[word], l.syncs[i].Name)
	}
	s.add(len(l.syncs) > 0, "%d RootSyncs, of which %d are synced", len(l.syncs), len(states[rootsync.Synced]))
	for _, word := range slices.Sorted(maps.Keys(states)) {
		names := states[word]
		slices.Sort(names)
		s.add(word != rootsync.Synced, "%d %s: %s", len(names), strings.ToLower(word), few(names))
	}
	return s
}

func (l *looked) accounts() []string {
	var (
		s                          state
		kept, conflicts, errors, p int32
	)
	for i := range l.templates {
		t := &l.templates[i].Status
		kept, conflicts, errors, p = kept+t.Accounts, conflicts+t.Conflicts, errors+t.Errors, p+t.Pending
	}
	s.add(len(l.templates) > 0, "%d ServiceAccountTemplates, for %d accounts", len(l.templates), kept)
	s.add(p > 0, "%d accounts would be written", p)
	s.add(conflicts > 0, "%d accounts about which others have their say", conflicts)
	s.add(errors > 0, "%d accounts that cannot be kept", errors)
	return s
}
