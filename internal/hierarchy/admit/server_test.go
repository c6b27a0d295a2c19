// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/admit"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// server is an API server with the policies and the webhooks, and no manager: who
// answers the webhooks here reads the trees anew for each request.
type server struct {
	*testkit.Env
	clientset kubernetes.Interface
	settings  settings.Settings
	installer *admission.Reconciler
	calls     atomic.Int64 // of the webhooks, about what ann and Holdfast write
	down      atomic.Bool
	looks     looks
}

// looks lets all who ask at the same time have one look at the API server, which
// begins after they ask.
type looks struct {
	mu      sync.Mutex
	next    *look
	looking bool
}

type look struct {
	world rules.World
	err   error
	done  chan struct{}
}

func (l *looks) take(see func() (rules.World, error)) (rules.World, error) {
	l.mu.Lock()
	if l.next == nil {
		l.next = &look{done: make(chan struct{})}
	}
	mine := l.next
	if !l.looking {
		l.looking = true
		go l.run(see)
	}
	l.mu.Unlock()
	<-mine.done
	return mine.world, mine.err
}

func (l *looks) run(see func() (rules.World, error)) {
	for {
		l.mu.Lock()
		now := l.next
		l.next, l.looking = nil, now != nil
		l.mu.Unlock()
		if now == nil {
			return
		}
		now.world, now.err = see()
		close(now.done)
	}
}

// copiedHere are the kinds that are copied, beside those that always are.
var copiedHere = []schema.GroupResource{
	{Resource: "secrets"}, {Resource: "pods"}, {Group: "apps", Resource: "deployments"},
	{Group: "example.com", Resource: "widgets"}, {Group: "example.com", Resource: "gadgets"},
}

const extraCRDs = `
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true, subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {replicas: {type: integer}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {replicas: {type: integer}}}}}}}]}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gadgets.example.com}, spec: {group: example.com, scope: Namespaced, names: {plural: gadgets, kind: Gadget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: hierarchicalresourcequotas.hnc.x-k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}, spec: {group: hnc.x-k8s.io, scope: Namespaced, names: {plural: hierarchicalresourcequotas, kind: HierarchicalResourceQuota}, versions: [{name: v1alpha2, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}
`

// oldQuota is from before Holdfast came.
const oldQuota = "{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchicalResourceQuota, metadata: {name: old, namespace: default, finalizers: [example.com/hold]}, spec: {hard: {pods: 1}}}"

// patience is that of the API server: a look at it takes long on a busy machine.
const patience = 30 * time.Second

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{Env: testkit.New(t, testkit.Options{NoManager: true}), settings: load(t, "mode: Enforce, excludedNamespaces: [kube-system, kube-public, excluded, different-excluded, different-excluded-too], managedLabels: [team]")}
	var err error
	if s.clientset, err = kubernetes.NewForConfig(s.Config); err != nil {
		t.Fatal(err)
	}
	if out := s.Kubectl(t, "apply", "-f", "../../../config/crd/hnc"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	s.Apply(t, "", extraCRDs)
	if out := s.Kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=180s"); out.Code != 0 {
		t.Fatal(out.Stderr)
	}
	s.Apply(t, "", oldQuota)
	s.install(t)
	return s
}

