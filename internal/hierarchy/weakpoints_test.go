// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/internal/testkit/auditlog"
)

// times are when conditions came, by type and reason.
func times(conditions []metav1.Condition) map[string]time.Time {
	out := map[string]time.Time{}
	for _, c := range conditions {
		out[c.Type+"/"+c.Reason] = c.LastTransitionTime.UTC()
	}
	return out
}

// later waits until a second has passed, which is what conditions tell apart.
func (r *rig) later() {
	r.t.Helper()
	from := time.Now().Truncate(time.Second)
	r.Eventually(func() bool { return time.Since(from) > 2*time.Second }, patience, often).Should(gomega.BeTrue())
}

// HNC kept one condition of each type, and gave it a new time with each write.
func TestWeakPoint10_conditionsOfANamespaceAllStayWithTheirTimes(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.run(`
		past set ns s {"metadata":{"annotations":{"hnc.x-k8s.io/subnamespace-of":"{z}"}}}
		past set hc s {"spec":{"labels":[{"key":"other/x","value":"1"}],"annotations":[{"key":"other/y","value":"1"}]}}
		see problems s: ActivitiesHalted/ParentMissing BadConfiguration/IllegalManagedAnnotation BadConfiguration/IllegalManagedLabel BadConfiguration/SubnamespaceAnchorMissing
	`)
	before := times(r.hierarchy("s").Status.Conditions)
	r.later()
	r.run(`
		past set hc s {"spec":{"labels":[{"key":"other/z","value":"1"}]}}
		see message s IllegalManagedLabel: the configuration does not let these labels be managed: other/z
		past set hc s {"spec":{"annotations":null}}
		see problems s: ActivitiesHalted/ParentMissing BadConfiguration/IllegalManagedLabel BadConfiguration/SubnamespaceAnchorMissing
	`)
	delete(before, "BadConfiguration/IllegalManagedAnnotation")
	if diff := gocmp.Diff(before, times(r.hierarchy("s").Status.Conditions)); diff != "" {
		t.Errorf("times have changed (-before +after):\n%s", diff)
	}
	// One that is new has its own time, and one that comes again has a new one.
	r.run(`
		past set hc s {"spec":{"annotations":[{"key":"other/y","value":"1"}]}}
		see problems s: ActivitiesHalted/ParentMissing BadConfiguration/IllegalManagedAnnotation BadConfiguration/IllegalManagedLabel BadConfiguration/SubnamespaceAnchorMissing
	`)
	if after := times(r.hierarchy("s").Status.Conditions); !after["BadConfiguration/IllegalManagedAnnotation"].After(before["BadConfiguration/IllegalManagedLabel"]) {
		t.Errorf("the time of a condition that has come again is %v", after)
	}
}

// The same of the HNCConfiguration, with problems of several kinds and namespaces.
func TestWeakPoint10_conditionsOfTheHNCConfigurationAllStayWithTheirTimes(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.run(`
		kind plan Cluster
		kind thing
		mode plans Propagate
		mode nothings Propagate
		mode nonsenses Propagate
		mode things Propagate
		mode thing Propagate
		tree b
		past parent b=z
		past set hc b {"spec":{"labels":[{"key":"other/x","value":"1"}]}}
		see problem ResourceNotFound nothings.{.}: the API server serves no resource nothings.{.}.example.com
		see problem ResourceNotFound nonsenses.{.}: the API server serves no resource nonsenses.{.}.example.com
		see problem ResourceNotNamespaced: the resource plans.{.}.example.com is not in namespaces
		see problem MultipleConfigurationsForType: the resource thing.{.}.example.com is configured more than once: the first entry counts
		see problems b: ActivitiesHalted/ParentMissing BadConfiguration/IllegalManagedLabel
	`)
	ours := func() map[string]time.Time {
		out := map[string]time.Time{}
		for at, when := range times(r.status().Conditions) {
			switch at {
			case "BadConfiguration/ResourceNotFound", "BadConfiguration/ResourceNotNamespaced", "BadConfiguration/MultipleConfigurationsForType",
				"NamespaceCondition/ActivitiesHalted", "NamespaceCondition/BadConfiguration":
				out[at] = when
			}
		}
		return out
	}
	r.Eventually(ours, patience, often).Should(gomega.HaveLen(5))
	before := ours()
	r.later()
	r.run(`
		mode nonsenses -
		see problem ResourceNotFound nonsenses.{.}: -
		see problem ResourceNotFound nothings.{.}: the API server serves no resource nothings.{.}.example.com
		put thing b/x v=1
		see counts things: Propagate, 0 copies, 1 sources
	`)
	if diff := gocmp.Diff(before, ours()); diff != "" {
		t.Errorf("times have changed (-before +after):\n%s", diff)
	}
	for _, kind := range []string{"plans", "nothings", "things", "thing"} {
		r.run("mode " + kind + " -")
	}
}

func TestConditions_namespacesAreCounted(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.run("tree a b<a c<b d<c\npast parent a=z\nsee problems d: ActivitiesHalted/AncestorHaltActivities")
	// Other tests have such namespaces too.
	r.Eventually(func() string {
		c := r.condition("NamespaceCondition", "ActivitiesHalted")
		if c == nil {
			return none
		}
		return c.Message
	}, patience, often).Should(gomega.MatchRegexp(`^\d+ namespaces: [a-z0-9-]+, [a-z0-9-]+, [a-z0-9-]+ and \d+ more$`))
}

