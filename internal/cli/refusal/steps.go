// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal

import (
	"cmp"
	"fmt"
	"strings"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	deletion "github.com/holdfast-dev/holdfast/internal/deletion/policy"
	eviction "github.com/holdfast-dev/holdfast/internal/eviction/policy"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/platform/text"
)

// The parts of Holdfast that refuse.
const (
	featureSelf          = "self-protection"
	featureClaims        = "claims"
	featureMarks         = "marks"
	featureDeletion      = "deletion"
	featureEviction      = "eviction"
	featureHierarchy     = "hierarchy"
	featureConfiguration = "configuration"
)

// owners are the parts of Holdfast by how the names of their policies begin, the longer
// ones first, and by how those of their webhooks end.
var (
	policies = []struct{ prefix, feature string }{
		{"holdfast-self", featureSelf},
		{"holdfast-claims", featureClaims},
		{"holdfast-mark", featureMarks},
		{"holdfast-deletion-", featureDeletion},
		{"holdfast-hierarchy-", featureHierarchy},
	}
	webhooks = []struct{ suffix, feature string }{
		{eviction.Webhook, featureEviction},
		{".deletion.holdfast.dev", featureDeletion},
		{".holdfast.dev", featureConfiguration},
		{"." + hncv1alpha2.GroupName, featureHierarchy},
	}
)

func featureOf(by By, name string) string {
	switch by {
	case ByPolicy:
		for _, p := range policies {
			if strings.HasPrefix(name, p.prefix) {
				return p.feature
			}
		}
	case ByWebhook, ByOutage:
		for _, w := range webhooks {
			if strings.HasSuffix(name, w.suffix) {
				return w.feature
			}
		}
	}
	return ""
}

// About is the request that was refused.
type About struct {
	// Target is the object as kubectl takes it, and Flag that of its namespace, with a
	// space before it.
	Target, Flag string
	Name         string
	Delete       bool
}

// Steps say what can be done about a refusal.
func (r *Refusal) Steps(a About) []string {
	switch r.By {
	case ByRBAC:
		return []string{"ask for the RBAC verb " + r.Right.String()}
	case ByFields:
		return []string{
			"see whose the fields are: kubectl holdfast owner " + a.Target + a.Flag + " --fields",
			"leave these fields out, or take them over: --force-conflicts",
		}
	case ByOutage:
		return r.outage(a)
	case ByAPIServer:
		return nil
	}
	return r.admission(a)
}

// admission is about policies and webhooks.
func (r *Refusal) admission(a About) []string {
	switch r.Feature {
	case featureSelf:
		return []string{"change Holdfast's configuration, and not what Holdfast writes from it"}
	case featureClaims:
		return []string{
			"keep the annotation " + v1alpha1.ClaimsAnnotation + " as it is when you write the Namespace: only Holdfast changes it",
			"to give a namespace another owner, declare it in the source of one RootSync",
		}
	case featureMarks:
		return []string{"keep the object's marks as they are when you write it: only Holdfast changes these labels"}
	case featureDeletion:
		return r.deletion(a)
	case featureEviction:
		return []string{"see what decides: kubectl holdfast why evict " + text.Word(a.Name) + a.Flag}
	case featureHierarchy:
		return r.hierarchy(a)
	case featureConfiguration:
		return []string{"mend the field that the message names"}
	}
	what := map[By]string{ByPolicy: "the policy ", ByWebhook: "the webhook "}[r.By]
	return []string{"ask whoever keeps " + what + r.Name}
}

// deletion is about the rules that keep protections in place. Of those about deleting the
// message says what helps.
func (r *Refusal) deletion(a About) []string {
	right := fmt.Sprintf("%s on %s.%s", v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)
	switch {
	case strings.HasPrefix(r.Name, "holdfast-deletion-protection-") && strings.HasSuffix(r.Name, "-unprotect"):
		return []string{"leave the labels and the owners that the message is about as they are", "or ask for the RBAC verb " + right}
	case strings.HasPrefix(r.Name, "holdfast-deletion-protection-") && strings.HasSuffix(r.Name, "-bind"):
		return []string{"bind the pod without labels", "or ask for the RBAC verb " + right}
	case strings.HasSuffix(r.Name, "-unchecked"):
		return []string{"ask for the RBAC verb " + right + ", cluster-wide"}
	case strings.HasSuffix(r.Name, "-unprotect"), strings.HasSuffix(r.Name, "-bind"):
		return []string{
			"put the label back into what you apply",
			"or ask somebody who holds the RBAC verb " + right + " to run: kubectl holdfast unprotect " + a.Target + a.Flag,
		}
	case strings.HasSuffix(r.Name, "-value"):
		return []string{"set the label to a value that the message names: kubectl holdfast protect " + a.Target + a.Flag}
	case strings.HasSuffix(r.Name, "-override"):
		return []string{"ask for an override as yourself: kubectl holdfast override ask"}
	case strings.HasPrefix(r.Name, deletion.ByDefaultPolicyName):
		return r.byDefault(a, "the RBAC verb "+right+", cluster-wide")
	case a.Delete:
		return []string{"decide about what the message names first"}
	}
	return []string{"see what protects it: kubectl holdfast why delete " + a.Target + a.Flag}
}

