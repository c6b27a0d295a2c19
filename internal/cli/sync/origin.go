// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// kept is whether, and how, an object is kept as a source says.
type kept string

const (
	// declared: a file of the source declares it.
	declared kept = "Declared"
	// implicit: a namespace that no file declares, made for what is in it.
	implicit kept = "Implicit"
	// byRepoSync: a RepoSync of Config Sync keeps it.
	byRepoSync kept = "RepoSync"
	// inherited: it only has the annotations of what it was made from.
	inherited kept = "Inherited"
	// disabled: its source says that it is not to be kept.
	disabled kept = "Disabled"
	// marked: it has some of the annotations only, and nobody keeps it.
	marked kept = "Incomplete"
	// unmanaged: no RootSync has ever written to it.
	unmanaged kept = "NotManaged"
)

// origin is where an object comes from.
type origin struct {
	metav1.TypeMeta `json:",inline"`
	Object          objectRef `json:"object"`
	Kept            kept      `json:"kept"`
	// RootSync is the one that keeps it, or that its annotations name.
	RootSync string `json:"rootSync,omitempty"`
	// RootSyncExists is not known if nobody may read it.
	RootSyncExists *bool `json:"rootSyncExists,omitempty"`
	// Sync is how that is doing.
	Sync *item `json:"sync,omitempty"`
	// Path is that of its file in the repository.
	Path string `json:"path,omitempty"`
	// Repository, Ref and Commit are those for which it was last written.
	Repository string `json:"repository,omitempty"`
	Ref        string `json:"ref,omitempty"`
	Commit     string `json:"commit,omitempty"`
	// Manager is what its annotations name, if that is no RootSync.
	Manager string `json:"manager,omitempty"`
	// ResourceID names the object from which it has its annotations.
	ResourceID string      `json:"resourceID,omitempty"`
	Owners     []objectRef `json:"owners,omitempty"`
	// Claims say whose its namespace is.
	Claims   *claims   `json:"claims,omitempty"`
	Managers []manager `json:"fieldManagers,omitempty"`
}

type objectRef struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

func (r objectRef) String() string {
	return idText(object.ID{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
}

// claims are whose a namespace is.
type claims struct {
	Namespace string `json:"namespace"`
	Owner     string `json:"owner,omitempty"`
	Why       string `json:"why"`
}

// manager owns fields beside the RootSync.
type manager struct {
	Name        string `json:"name"`
	Operation   string `json:"operation"`
	Subresource string `json:"subresource,omitempty"`
	// Fields are the first few, and Count says how many there are.
	Fields []string `json:"fields,omitempty"`
	Count  int      `json:"count"`
}

// originOf says where an object comes from.
func originOf(f *facts) *origin {
	o := &origin{
		TypeMeta: metav1.TypeMeta{APIVersion: outputVersion, Kind: "Origin"},
		Object:   objectRef{f.id.Group, f.id.Kind, f.id.Namespace, f.id.Name},
		Kept:     keptBy(f),
		Claims:   claimsOn(f.namespace),
		Managers: managersBeside(f.meta.ManagedFields),
	}
	for _, r := range f.meta.OwnerReferences {
		gv, _ := schema.ParseGroupVersion(r.APIVersion) // the API server has looked at it
		o.Owners = append(o.Owners, objectRef{gv.Group, r.Kind, f.id.Namespace, r.Name})
	}
	if name, ok := object.SyncOf(f.annotation(object.AnnotationManager)); ok {
		o.RootSync = string(name)
	} else {
		o.Manager = f.annotation(object.AnnotationManager)
	}
	switch o.Kept {
	case inherited:
		o.ResourceID = f.annotation(object.AnnotationResourceID)
	case declared, implicit, byRepoSync:
		o.Path, o.Commit = f.annotation(object.AnnotationSourcePath), f.annotation(object.AnnotationToken)
		o.Repository, o.Ref = contextOf(f.annotation(object.AnnotationContext))
	}
	if o.RootSync != "" && f.syncErr == nil {
		o.RootSyncExists = new(f.sync != nil)
		if f.sync != nil {
			o.Sync = new(itemOf(f.sync, nil))
		}
	}
	return o
}

// keptBy goes by what Config Sync takes for managed.
func keptBy(f *facts) kept {
	manager := object.Managed(f.meta, f.id)
	_, ofRootSync := object.SyncOf(manager)
	switch {
	case ofRootSync && f.id.IsNamespace() && f.annotation(object.AnnotationSourcePath) == "":
		return implicit
	case ofRootSync:
		return declared
	case object.OfNamespaceReconciler(manager):
		return byRepoSync
	}
	return notKept(f.annotation(object.AnnotationManaged), f.annotation(object.AnnotationManager), f.annotation(object.AnnotationResourceID), f.id)
}

// notKept says what annotations mean that are not those of an object that is kept.
func notKept(managed, manager, resourceID string, id object.ID) kept {
	switch {
	case managed == object.ManagedEnabled && resourceID != "" && resourceID != id.ResourceID():
		return inherited
	case managed == object.ManagedDisabled:
		return disabled
	case managed != "" || manager != "" || resourceID != "":
		return marked
	}
	return unmanaged
}

// contextOf reads what was synced, in the forms for repositories, images and charts.
func contextOf(annotation string) (repository, ref string) {
	var c struct{ Repo, Branch, Rev, Image, Chart, Version string }
	if json.Unmarshal([]byte(annotation), &c) != nil {
		return "", ""
	}
	if c.Chart != "" {
		return withoutPassword(c.Repo) + " " + c.Chart, c.Version
	}
	if c.Rev != "" && c.Rev != "HEAD" {
		c.Branch = c.Rev
	}
	return withoutPassword(cmp.Or(c.Repo, c.Image)), c.Branch
}

// claimsOn says whose a namespace is.
func claimsOn(namespace *metav1.PartialObjectMetadata) *claims {
	if namespace == nil {
		return nil
	}
	verdict, err := ownership.Decide(namespace)
	if err != nil {
		return &claims{Namespace: namespace.Name, Why: err.Error()}
	}
	owner, _ := verdict.Owner()
	return &claims{Namespace: namespace.Name, Owner: owner.Claimant, Why: verdict.Why()}
}

// shownFields is how many fields of a manager are told.
const shownFields = 3

// managersBeside are those that own fields, apart from RootSyncs.
func managersBeside(entries []metav1.ManagedFieldsEntry) []manager {
	var out []manager
	for _, e := range entries {
		if e.Manager == object.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply || e.FieldsV1 == nil {
			continue
		}
		m := manager{Name: e.Manager, Operation: string(e.Operation), Subresource: e.Subresource}
		m.Fields, m.Count = fieldsOf(e.FieldsV1)
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b manager) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Operation, b.Operation))
	})
	return out
}

func fieldsOf(f *metav1.FieldsV1) (first []string, count int) {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(f.GetRawBytes())); err != nil {
		return nil, 0
	}
	set = set.Leaves()
	for p := range set.All() {
		if len(first) < shownFields {
			first = append(first, p.String())
		}
	}
	return first, set.Size()
}

// String is a manager with what it owns.
func (m manager) String() string {
	text := m.Name
	if m.Subresource != "" {
		text += " (" + m.Subresource + ")"
	}
	if len(m.Fields) > 0 {
		text += ": " + strings.Join(m.Fields, ", ")
	}
	if more := m.Count - len(m.Fields); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