// install writes the policies and webhooks, and waits until the API server acts on
// them.
func (s *server) install(t *testing.T) {
	t.Helper()
	mux := http.NewServeMux()
	listener := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.down.Load() {
			panic(http.ErrAbortHandler)
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		// Kubernetes' controllers go on with what earlier tests have left.
		if bytes.Contains(body, []byte(`"username":"ann"`)) || bytes.Contains(body, []byte(`"username":"`+holdfast+`"`)) {
			s.calls.Add(1)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		mux.ServeHTTP(w, req)
	}))
	t.Cleanup(listener.Close)
	objects, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	webhooks := admit.NewHandlers(admit.Options{
		World: func() (rules.World, error) {
			return s.looks.take(func() (rules.World, error) { return s.world(t.Context()) })
		},
		Settings: func() settings.Settings { return s.settings },
		Users:    []string{holdfast}, Kinds: served, Client: s.clientset, Patience: patience - 2*time.Second,
		Sources: world.New(world.Options{Dynamic: objects, Pauses: timing.Production()}).Read,
	}).Webhooks(admit.WebhookOptions{Settings: s.settings, Resources: copiedHere, Users: []string{holdfast}, External: true})
	for i, w := range webhooks {
		mux.Handle(w.Path, w.Handler)
		webhooks[i].Spec.TimeoutSeconds = new(int32(patience.Seconds()))
	}
	policies := admit.Policies(admit.PolicyOptions{Settings: s.settings, Resources: copiedHere, Users: []string{holdfast}})
	self := admission.Self{Mode: configv1alpha1.ModeEnforce, Namespace: "holdfast-system", Users: []string{holdfast}}
	r := admission.NewReconciler(s.as(t, "holdfast"), admission.Options{
		Endpoint: admission.Endpoint{URL: listener.URL},
		Wanted: func() (admission.Wanted, error) {
			return admission.Wanted{
				Declaration: admission.Declaration{Policies: append(policies, self.Policies()...), Webhooks: webhooks},
				CABundle:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: listener.Certificate().Raw}),
			}, nil
		},
		Changed: func() {}, Repaired: func(string) {}, Clock: clock.RealClock{},
	})
	s.installer = r
	s.reconcile(t)
	s.waitInstalled(t)
}

func (s *server) reconcile(t *testing.T) {
	t.Helper()
	if _, err := s.installer.Reconcile(t.Context(), reconcile.Request{}); err != nil {
		t.Fatalf("install: %v", err)
	}
}

// waitInstalled probes each policy and webhook; not all are taken up at once.
func (s *server) waitInstalled(t *testing.T) {
	t.Helper()
	probes := []string{
		"{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchicalResourceQuota, metadata: {name: probe, namespace: default}}",
		"{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HierarchyConfiguration, metadata: {name: hierarchy, namespace: excluded}, spec: {}}",
		"{apiVersion: hnc.x-k8s.io/v1alpha2, kind: SubnamespaceAnchor, metadata: {name: kube-system, namespace: default}}",
		"{apiVersion: hnc.x-k8s.io/v1alpha2, kind: HNCConfiguration, metadata: {name: config}, spec: {resources: [{resource: roads}]}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: probe, namespace: default, annotations: {propagate.hnc.x-k8s.io/none: perhaps}}}",
	}
	const trusted = "labels: {hnc.x-k8s.io/inherited-from: a, a.tree.hnc.x-k8s.io/depth: '1'}"
	restored := []string{
		"{apiVersion: v1, kind: Secret, metadata: {name: probe, namespace: default, " + trusted + "}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: probe, " + trusted + "}}",
	}
	changed := []string{
		"{apiVersion: v1, kind: Secret, metadata: {name: installed, namespace: default, " + trusted + "}}",
		"{apiVersion: v1, kind: Namespace, metadata: {name: excluded, " + trusted + "}}",
	}
	s.Apply(t, "", "{apiVersion: v1, kind: Namespace, metadata: {name: excluded}}")
	s.Apply(t, "", "{apiVersion: v1, kind: Secret, metadata: {name: installed, namespace: default}}")
	gomega.NewWithT(t).Eventually(func() error {
		for _, p := range probes {
			err := s.Client.Create(t.Context(), parse(t, p), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), "denied") {
				return fmt.Errorf("%s: %w", p, errors.Join(err, errors.New("it is not refused")))
			}
		}
		for _, p := range changed {
			o := parse(t, p)
			if err := s.Client.Update(t.Context(), o, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "denied") {
				return fmt.Errorf("an update to %s: %w", p, errors.Join(err, errors.New("it is not refused")))
			}
		}
		for _, p := range restored {
			o := parse(t, p)
			if err := s.Client.Create(t.Context(), o, client.DryRunAll); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			if len(o.GetLabels()) == 2 {
				return fmt.Errorf("%s: it keeps its labels", p)
			}
		}
		return nil
	}, "180s", "100ms").Should(gomega.Succeed())
}

