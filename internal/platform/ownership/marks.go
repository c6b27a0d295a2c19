// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

// Marks of Config Sync. Those of its RootSyncs are the marks of Holdfast's too.
const (
	managedAnnotation    = "configmanagement.gke.io/managed"
	managedEnabled       = "enabled"
	managerAnnotation    = "configsync.gke.io/manager"
	resourceIDAnnotation = "configsync.gke.io/resource-id"
	sourcePathAnnotation = "configmanagement.gke.io/source-path"
	declaredVersionLabel = "configsync.gke.io/declared-version"

	// rootManager begins the names of managers that are RootSyncs, all of them in
	// rootNamespace. The one named defaultRootSync has nothing behind it.
	rootManager     = ":root"
	rootNamespace   = "config-management-system"
	defaultRootSync = "root-sync"
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
	for _, read := range []func(metav1.Object) (Claim, bool){configSyncMark, anchorMark, kustomizationMark, helmReleaseMark, argoMark, helmMark} {
		if c, ok := read(o); ok {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Claim) int { return strings.Compare(a.Claimant, b.Claimant) })
	return out
}

// configSyncMark goes by what Config Sync itself takes for managed: the annotation,
// and an id that is this very object's, since controllers copy annotations. A
// Namespace that came from a file has the path of the file, and one that was made
// along the way has none.
func configSyncMark(o metav1.Object) (Claim, bool) {
	annotations := o.GetAnnotations()
	if annotations[managedAnnotation] != managedEnabled || annotations[resourceIDAnnotation] != "_namespace_"+o.GetName() {
		return Claim{}, false
	}
	manager := annotations[managerAnnotation]
	name, ofRoot := strings.CutPrefix(manager, rootManager+"_")
	if manager == rootManager {
		name, ofRoot = defaultRootSync, true
	}
	if !ofRoot || name == "" {
		return Claim{How: Foreign, Claimant: claimant(configSync, manager)}, true
	}
	how := Implicit
	_, fromFile := annotations[sourcePathAnnotation]
	if _, declared := o.GetLabels()[declaredVersionLabel]; fromFile || declared {
		how = Declared
	}
	return Claim{How: how, Claimant: RootSync(rootNamespace, name)}, true
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

// argoMark goes by the tracking id, APPLICATION:GROUP/KIND:NAMESPACE/NAME, if it is
// of this very object, or else by the label that older versions write.
func argoMark(o metav1.Object) (Claim, bool) {
	if app, object, ok := strings.Cut(o.GetAnnotations()[argoTrackingID], ":"); ok && app != "" {
		if strings.HasPrefix(object, "/Namespace:") && strings.HasSuffix(object, "/"+o.GetName()) {
			return Claim{How: Foreign, Claimant: claimant(argoCD, app)}, true
		}
	}
	app := o.GetLabels()[argoInstance]
	return Claim{How: Foreign, Claimant: claimant(argoCD, app)}, app != ""
}

// helmMark goes by what Helm itself asks for before it takes an object for its own.
func helmMark(o metav1.Object) (Claim, bool) {
	name := o.GetAnnotations()[helmReleaseName]
	return Claim{How: Foreign, Claimant: claimant(helm, o.GetAnnotations()[helmReleaseNamespace], name)},
		name != "" && o.GetLabels()[managedByLabel] == managedByHelm
}
