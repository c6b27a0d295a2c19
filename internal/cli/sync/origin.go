// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"cmp"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/cli/fields"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// Kept is whether, and how, an object is kept as a source says.
type Kept string

const (
	// Declared says that a file of the source declares it.
	Declared Kept = "Declared"
	// Implicit is a namespace that no file declares, made for what is in it.
	Implicit Kept = "Implicit"
	// ByRepoSync is kept by a RepoSync of Config Sync.
	ByRepoSync Kept = "RepoSync"
	// Inherited has only the annotations of what it was made from.
	Inherited Kept = "Inherited"
	// Disabled is what its source says is not to be kept.
	Disabled Kept = "Disabled"
	// Marked has some of the annotations only, and nobody keeps it.
	Marked Kept = "Incomplete"
	// Unmanaged is what no RootSync has ever written to.
	Unmanaged Kept = "NotManaged"
)

// origin is where an object comes from.
type origin struct {
	metav1.TypeMeta `json:",inline"`
	Object          ObjectRef `json:"object"`
	Provenance      `json:",inline"`
	Owners          []ObjectRef `json:"owners,omitempty"`
	// Claims say whose its namespace is.
	Claims   *claims          `json:"claims,omitempty"`
	Managers []fields.Manager `json:"fieldManagers,omitempty"`
}

// Provenance is what annotations say of how an object came into the cluster.
type Provenance struct {
	Kept Kept `json:"kept"`
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
	ResourceID string `json:"resourceID,omitempty"`
}

// ObjectRef names an object.
type ObjectRef struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is an object for people: "Role.rbac.authorization.k8s.io shop/view".
func (r ObjectRef) String() string { return idText(object.ID(r)) }

// claims are whose a namespace is.
type claims struct {
	Namespace string `json:"namespace"`
	Owner     string `json:"owner,omitempty"`
	Why       string `json:"why"`
}

// originOf says where an object comes from.
func originOf(f *facts) *origin {
	o := &origin{
		TypeMeta:   metav1.TypeMeta{APIVersion: outputVersion, Kind: "Origin"},
		Object:     ObjectRef(f.id),
		Provenance: ProvenanceOf(f.id, f.meta, f.sync, f.syncErr == nil),
		Claims:     claimsOn(f.namespace),
		Managers:   managersBeside(f.meta.ManagedFields),
	}
	for _, r := range f.meta.OwnerReferences {
		gv, _ := schema.ParseGroupVersion(r.APIVersion) // the API server has looked at it
		o.Owners = append(o.Owners, ObjectRef{gv.Group, r.Kind, f.id.Namespace, r.Name})
	}
	return o
}

// ProvenanceOf says how an object came into the cluster. The RootSync is the one that its
// annotations name, nil if there is none; known is false if nobody could look.
func ProvenanceOf(id object.ID, o metav1.Object, sync *configsyncv1beta1.RootSync, known bool) Provenance {
	annotations := o.GetAnnotations()
	p := Provenance{Kept: keptBy(id, o)}
	if name, ok := object.SyncOf(annotations[object.AnnotationManager]); ok {
		p.RootSync = string(name)
	} else {
		p.Manager = annotations[object.AnnotationManager]
	}
	switch p.Kept {
	case Inherited:
		p.ResourceID = annotations[object.AnnotationResourceID]
	case Declared, Implicit, ByRepoSync:
		p.Path, p.Commit = annotations[object.AnnotationSourcePath], annotations[object.AnnotationToken]
		p.Repository, p.Ref = contextOf(annotations[object.AnnotationContext])
	}
	if p.RootSync != "" && known {
		p.RootSyncExists = new(sync != nil)
		if sync != nil {
			p.Sync = new(itemOf(sync, nil))
		}
	}
	return p
}

// keptBy goes by what Config Sync takes for managed.
func keptBy(id object.ID, o metav1.Object) Kept {
	annotations, manager := o.GetAnnotations(), object.Managed(o, id)
	_, ofRootSync := object.SyncOf(manager)
	switch {
	case ofRootSync && id.IsNamespace() && annotations[object.AnnotationSourcePath] == "":
		return Implicit
	case ofRootSync:
		return Declared
	case object.OfNamespaceReconciler(manager):
		return ByRepoSync
	}
	return notKept(annotations[object.AnnotationManaged], annotations[object.AnnotationManager], annotations[object.AnnotationResourceID], id)
}

// notKept says what annotations mean that are not those of an object that is kept.
func notKept(managed, manager, resourceID string, id object.ID) Kept {
	switch {
	case managed == object.ManagedEnabled && resourceID != "" && resourceID != id.ResourceID():
		return Inherited
	case managed == object.ManagedDisabled:
		return Disabled
	case managed != "" || manager != "" || resourceID != "":
		return Marked
	}
	return Unmanaged
}

// contextOf reads what was synced, in the forms for repositories, images and charts.
func contextOf(annotation string) (repository, ref string) {
	var c struct{ Repo, Branch, Rev, Image, Chart, Version string }
	if json.Unmarshal([]byte(annotation), &c) != nil {
		return "", ""
	}
	if c.Chart != "" {
		return spec.WithoutPassword(c.Repo) + " " + c.Chart, c.Version
	}
	if c.Rev != "" && c.Rev != "HEAD" {
		c.Branch = c.Rev
	}
	return spec.WithoutPassword(cmp.Or(c.Repo, c.Image)), c.Branch
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

// managersBeside are those that own fields, apart from RootSyncs.
func managersBeside(entries []metav1.ManagedFieldsEntry) []fields.Manager {
	return slices.DeleteFunc(fields.Managers(entries), func(m fields.Manager) bool {
		return m.Name == object.FieldManager && m.Operation == string(metav1.ManagedFieldsOperationApply)
	})
}