// A finalizer on a source took its copies away in HNC; and without a word one that
// went overwrote what others had made below meanwhile, as an exception that went did.
func TestWeakPoint12_aFinalizerOnASourceTakesNoCopyAway(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.run(`
		tree a b<a c<b
		put rb a/x role=view
		see copies rb x: a b<a c<a
		set rb a/x {"metadata":{"finalizers":["example.com/held"]}}
		see events rb a/x: CannotPropagateObject
		fence
		see copies rb x: a b<a c<a
		past delete rb c/x
		fence
		see copies rb x: a b<a
		set rb a/x {"metadata":{"finalizers":null}}
		see copies rb x: a b<a c<a
		put cm a/y v=1 !example.com/held
		put cm a/z v=1 @propagate.hnc.x-k8s.io/none=true
		put cm c/y v=mine
		put cm c/z v=mine
		fence
		refused set cm a/y {"metadata":{"finalizers":null}}
		refused set cm a/z {"metadata":{"annotations":{"propagate.hnc.x-k8s.io/none":null}}}
		see copies cm y: a c
		see copies cm z: a c
		delete cm a/y
		set cm a/y {"metadata":{"finalizers":null}}
		see copies cm y: c
	`)
}

// HNC's last sources wrote rules into a configuration of webhooks that had to be there
// already; without it nothing was copied.
func (r *rig) withoutWebhooks() {
	r.run("tree a b<a\nput cm a/x v=1\nsee copies cm x: a b<a")
	if err := r.Manager.Stop(); err != nil {
		r.t.Fatal(err)
	}
	r.run(`
		past delete vwc holdfast-guard
		past delete mwc holdfast-guard
		set cm a/x {"data":{"v":"2"}}
		put cm a/y v=1
		see there vwc holdfast-guard: no
		see there mwc holdfast-guard: no
	`)
	r.restart()
	r.run(`
		see field cm b/x data.v: 2
		see copies cm y: a b<a
		see there vwc holdfast-guard: yes
		see there mwc holdfast-guard: yes
		anchor a/s
		see copies cm y: a b<a s<a
	`)
}

func (r *rig) manyKinds() {
	r.run("tree a b<a")
	kinds := []string{"one", "two", "three", "four"}
	for _, k := range kinds {
		r.run("kind " + k + "\nput " + k + " a/x v=1")
	}
	for round := range 6 {
		mode := []string{"Propagate", "Remove", "Propagate", "Ignore", "AllowPropagate", "Propagate"}[round]
		for _, k := range kinds {
			r.run("mode " + k + "s " + mode + "\nput " + k + " a/y" + fmt.Sprint(round) + " v=1")
		}
	}
	for _, k := range kinds {
		r.run(`
			see copies ` + k + ` x: a b<a
			see copies ` + k + ` y3: a b<a
			see counts ` + k + `s: Propagate, 7 copies, 7 sources
			mode ` + k + `s -
		`)
	}
	text, err := os.ReadFile(r.Manager.LogFile)
	r.Expect(err).NotTo(gomega.HaveOccurred())
	if _, race, found := strings.Cut(string(text), "DATA RACE"); found {
		r.t.Errorf("a data race: %s", race[:min(6000, len(race))])
	}
}

// watches looks at the watches of whole objects that have ended.
func (r *rig) watches(log *auditlog.Log) {
	ended := func(resource string) (n int) {
		events, err := log.Events()
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range events {
			if e.ObjectRef.Resource == resource && !strings.Contains(e.RequestURI, "labelSelector") {
				n++
			}
		}
		return n
	}
	r.run("tree a b<a\nput limits a/x\nsee copies limits x: a b<a")
	before := ended("limitranges")
	r.mode("", "limitranges", "Ignore")
	r.Eventually(func() int { return ended("limitranges") }, patience, often).Should(gomega.Equal(before + 1))
	r.mode("", "limitranges", "Remove")
	r.run("see copies limits x: a")
	r.mode("", "limitranges", "-")
	r.Eventually(func() int { return ended("limitranges") }, patience, often).Should(gomega.Equal(before + 2))
	// With the process all of its watches end.
	if err := r.Manager.Stop(); err != nil {
		r.t.Fatal(err)
	}
	r.Eventually(func() int { return ended("configmaps") }, patience, often).Should(gomega.BeNumerically(">", 0))
	r.Expect(ended("resourcequotas")).To(gomega.Equal(0), "a kind that is ignored was watched")
	r.Expect(ended("limitranges")).To(gomega.Equal(before+2), "a kind that is not copied any more was watched")
	r.restart()
}

// HNC was ready when its server was; here it takes the trees.
func (r *rig) notReady() {
	r.Kubectl(r.t, "delete", "--ignore-not-found", "--timeout=180s", "crd", "hierarchyconfigurations.hnc.x-k8s.io", "subnamespaceanchors.hnc.x-k8s.io", "hncconfigurations.hnc.x-k8s.io")
	if err := r.Manager.Stop(); err != nil {
		r.t.Fatal(err)
	}
	r.Manager = r.StartManagerNotReady(r.whole)
	ready := func() error { return r.Manager.Ready(r.t.Context()) }
	r.Eventually(ready, patience, often).Should(gomega.MatchError(gomega.MatchRegexp(`(?s)\[\+\]certificate ok.*\[-\]features failed`)))
	r.Consistently(ready, "3s", often).ShouldNot(gomega.Succeed())
	r.applyCRDs()
	r.Eventually(ready, patience, often).Should(gomega.Succeed())
}
