// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rivals

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// Facts are what was found.
type Facts struct {
	Deployments []Deployment
	Webhooks    []Webhook
}

// Deployment is one that may be HNC's.
type Deployment struct {
	Namespace, Name string
	Images          []string
	// Wanted are the pods that there should be, and Running those that there are,
	// which may be on their way out; Ready of them answer.
	Wanted, Running, Ready int32
}

// Webhook is a webhook configuration that may be HNC's.
type Webhook struct {
	Kind, Name string
	// Webhooks are the names of the webhooks in it.
	Webhooks []string
	// Services that answer, and how many endpoints of each are ready.
	Services map[types.NamespacedName]int
	// URLs that answer. Nothing says whether somebody is there.
	URLs []string
}

// Names that HNC is installed under.
const (
	deploymentName   = "hnc-controller-manager"
	deploymentNameHA = "hnc-controller-manager-ha"
	validatingName   = "hnc-validating-webhook-configuration"
	mutatingName     = "hnc-mutating-webhook-configuration"
	// webhookSuffix ends the names of its webhooks.
	webhookSuffix = ".hnc.x-k8s.io"

	controlPlaneLabel = "control-plane"
)

// controlPlanes are the values of controlPlaneLabel on HNC's Deployments. Many other
// controllers are labelled like that, so the image has to be HNC's too.
var controlPlanes = []string{"controller-manager", "controller-manager-ha"}

// images are parts of the paths of HNC's images, and of those of its forks.
var images = []string{"hnc-manager", "hierarchical-namespaces"}

// isHNC goes by the name or by the image.
func (d Deployment) isHNC() bool {
	return d.Name == deploymentName || d.Name == deploymentNameHA || slices.ContainsFunc(d.Images, imageOfHNC)
}

func imageOfHNC(image string) bool {
	image, _, _ = strings.Cut(image, "@")
	for part := range strings.SplitSeq(image, "/") {
		name, _, _ := strings.Cut(part, ":")
		if slices.Contains(images, name) {
			return true
		}
	}
	return false
}

// lives says whether it has pods or is about to have some.
func (d Deployment) lives() bool { return d.Wanted > 0 || d.Running > 0 }

func (d Deployment) String() string {
	return fmt.Sprintf("Deployment %s/%s (%d pods wanted, %d there)", d.Namespace, d.Name, d.Wanted, d.Running)
}

// isHNC goes by the name, or by the names of the webhooks where somebody has
// installed it under another.
func (w Webhook) isHNC() bool {
	return w.Name == validatingName || w.Name == mutatingName ||
		slices.ContainsFunc(w.Webhooks, func(name string) bool { return strings.HasSuffix(name, webhookSuffix) })
}

// AnsweredBy says who answers, if anybody may.
func (w Webhook) AnsweredBy() string {
	if len(w.URLs) > 0 {
		return w.URLs[0]
	}
	var services []string
	for s, ready := range w.Services {
		if ready > 0 {
			services = append(services, "Service "+s.String())
		}
	}
	if len(services) == 0 {
		return ""
	}
	return slices.Min(services)
}

// Verdict says whether Holdfast is alone. The zero value is not to know.
type Verdict struct {
	state state
	// why, for people.
	why string
}

type state int

const (
	notKnown state = iota
	alone
	leftBehind
	runs
)

// HNC is what of the facts is HNC's.
func (f Facts) HNC() Facts {
	return Facts{
		Deployments: slices.DeleteFunc(slices.Clone(f.Deployments), func(d Deployment) bool { return !d.isHNC() }),
		Webhooks:    slices.DeleteFunc(slices.Clone(f.Webhooks), func(w Webhook) bool { return !w.isHNC() }),
	}
}

// Judge decides by what was found.
func Judge(f Facts) Verdict {
	f = f.HNC()
	var live, dead []string
	for _, d := range f.Deployments {
		if d.lives() {
			live = append(live, d.String())
		}
	}
	for _, w := range f.Webhooks {
		if by := w.AnsweredBy(); by != "" {
			live = append(live, fmt.Sprintf("%s %s, answered by %s", w.Kind, w.Name, by))
		} else {
			dead = append(dead, w.Kind+" "+w.Name)
		}
	}
	slices.Sort(live)
	slices.Sort(dead)
	switch {
	case len(live) > 0:
		return Verdict{state: runs, why: "HNC runs: " + strings.Join(live, "; ") + ". Both would write the same namespaces and copies, to and fro, so Holdfast stands by. " + remedy}
	case len(dead) > 0:
		return Verdict{state: leftBehind, why: "HNC was left behind: nobody answers for " + strings.Join(dead, " and ") +
			", so the API server may refuse to write any namespace. " + remedy}
	default:
		return Verdict{state: alone, why: "no HNC runs beside Holdfast"}
	}
}

const remedy = "To hand over: kubectl holdfast adopt hnc"

// unknown is the verdict when the first look failed.
func unknown(err error) Verdict {
	return Verdict{why: "Holdfast stands by until it knows whether HNC runs: " + err.Error()}
}

// Alone says whether Holdfast may write and refuse. It may where HNC was left
// behind: that is in the way of every write, but writes nothing itself.
func (v Verdict) Alone() bool { return v.state == alone || v.state == leftBehind }

// Why says more, for people; empty before the first look.
func (v Verdict) Why() string { return v.why }

// Condition is the verdict as a condition of Holdfast.
func (v Verdict) Condition() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionHierarchyAlone, Status: metav1.ConditionFalse, Message: v.why}
	switch v.state {
	case alone:
		c.Status, c.Reason = metav1.ConditionTrue, v1alpha1.ReasonAlone
	case leftBehind:
		c.Reason = v1alpha1.ReasonHNCLeftBehind
	case runs:
		c.Reason = v1alpha1.ReasonHNCRuns
	case notKnown:
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonNotYetChecked
		if c.Message == "" {
			c.Message = "Holdfast has not looked yet whether HNC runs"
		}
	}
	return c
}
