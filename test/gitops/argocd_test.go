// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"slices"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/engine"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	argoUser = "system:serviceaccount:argocd:argocd-application-controller"
	// argoManager is the field manager of Argo CD's server-side applies.
	argoManager = "argocd-controller"
	// trackingAnnotation is how Argo CD finds the objects of an application.
	trackingAnnotation = "argocd.argoproj.io/tracking-id"
	// failed begins what Argo CD reports of an object with an error.
	failed = string(common.ResultCodeSyncFailed)
)

// argoCD is the engine of Argo CD's application controller, with the sync options of an application whose name is the
// namespace of the test.
type argoCD struct {
	serverSide, replace, pruneLast bool

	namespace string
	config    *rest.Config
	client    client.Client
	kubectl   *kube.KubectlCmd
	parser    *managedfields.GvkParser
	dryRunner diff.ServerSideDryRunner
}

func (a argoCD) begin(t testing.TB, e *testkit.Env, ns string) tool {
	t.Helper()
	a.namespace, a.config, a.client = ns, administrator(t, e, argoUser), e.Client
	a.kubectl = &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	var err error
	if _, a.parser, err = a.kubectl.LoadOpenAPISchema(a.config); err != nil {
		t.Fatal(err)
	}
	applier, cleanup, err := a.kubectl.ManageServerSideDiffDryRuns(a.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cleanup)
	a.dryRunner = diff.NewK8sServerSideDryRunner(applier)
	return &a
}

// tracked is what the cache knows of an object of the application.
type tracked struct{}

// trackingID returns the value of trackingAnnotation for an object of the application.
func (a *argoCD) trackingID(o *unstructured.Unstructured) string {
	return fmt.Sprintf("%s:/%s:%s/%s", a.namespace, o.GetKind(), o.GetNamespace(), o.GetName())
}

// declared returns the objects of manifests as the controller hands them to the engine.
func (a *argoCD) declared(t testing.TB, manifests ...string) []*unstructured.Unstructured {
	t.Helper()
	objects := decode(t, manifests...)
	for _, o := range objects {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[trackingAnnotation] = a.trackingID(o)
		o.SetAnnotations(annotations)
	}
	return objects
}

// sync has a cache of its own, so that it does not depend on how far the watches of an older one are.
func (a *argoCD) sync(t testing.TB, manifests ...string) report {
	t.Helper()
	inventory := cache.NewClusterCache(a.config, cache.SetNamespaces([]string{a.namespace}), cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(o *unstructured.Unstructured, _ bool) (info any, keep bool) {
			if o.GetAnnotations()[trackingAnnotation] != a.trackingID(o) {
				return nil, false
			}
			return tracked{}, true
		}))
	e := engine.NewEngine(a.config, inventory, engine.WithLogr(logr.Discard()))
	stop, err := e.Run()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	results, err := e.Sync(t.Context(), a.declared(t, manifests...), func(r *cache.Resource) bool { return r.Info == tracked{} }, "revision", a.namespace,
		sync.WithLogr(logr.Discard()), sync.WithPrune(true), sync.WithPruneLast(a.pruneLast), sync.WithReplace(a.replace),
		sync.WithServerSideApply(a.serverSide), sync.WithServerSideApplyManager(argoManager))
	out := report{Objects: map[string]string{}}
	if err != nil {
		out.Error = err.Error()
	}
	for _, r := range results {
		out.Objects[r.ResourceKey.Name] = fmt.Sprintf("%s: %s", r.Status, r.Message)
	}
	return out
}

func (a *argoCD) drift(t testing.TB, manifest string) (diffs []string) {
	t.Helper()
	local := []diff.Option{diff.WithStructuredMergeDiff(a.serverSide)}
	dryRun := []diff.Option{diff.WithServerSideDiff(true), diff.WithServerSideDryRunner(a.dryRunner)}
	for _, tt := range []struct {
		name    string
		options []diff.Option
	}{
		{name: "local diff", options: local},
		{name: "server-side diff", options: dryRun},
		{name: "server-side diff with mutation webhooks", options: slices.Concat(dryRun, []diff.Option{diff.WithIgnoreMutationWebhook(false)})},
	} {
		for _, o := range a.declared(t, manifest) {
			live := o.DeepCopy()
			if err := a.client.Get(t.Context(), client.ObjectKeyFromObject(o), live); err != nil {
				t.Fatal(err)
			}
			options := slices.Concat(tt.options, []diff.Option{diff.WithLogr(logr.Discard()), diff.WithGVKParser(a.parser), diff.WithManager(argoManager)})
			result, err := diff.Diff(o, live, options...)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if result.Modified {
				diffs = append(diffs, tt.name)
			}
		}
	}
	return diffs
}
