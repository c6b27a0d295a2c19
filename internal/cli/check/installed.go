// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
)

// The versions of Kubernetes: oldest is the first with what Holdfast stands on, and it is
// tested on those between first and last.
var (
	oldest = version.MustParseGeneric("1.30")
	first  = version.MustParseGeneric("1.36")
	last   = version.MustParseGeneric("1.37")
)

func kubernetesVersion(f *facts) []Finding {
	say := func(l Level, remedy, format string, args ...any) []Finding {
		return []Finding{{Kubernetes, l, fmt.Sprintf(format, args...), remedy}}
	}
	v, err := version.ParseGeneric(f.version)
	if err != nil {
		return say(Warning, "", "the API server says that it is %q, which is no version", f.version)
	}
	minor := version.MajorMinor(v.Major(), v.Minor())
	switch {
	case !f.policies || minor.LessThan(oldest):
		return say(Problem, "upgrade the cluster to "+oldest.String()+" at least", "Kubernetes %s has no ValidatingAdmissionPolicies, on which Holdfast stands", f.version)
	case minor.LessThan(first), minor.GreaterThan(last):
		return say(Warning, "try it on a cluster that may break", "Kubernetes %s is not one that Holdfast is tested on: those are %s to %s", f.version, first, last)
	}
	return say(OK, "", "Kubernetes %s", f.version)
}

// installation says whether Holdfast is there as a whole.
func installation(f *facts, plugin string) []Finding {
	var out []Finding
	say := func(l Level, remedy, format string, args ...any) {
		out = append(out, Finding{Installation, l, fmt.Sprintf(format, args...), remedy})
	}
	if f.holdfast == nil && !f.anchor {
		say(Note, "docs/guides/install.md", "Holdfast is not installed")
		if !f.mayInstall {
			say(Warning, "have an administrator of the cluster install it", "you may not install it: whoever does needs every right that Holdfast has")
		}
		return out
	}
	missing := slices.DeleteFunc(slices.Clone(f.needed), func(name string) bool { return f.established[name] })
	if len(missing) > 0 && len(f.established) > 0 {
		say(Problem, "kubectl apply --server-side -f config/crd", "CustomResourceDefinitions are missing: %s", strings.Join(missing, ", "))
	}
	if !f.anchor {
		say(Problem, "create the ClusterRole "+admission.AnchorName+" again, when what it was deleted for is over",
			"the ClusterRole %s is gone, and with it all rules of Holdfast: nothing is guarded", admission.AnchorName)
	}
	if f.stops {
		say(Note, "kubectl annotate clusterrole "+admission.AnchorName+" "+v1alpha1.StopAnnotation+"-",
			"the ClusterRole %s has the annotation %s, so deleting it, even by accident, stops Holdfast", admission.AnchorName, v1alpha1.StopAnnotation)
	}
	if f.holdfast == nil {
		say(Problem, "look at the log of its manager", "Holdfast is installed, and has never said how it is")
		return out
	}
	if v := f.holdfast.Status.Version; plugin != "" && v != plugin {
		say(Note, "", "Holdfast is %s, and this plugin %s", v, plugin)
	}
	if f.silent != "" {
		say(Problem, "see whether its pods run: kubectl get pods -n "+f.namespace, "%s", f.silent)
	}
	out = append(out, conditions(f.holdfast.Status.Conditions, f.silent == "")...)
	return append(out, replicas(f)...)
}

// home says what is wrong with the namespace of RootSyncs.
func home(f *facts) []Finding {
	var e *namespaces.InTreeError
	if !errors.As(f.home, &e) {
		return nil
	}
	level := Warning
	if f.holdfast != nil {
		level = Problem
	}
	return []Finding{{Installation, level, e.Problem(), e.Remedy()}}
}

// conditions are what Holdfast says is wrong, and that nothing is if it still says so.
func conditions(all []metav1.Condition, current bool) []Finding {
	var out []Finding
	for _, c := range all {
		if c.Status != metav1.ConditionTrue && c.Type != v1alpha1.ConditionReady {
			out = append(out, Finding{Installation, Problem, fmt.Sprintf("%s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message), ""})
		}
	}
	ready := meta.FindStatusCondition(all, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		out = append(out, Finding{Installation, Problem, "Holdfast does not say whether it is ready", "look at the log of its manager"})
	case ready.Status == metav1.ConditionTrue && !current:
	case ready.Status == metav1.ConditionTrue:
		out = append(out, Finding{Installation, OK, "Holdfast is ready", ""})
	case len(out) == 0:
		out = append(out, Finding{Installation, Problem, "Holdfast is not ready: " + ready.Message, ""})
	}
	return out
}

// replicas says which Deployments of Holdfast lack pods: its status stays as it was when
// none is left that could write it.
func replicas(f *facts) []Finding {
	var out []Finding
	for i := range f.deployments {
		d := &f.deployments[i]
		wanted := ptr.Deref(d.Spec.Replicas, 1)
		if d.Namespace != f.namespace || !ours(d) || d.Status.ReadyReplicas >= wanted {
			continue
		}
		level := Warning
		if d.Status.ReadyReplicas == 0 {
			level = Problem
		}
		out = append(out, Finding{
			Installation, level, fmt.Sprintf("of Deployment %s %d of %d pods are ready", d.Name, d.Status.ReadyReplicas, wanted),
			fmt.Sprintf("kubectl describe deployment %s -n %s", d.Name, d.Namespace),
		})
	}
	return out
}

// ours says whether a Deployment is Holdfast's, by its label.
func ours(d *appsv1.Deployment) bool {
	return d.Labels["app.kubernetes.io/name"] == "holdfast" || d.Labels[admission.ManagedByLabel] == admission.ManagedByValue
}

// soon is a time in which a certificate should have been replaced: Holdfast does it when
// two thirds of its life have passed.
const soon = 14 * 24 * time.Hour

// certificates says how long the serving certificate lasts, and the authority.
func certificates(f *facts, secret string, now time.Time) []Finding {
	i := slices.IndexFunc(f.validating, isHoldfasts)
	if i < 0 {
		return nil
	}
	var out []Finding
	lasts := func(what string, end time.Time) {
		left := end.Sub(now)
		switch {
		case left <= 0:
			out = append(out, Finding{Certificates, Problem, fmt.Sprintf("%s has expired on %s", what, end.UTC().Format(time.DateOnly)), "kubectl delete secret " + secret + " -n " + f.namespace + ": Holdfast makes another, where it issues it itself"})
		case left < soon:
			out = append(out, Finding{Certificates, Warning, fmt.Sprintf("%s lasts for %s only", what, duration.HumanDuration(left)), "see to it that somebody replaces it: Holdfast, or what keeps its Secret"})
		default:
			out = append(out, Finding{Certificates, OK, fmt.Sprintf("%s lasts until %s", what, end.UTC().Format(time.DateOnly)), ""})
		}
	}
	if f.leaf != nil {
		lasts("the serving certificate", f.leaf.NotAfter)
	}
	if len(f.validating[i].Webhooks) == 0 {
		return out
	}
	authorities, err := cert.ParseCertsPEM(f.validating[i].Webhooks[0].ClientConfig.CABundle) // all have the same
	if err != nil {
		return append(out, Finding{Certificates, Problem, "the authority that the API server trusts cannot be read: " + err.Error(), "look at the log of the manager"})
	}
	last := slices.MaxFunc(authorities, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	lasts("the authority that the API server trusts", last.NotAfter)
	return out
}
