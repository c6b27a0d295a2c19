// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/config/crd"
	"github.com/holdfast-dev/holdfast/internal/cli/connect"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rivals"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/rootsync/namespaces"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// facts are what was read of a cluster. What could not be read is as if it were not there,
// and in gaps.
type facts struct {
	version string
	// policies says that the API server has ValidatingAdmissionPolicies.
	policies bool
	// holdfast is its object; nil where it does not run.
	holdfast *v1alpha1.Holdfast
	// silent says that no replica of the guard leads; empty while one does.
	silent string
	anchor bool
	// stops reports whether the anchor has the annotation that allows its deletion.
	stops bool
	// namespace is the one Holdfast is installed in, and there says that it exists.
	namespace string
	there     bool
	// needed are the CustomResourceDefinitions without which Holdfast does not start, by
	// name, and established those that the API server serves.
	needed      []string
	established map[string]bool
	deployments []appsv1.Deployment
	validating  []admissionregistrationv1.ValidatingWebhookConfiguration
	mutating    []admissionregistrationv1.MutatingWebhookConfiguration
	hnc         rivals.Facts
	// leaf is the serving certificate; nil where it is not there or may not be read.
	leaf       *x509.Certificate
	namespaces map[string]map[string]string
	// home is what is wrong with the namespace of RootSyncs; nil if nothing is, or it does not exist.
	home error
	// unfollowing are the subnamespaces that do not follow the PodSecurity labels of their parent, and their parents.
	unfollowing map[string]string
	// plurals are the resources of custom kinds.
	plurals map[schema.GroupKind]string
	// operated counts the protected pods that custom resources control.
	operated map[operated]int
	// grants are the rights of service accounts, by user name.
	grants map[string][]grant
	// mayInstall says that the user may do what an installation needs.
	mayInstall bool
}

// reader reads facts.
type reader struct {
	kube    kubernetes.Interface
	dynamic dynamic.Interface

	mu   sync.Mutex
	gaps []Gap
}

func newReader(config *rest.Config) (*reader, error) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(config)
	return &reader{kube: kube, dynamic: dyn}, err
}

// gap takes in that a part could not be read. That there is no such object, or no such
// kind, is an answer.
func (r *reader) gap(part string, err error) {
	if err == nil || apierrors.IsNotFound(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, Gap{part, err.Error()})
}

// facts reads a cluster. An error is of an API server that does not answer.
func (r *reader) facts(ctx context.Context, namespace string) (*facts, error) {
	v, err := r.kube.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its version: %w", err)
	}
	f := &facts{version: v.GitVersion, namespace: namespace}
	var all sync.WaitGroup
	for _, read := range []func(context.Context, *facts){
		r.served, r.holdfast, r.own, r.definitions, r.workloads, r.webhooks, r.rivals, r.spaces, r.rights, r.pods,
	} {
		all.Go(func() { read(ctx, f) })
	}
	all.Wait()
	if len(f.operated) > 0 {
		r.access(ctx, f)
	}
	return f, nil
}

func (r *reader) served(_ context.Context, f *facts) {
	list, err := r.kube.Discovery().ServerResourcesForGroupVersion(admissionregistrationv1.SchemeGroupVersion.String())
	r.gap("what the API server serves", err)
	if err != nil {
		return
	}
	for i := range list.APIResources {
		f.policies = f.policies || list.APIResources[i].Name == "validatingadmissionpolicies"
	}
}

func (r *reader) holdfast(ctx context.Context, f *facts) {
	var err error
	f.holdfast, err = connect.Holdfast(ctx, r.dynamic)
	r.gap("what Holdfast says of itself", err)
	if f.holdfast != nil {
		f.silent, err = connect.Silent(ctx, r.dynamic, connect.Guard, f.namespace, time.Now())
		r.gap("whether a replica of the guard leads", err)
	}
}

func (r *reader) own(ctx context.Context, f *facts) {
	anchor, err := r.kube.RbacV1().ClusterRoles().Get(ctx, admission.AnchorName, metav1.GetOptions{})
	f.anchor = err == nil
	f.stops = f.anchor && anchor.Annotations[v1alpha1.StopAnnotation] == admission.AnchorName
	r.gap("whether the ClusterRole "+admission.AnchorName+" is there", err)
	_, err = r.kube.CoreV1().Namespaces().Get(ctx, f.namespace, metav1.GetOptions{})
	f.there = err == nil
	r.gap("whether the namespace "+f.namespace+" is there", err)
}

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func (r *reader) definitions(ctx context.Context, f *facts) {
	own, err := crd.Of(v1alpha1.GroupName)
	r.gap("which CustomResourceDefinitions Holdfast needs", err)
	for _, o := range own {
		f.needed = append(f.needed, o.GetName())
	}
	list, err := connect.List[apiextensionsv1.CustomResourceDefinition](ctx, r.dynamic, crds)
	r.gap("which CustomResourceDefinitions there are", err)
	f.established, f.plurals = map[string]bool{}, map[schema.GroupKind]string{}
	for i := range list {
		f.plurals[schema.GroupKind{Group: list[i].Spec.Group, Kind: list[i].Spec.Names.Kind}] = list[i].Spec.Names.Plural
		for _, c := range list[i].Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				f.established[list[i].Name] = true
			}
		}
	}
}

func (r *reader) workloads(ctx context.Context, f *facts) {
	list, err := connect.List[appsv1.Deployment](ctx, r.dynamic, appsv1.SchemeGroupVersion.WithResource("deployments"))
	r.gap("which Deployments there are, and so who else runs here", err)
	f.deployments = list
}

func (r *reader) webhooks(ctx context.Context, f *facts) {
	validating, err := r.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	r.gap("the ValidatingWebhookConfigurations", err)
	if err == nil {
		f.validating = validating.Items
	}
	mutating, err := r.kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	r.gap("the MutatingWebhookConfigurations", err)
	if err == nil {
		f.mutating = mutating.Items
	}
}

func (r *reader) rivals(ctx context.Context, f *facts) {
	found, err := rivals.Look(ctx, r.kube)
	f.hnc = found.HNC()
	r.gap("whether HNC runs", err)
}

// certificate reads the Secret that the configuration names.
func (r *reader) certificate(ctx context.Context, f *facts, secret string) {
	s, err := r.kube.CoreV1().Secrets(f.namespace).Get(ctx, secret, metav1.GetOptions{})
	if err == nil {
		var chain []*x509.Certificate
		if chain, err = cert.ParseCertsPEM(s.Data[corev1.TLSCertKey]); err == nil {
			f.leaf = chain[0]
		}
	}
	if apierrors.IsForbidden(err) {
		return // few may read Secrets, and the status says whether it is valid
	}
	r.gap("how long the serving certificate lasts", err)
}

func (r *reader) spaces(ctx context.Context, f *facts) {
	list, err := r.kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	r.gap("the namespaces", err)
	if err != nil {
		return
	}
	f.namespaces = make(map[string]map[string]string, len(list.Items))
	for i := range list.Items {
		f.namespaces[list.Items[i].Name] = list.Items[i].Labels
		if list.Items[i].Name == object.SyncNamespace {
			f.home = namespaces.Home(&list.Items[i])
		}
	}
	f.unfollowing = subnamespaces(list.Items)
}

// rights asks for what only an administrator of the cluster has: Holdfast gives itself no
// right that whoever installs it does not have.
func (r *reader) rights(ctx context.Context, f *facts) {
	review, err := r.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}},
	}, metav1.CreateOptions{})
	r.gap("what you may do", err)
	f.mayInstall = err == nil && review.Status.Allowed
}