// parse makes an object from YAML.
func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), u); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return u
}

// as is a client of somebody who may do anything by RBAC. Names in short: holdfast,
// ann, and accounts in kube-system by theirs.
func (s *server) as(t testing.TB, user string) client.Client {
	t.Helper()
	switch {
	case user == "holdfast":
		user = holdfast
	case strings.HasSuffix(user, "-controller"), strings.HasSuffix(user, "-collector"):
		user = "system:serviceaccount:kube-system:" + user
	}
	return s.As(t, user, "system:masters")
}

// metadata is that of all objects of a kind.
func (s *server) metadata(ctx context.Context, kind string) ([]metav1.PartialObjectMetadata, error) {
	var all metav1.PartialObjectMetadataList
	all.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	err := s.Client.List(ctx, &all)
	return all.Items, err
}

// world is what the API server has now.
func (s *server) world(ctx context.Context) (rules.World, error) {
	namespaces, err := s.metadata(ctx, "Namespace")
	if err != nil {
		return rules.World{}, err
	}
	var configs hncv1alpha2.HierarchyConfigurationList
	var anchors hncv1alpha2.SubnamespaceAnchorList
	if err := errors.Join(s.Client.List(ctx, &configs), s.Client.List(ctx, &anchors)); err != nil {
		return rules.World{}, err
	}
	var edits []tree.Edit
	for i := range namespaces {
		n := &namespaces[i]
		edits = append(edits, tree.SetNamespace(n.Name, &tree.Object{Labels: n.Labels, Annotations: n.Annotations, Terminating: n.DeletionTimestamp != nil}))
	}
	for i := range configs.Items {
		edits = append(edits, tree.SetConfig(configs.Items[i].Namespace, &configs.Items[i].Spec))
	}
	for i := range anchors.Items {
		edits = append(edits, tree.SetAnchor(anchors.Items[i].Namespace, anchors.Items[i].Name, &anchors.Items[i].Spec))
	}
	made, _ := tree.New(s.settings.Tree(false)).Apply(edits...)
	modes := map[schema.GroupKind]hncv1alpha2.SynchronizationMode{
		secret: hncv1alpha2.ModePropagate, {Group: "apps", Kind: "Deployment"}: hncv1alpha2.ModePropagate,
	}
	sources, err := s.sources(ctx, s.settings.Rules(modes))
	return rules.World{Tree: made, Sources: sources, Excluded: s.settings.Excluded}, err
}

// sources are the Secrets.
func (s *server) sources(ctx context.Context, r propagate.Rules) (*propagate.Sources, error) {
	out := propagate.NewSources(r)
	secrets, err := s.metadata(ctx, "Secret")
	for i := range secrets {
		o := propagate.Object{Kind: secret, Namespace: secrets[i].Namespace, Name: secrets[i].Name, Labels: secrets[i].Labels, Annotations: secrets[i].Annotations}
		if !o.IsCopy() {
			out = out.With(r.NewSource(o))
		}
	}
	return out, err
}

var prefixes = regexp.MustCompile(`^.*(denied the request: |denied request: )`)

// verdict is what the API server says to a request: ok, or the code and the text of
// the refusal.
func verdict(err error) string {
	if err == nil {
		return "ok"
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", status.Status().Code, prefixes.ReplaceAllString(status.Status().Message, ""))
}

// said checks a verdict: "ok", or the code and then words of the text.
func said(t testing.TB, what string, err error, want string) {
	t.Helper()
	code, words, _ := strings.Cut(want, " ")
	if got := verdict(err); !strings.HasPrefix(got, code) || !strings.Contains(got, words) {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}
