// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// Marks of other tools.
const (
	fluxKustomizationName      = "kustomize.toolkit.fluxcd.io/name"
	fluxKustomizationNamespace = "kustomize.toolkit.fluxcd.io/namespace"
	fluxHelmReleaseName        = "helm.toolkit.fluxcd.io/name"
	fluxHelmReleaseNamespace   = "helm.toolkit.fluxcd.io/namespace"

	argoTrackingID = "argocd.argoproj.io/tracking-id"
	argoInstance   = "argocd.argoproj.io/instance"

	managedByLabel       = "app.kubernetes.io/managed-by"
	managedByHelm        = "Helm"
	helmReleaseName      = "meta.helm.sh/release-name"
	helmReleaseNamespace = "meta.helm.sh/release-namespace"
)

// Marks are the claims that the labels and annotations of a Namespace make by
// themselves, the annotation of this package left aside. Nothing says since when.
func Marks(o metav1.Object) []Claim {
	var out []Claim
	for _, read := range []func(metav1.Object) (Claim, bool){configSyncMark, anchorMark} {
		if c, ok := read(o); ok {
			out = append(out, c)
		}
	}
	out = append(out, Tools(schema.GroupKind{Kind: "Namespace"}, o)...)
	slices.SortFunc(out, func(a, b Claim) int { return strings.Compare(a.Claimant, b.Claimant) })
	return out
}

// Tools are the marks that tools put on an object of any kind, as claims: Flux, Argo CD
// and Helm. What a controller makes may have inherited the labels among them.
func Tools(kind schema.GroupKind, o metav1.Object) []Claim {
	var out []Claim
	for _, read := range []func(metav1.Object) (Claim, bool){kustomizationMark, helmReleaseMark, helmMark} {
		if c, ok := read(o); ok {
			out = append(out, c)
		}
	}
	if c, ok := argoMark(kind, o); ok {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Claim) int { return strings.Compare(a.Claimant, b.Claimant) })
	return out
}

// configSyncMark goes by what Config Sync itself takes for managed, and Holdfast too: the annotation,
// and an id that is this very object's, since controllers copy annotations. A
// Namespace that came from a file has the path of the file, and one that was made
// along the way has none.
func configSyncMark(o metav1.Object) (Claim, bool) {
	annotations := o.GetAnnotations()
	if annotations[configsyncv1beta1.AnnotationManaged] != configsyncv1beta1.ManagedEnabled || annotations[configsyncv1beta1.AnnotationResourceID] != "_namespace_"+o.GetName() {
		return Claim{}, false
	}
	manager := annotations[configsyncv1beta1.AnnotationManager]
	name, ofRoot := strings.CutPrefix(manager, configsyncv1beta1.ManagerRoot+"_")
	if manager == configsyncv1beta1.ManagerRoot {
		name, ofRoot = configsyncv1beta1.DefaultRootSync, true
	}
	if !ofRoot || name == "" {
		return Claim{How: Foreign, Claimant: claimant(configSync, manager)}, true
	}
	how := Implicit
	_, fromFile := annotations[configsyncv1beta1.AnnotationSourcePath]
	if _, declared := o.GetLabels()[configsyncv1beta1.LabelDeclaredVersion]; fromFile || declared {
		how = Declared
	}
	return Claim{How: how, Claimant: RootSync(configsyncv1beta1.Namespace, name)}, true
}

func anchorMark(o metav1.Object) (Claim, bool) {
	parent := o.GetAnnotations()[hncv1alpha2.AnnotationSubnamespaceOf]
	return Claim{How: Subnamespace, Claimant: Anchor(parent)}, parent != ""
}

func kustomizationMark(o metav1.Object) (Claim, bool) {
	name := o.GetLabels()[fluxKustomizationName]
	return Claim{How: Foreign, Claimant: claimant(flux, "kustomization", o.GetLabels()[fluxKustomizationNamespace], name)}, name != ""
}

func helmReleaseMark(o metav1.Object) (Claim, bool) {
	name := o.GetLabels()[fluxHelmReleaseName]
	return Claim{How: Foreign, Claimant: claimant(flux, "helmrelease", o.GetLabels()[fluxHelmReleaseNamespace], name)}, name != ""
}

// argoMark goes by the tracking id if it is of this very object, or else by the label
// that older versions write.
func argoMark(kind schema.GroupKind, o metav1.Object) (Claim, bool) {
	app, object, _ := strings.Cut(o.GetAnnotations()[argoTrackingID], ":")
	if app == "" || !tracks(object, kind, o) {
		app = o.GetLabels()[argoInstance]
	}
	return Claim{How: Foreign, Claimant: claimant(argoCD, app)}, app != ""
}

// tracks says whether GROUP/KIND:NAMESPACE/NAME is an object. What is in no namespace is
// given that of the application.
func tracks(text string, kind schema.GroupKind, o metav1.Object) bool {
	object, ofKind := strings.CutPrefix(text, kind.Group+"/"+kind.Kind+":")
	namespace, name, _ := strings.Cut(object, "/")
	return ofKind && name == o.GetName() && (o.GetNamespace() == "" || namespace == o.GetNamespace())
}

// helmMark goes by what Helm itself asks for before it takes an object for its own.
func helmMark(o metav1.Object) (Claim, bool) {
	name := o.GetAnnotations()[helmReleaseName]
	return Claim{How: Foreign, Claimant: claimant(helm, o.GetAnnotations()[helmReleaseNamespace], name)},
		name != "" && o.GetLabels()[managedByLabel] == managedByHelm
}
