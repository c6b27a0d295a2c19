// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	kptv1alpha1 "github.com/holdfast-dev/holdfast/api/kpt/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/cli/ui"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// unanswered is what to look at where nobody does what was asked for.
const unanswered = "if that lasts, look whether the sync of Holdfast runs: kubectl get pods -n holdfast-system"

// problemOf says in a line why a RootSync is not synced, or who disputes what it has, and
// what to do about it; empty where nothing has to be done.
func problemOf(rs *configsyncv1beta1.RootSync, i *item, inventory *kptv1alpha1.ResourceGroup) string {
	switch i.State {
	case synced:
		return contest(rs)
	case suspended:
		return suspensionText(rs)
	case stalled:
		return firstLine(condition(rs, configsyncv1beta1.ConditionStalled).Message)
	case pending:
		return waiting(rs)
	case deleting:
		if i.ErrorCount == 0 {
			return leaving(rs, inventory)
		}
	}
	if i.ErrorCount == 0 {
		return ""
	}
	return firstError(rs, i)
}

// contest says who else declares what a RootSync has. The errors are of the others.
func contest(rs *configsyncv1beta1.RootSync) string {
	if c := condition(rs, configsyncv1beta1.ConditionNamespacesContested); c != nil && c.Status == "True" {
		return firstLine(c.Message)
	}
	return ""
}

func suspensionText(rs *configsyncv1beta1.RootSync) string {
	switch is := isTrue(rs, configsyncv1beta1.ConditionSuspended); {
	case is && asksForSuspension(rs):
		return fmt.Sprintf("nothing is synced or put back until 'kubectl holdfast sync resume %s'", rs.Name)
	case is:
		return "it is to be resumed, and nobody has done it yet: " + unanswered
	}
	return "it is to be suspended, and nobody has done it yet: " + unanswered
}

func waiting(rs *configsyncv1beta1.RootSync) string {
	c := condition(rs, configsyncv1beta1.ConditionReconciling)
	switch {
	case len(rs.Status.Conditions) == 0:
		return "nobody has looked at it yet: " + unanswered
	case rs.Status.ObservedGeneration != rs.Generation:
		return "its spec has changed, and nobody has looked at it since: " + unanswered
	case c != nil && c.Message != "":
		return firstLine(c.Message)
	}
	return "it is being set up"
}

func leaving(rs *configsyncv1beta1.RootSync, inventory *kptv1alpha1.ResourceGroup) string {
	if rs.Annotations[configsyncv1beta1.AnnotationDeletionPropagation] != configsyncv1beta1.DeletionForeground {
		return "its objects are let go of before it is deleted"
	}
	if inventory == nil {
		return "its objects are deleted before it is"
	}
	return fmt.Sprintf("its objects are deleted before it is: %d are left", len(inventory.Spec.Resources))
}

// firstError is the first of the errors in a line, and how many more there are.
func firstError(rs *configsyncv1beta1.RootSync, i *item) string {
	if len(i.Errors) == 0 {
		return counted(i.ErrorCount, "error") + ", for which the status has no room"
	}
	text := errorLine(i.Errors[0])
	if c := condition(rs, configsyncv1beta1.ConditionNamespacesReady); c != nil && c.Status == "False" && i.Errors[0].Code == string(knv.Applier) {
		text = "KNV" + i.Errors[0].Code + ": " + firstLine(c.Message) // says which, and what to do
	}
	if more := i.ErrorCount - 1; more > 0 {
		text += fmt.Sprintf(" (and %s more: -o yaml)", counted(more, "error"))
	}
	return text
}

// errorLine is an error in a line: its first, and the object if that does not name it.
func errorLine(e configsyncv1beta1.Error) string {
	text := firstLine(e.ErrorMessage)
	if len(e.Resources) == 0 {
		return text
	}
	r := e.Resources[0]
	var about []string
	if id := (object.ID{Group: r.GVK.Group, Kind: r.GVK.Kind, Namespace: r.Namespace, Name: r.Name}); id.Name != "" && !names(text, id) {
		about = append(about, idText(id))
	}
	if r.SourcePath != "" && !strings.Contains(text, r.SourcePath) {
		about = append(about, r.SourcePath)
	}
	if len(about) == 0 {
		return text
	}
	return text + " [" + strings.Join(about, " in ") + "]"
}

// names says whether a text names an object.
func names(text string, id object.ID) bool {
	return strings.Contains(text, id.String()) || strings.Contains(text, fmt.Sprintf("%q", id.Name)) ||
		id.Namespace != "" && strings.Contains(text, id.Namespace+"/"+id.Name)
}

// idText is an object for people: "Role.rbac.authorization.k8s.io shop/view".
func idText(id object.ID) string {
	gk := schema.GroupKind{Group: id.Group, Kind: id.Kind}
	if id.Namespace == "" {
		return gk.String() + " " + ui.Name(id.Name)
	}
	return gk.String() + " " + id.Namespace + "/" + ui.Name(id.Name)
}

// longest is how much of a message is shown: some hold the output of other programs.
const longest = 400

// firstLine is the first line of a message, or all of it as one line if the first ends within a quotation, as of kustomize.
func firstLine(text string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.Count(line, "`")%2 == 1 {
		line = strings.Join(strings.Fields(line+" "+rest), " ")
	}
	if r := []rune(line); len(r) > longest {
		line = string(r[:longest]) + " …"
	}
	return strings.TrimSpace(line)
}
