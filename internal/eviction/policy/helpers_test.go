// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// noon is when the tests happen.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// pod builds a pod from words: "k=v" is a label, "@k=v" an annotation,
// "controller:group/version/Kind" and "owner:…" an owner, "phase:Failed",
// "node:n" and "terminating".
func pod(words ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", UID: "this"}}
	for _, w := range words {
		what, rest, _ := strings.Cut(w, ":")
		key, value, pair := strings.Cut(w, "=")
		switch {
		case pair && strings.HasPrefix(key, "@"):
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, key[1:], value)
		case pair:
			metav1.SetMetaDataLabel(&p.ObjectMeta, key, value)
		case what == "controller", what == "owner":
			i := strings.LastIndex(rest, "/")
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: rest[:i], Kind: rest[i+1:], Controller: new(what == "controller")})
		case what == "phase":
			p.Status.Phase = corev1.PodPhase(rest)
		case what == "node":
			p.Spec.NodeName = rest
		case what == "terminating":
			p.DeletionTimestamp = &metav1.Time{Time: noon}
		default:
			panic("unknown word " + w)
		}
	}
	return p
}

// compiled are policies by "name: spec".
func compiled(t testing.TB, policies ...string) []*Policy {
	t.Helper()
	var out []*Policy
	for _, text := range policies {
		name, spec, _ := strings.Cut(text, ": ")
		in := &v1alpha1.EvictionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := json.Unmarshal([]byte(spec), &in.Spec); err != nil {
			t.Fatalf("%v in %s", err, spec)
		}
		p, problems := Compile(in)
		if len(problems) > 0 {
			t.Fatal(problems.ToAggregate())
		}
		out = append(out, p)
	}
	Sort(out)
	return out
}

func enforced(policies ...*Policy) Settings {
	return Settings{Mode: configv1alpha1.ModeEnforce, Policies: policies}
}

// about is all there is to know of a pod that somebody evicts.
func about(p *corev1.Pod, mend ...func(*Facts)) Facts {
	f := Facts{
		Request: Request{Namespace: p.Namespace, Name: p.Name, User: "alice", Groups: []string{"admins"}},
		Meta:    &p.ObjectMeta, Pod: p, Now: noon, Protection: new(""), Node: &Node{},
		Namespace: &metav1.ObjectMeta{Name: p.Namespace, Labels: map[string]string{"tier": "gold"}},
	}
	for _, m := range mend {
		m(&f)
	}
	return f
}

func dry(f *Facts) { f.Request.DryRun = true }

func forUID(uid types.UID) func(*Facts) { return func(f *Facts) { f.Request.UID = uid } }

// brief writes a verdict as "outcome, by, what whoever evicts gets, what is written".
func brief(v Verdict) string {
	parts := []string{string(v.Outcome)}
	switch {
	case v.Policy != "":
		parts = append(parts, v.Policy)
	case v.DrainCleaner:
		parts = append(parts, "drain cleaner")
	}
	if v.Mode != configv1alpha1.ModeEnforce {
		parts = append(parts, "in mode "+string(v.Mode))
	}
	if v.Allowed {
		parts = append(parts, "passes")
	} else {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", v.Code, v.Reason)))
	}
	if v.Patch != nil {
		parts = append(parts, "writes "+strings.Join(slices.Sorted(keys(v.Patch)), " "))
	}
	return strings.Join(parts, ", ")
}

// keys are what a patch writes, without Holdfast's own.
func keys(p *Patch) func(func(string) bool) {
	out := map[string]bool{}
	for _, m := range []map[string]string{p.Annotations, p.Labels} {
		for k, v := range m {
			if !strings.HasPrefix(k, v1alpha1.GroupName+"/") {
				out[k+"="+v] = true
			}
		}
	}
	return maps.Keys(out)
}