// byDefault is about what a namespace protects by default.
func (r *Refusal) byDefault(a About, right string) []string {
	switch {
	case !a.Delete:
		return []string{"ask for " + right}
	case r.Name == deletion.ByDefaultNamespacePolicyName:
		return []string{
			"to let all of it go with it, for a while, run: kubectl holdfast override ask " + a.Target + " --include-contents --reason WHY",
			"to end what it declares, which needs " + right + ", run: kubectl label " + a.Target + " " + v1alpha1.ProtectByDefaultLabel + "-",
		}
	}
	return []string{
		"to let this one object go for a while, run: kubectl holdfast override ask " + a.Target + a.Flag + " --reason WHY",
		"to protect it no longer, change what its namespace declares, by the annotation " + v1alpha1.ProtectByDefaultLabel + ", which needs " + right,
	}
}

func (r *Refusal) hierarchy(a About) []string {
	told := rules.Read(r.Message)
	switch {
	case told.CopyOf != "":
		return []string{
			fmt.Sprintf("change what it was copied from: kubectl edit %s -n %s", a.Target, text.Word(told.CopyOf)),
			fmt.Sprintf("or keep it from being copied there: kubectl annotate %s -n %s %s='!%s'",
				a.Target, text.Word(told.CopyOf), hncv1alpha2.AnnotationTreeSelect, strings.TrimPrefix(a.Flag, " -n ")),
		}
	case told.Kept != "":
		return []string{"decide first about what keeps it: kubectl holdfast why delete namespace " + text.Word(told.Kept)}
	case told.Subnamespace != "":
		return []string{fmt.Sprintf("kubectl delete subns %s -n %s", text.Word(told.Subnamespace), text.Word(told.Anchor))}
	case told.Parent != "":
		return []string{
			"see what is below it: kubectl hns tree " + text.Word(told.Parent),
			"to let all of that go with it: kubectl hns set " + text.Word(told.Parent) + " --allowCascadingDeletion",
		}
	case told.Overwrites != "":
		return []string{
			"take another name, or delete those of this name in the namespaces " + told.Overwrites,
			fmt.Sprintf("or keep it from being copied, by the annotation %s", hncv1alpha2.AnnotationNone),
		}
	case told.NoRight != "":
		return []string{"ask for the RBAC verb update on " + hncv1alpha2.ResourceHierarchyConfigurations + "." + hncv1alpha2.GroupName + " in namespace " + told.NoRight}
	}
	return []string{"see where the namespaces stand: kubectl hns tree"}
}

// outage is about a webhook that does not answer. The name of the one that looks below
// what is deleted says how to pass by it.
func (r *Refusal) outage(a About) []string {
	if r.Feature == "" {
		return []string{"ask whoever keeps the webhook " + r.Name}
	}
	out := []string{"see how Holdfast is: kubectl holdfast status"}
	if a.Delete && (r.Feature == featureDeletion || r.Feature == featureHierarchy) {
		step := fmt.Sprintf("to delete this one object without a look below it: kubectl annotate %s%s %s=%s", a.Target, a.Flag, v1alpha1.DeleteUncheckedAnnotation, text.Word(a.Name))
		if strings.HasPrefix(a.Target, "customresourcedefinitions.") {
			step += fmt.Sprintf(" (that needs the RBAC verb %s on %s.%s, cluster-wide)", v1alpha1.UnprotectVerb, v1alpha1.UnprotectResource, v1alpha1.GroupName)
		}
		out = append(out, step)
	}
	return out
}

// String is "update on configmaps in namespace shop".
func (r *Right) String() string {
	if r == nil {
		return "that is missing"
	}
	resource := r.Resource
	if r.Group != "" {
		before, below, _ := strings.Cut(resource, "/")
		resource = strings.TrimSuffix(before+"."+r.Group+"/"+below, "/")
	}
	return r.Verb + " on " + resource + cmp.Or(prefixed(" in namespace ", r.Namespace), ", cluster-wide")
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
