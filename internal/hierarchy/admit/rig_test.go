// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package admit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/admit"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/propagate"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree/treetest"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

const holdfast = "system:serviceaccount:holdfast-system:holdfast-guard"

var secret = schema.GroupKind{Kind: "Secret"}

func load(t testing.TB, hierarchy string) settings.Settings {
	t.Helper()
	c, err := config.Load([]byte(config.Empty + "hierarchy: {" + hierarchy + "}"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.New(c, "holdfast-system", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sources are Secrets x, each as "namespace" or "namespace:treeSelect".
func sources(mode hncv1alpha2.SynchronizationMode, secrets ...string) *propagate.Sources {
	r := propagate.Rules{Modes: map[schema.GroupKind]hncv1alpha2.SynchronizationMode{secret: mode}}
	out := propagate.NewSources(r)
	for _, at := range secrets {
		namespace, says, _ := strings.Cut(at, ":")
		out = out.With(r.NewSource(propagate.Object{
			Kind: secret, Namespace: namespace, Name: "x", Annotations: map[string]string{hncv1alpha2.AnnotationTreeSelect: says},
		}))
	}
	return out
}

func kind(group, resource, name string) inventory.Kind {
	return inventory.Kind{Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Kind: name, Namespaced: true}
}

func served() *inventory.Snapshot {
	nodes := kind("", "nodes", "Node")
	nodes.Namespaced = false
	return inventory.NewSnapshot([]inventory.Kind{
		nodes, kind("", "secrets", "Secret"), kind("", "configmaps", "ConfigMap"),
		kind("rbac.authorization.k8s.io", "roles", "Role"), kind("rbac.authorization.k8s.io", "rolebindings", "RoleBinding"),
	})
}

// rig has the handlers, and an API server that answers what they ask.
type rig struct {
	world    rules.World
	unknown  error
	later    *rules.World // what is known after some looks
	looks    atomic.Int64
	settings settings.Settings
	kinds    *inventory.Snapshot
	others   *propagate.Sources // of kinds that are not copied yet
	failing  error              // to read those

	exists []string // namespaces that the tree does not know
	may    []string // where users may change the tree
	stay   []string // namespaces that may not be deleted
	// cascades are the namespaces whose HierarchyConfiguration allows cascading deletion.
	cascades []string
	broken   bool // the API server
	// lacks are verbs that Holdfast itself does not have.
	lacks []string

	mu    sync.Mutex
	asked []authorizationv1.SubjectAccessReviewSpec
	read  [][]inventory.Kind
}

// newRig has a tree, and Secrets x in namespaces. The key team can be managed, and the
// name x is in the list of those that are excluded.
func newRig(t testing.TB, text string, secrets ...string) *rig {
	t.Helper()
	made := treetest.Make(t, text)
	keys, err := tree.CompileKeys([]string{"team"})
	if err != nil {
		t.Fatal(err)
	}
	s := made.Settings()
	s.ManagedLabel, s.ManagedAnnotation = keys, keys
	made, _ = made.Apply(tree.SetSettings(s))
	return &rig{
		world: rules.World{
			Tree: made, Sources: sources("Propagate", secrets...),
			Excluded: func(name string) bool { return name == "x" },
		},
		settings: load(t, "mode: Enforce, excludedNamespaces: [x]"),
		kinds:    served(), others: propagate.NewSources(propagate.Rules{}),
	}
}

// ServeHTTP is the API server.
func (r *rig) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r.broken {
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if name, ok := strings.CutPrefix(req.URL.Path, "/api/v1/namespaces/"); ok {
		if req.Method == http.MethodDelete {
			r.remove(w, req, name)
			return
		}
		if !slices.Contains(r.exists, name) && r.world.Tree.Get(name) == nil {
			notFound(w)
			return
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
		return
	}
	if path, ok := strings.CutPrefix(req.URL.Path, "/apis/hnc.x-k8s.io/v1alpha2/namespaces/"); ok {
		if _, anchor, ok := strings.Cut(path, "/subnamespaceanchors/"); ok {
			_, _ = fmt.Fprintf(w, `{"apiVersion":"hnc.x-k8s.io/v1alpha2","kind":"SubnamespaceAnchor","metadata":{"name":%q}}`, anchor)
			return
		}
		if name, _, _ := strings.Cut(path, "/"); slices.Contains(r.cascades, name) {
			_, _ = fmt.Fprint(w, `{"apiVersion":"hnc.x-k8s.io/v1alpha2","kind":"HierarchyConfiguration","spec":{"allowCascadingDeletion":true}}`)
			return
		}
		notFound(w)
		return
	}
	if strings.HasSuffix(req.URL.Path, "/selfsubjectaccessreviews") {
		r.ownRights(w, req)
		return
	}
	var review authorizationv1.SubjectAccessReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.asked = append(r.asked, review.Spec)
	r.mu.Unlock()
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
	review.Status.Allowed = slices.Contains(r.may, review.Spec.ResourceAttributes.Namespace)
	_ = json.NewEncoder(w).Encode(review)
}

// ownRights answers Holdfast what it may do itself.
func (r *rig) ownRights(w http.ResponseWriter, req *http.Request) {
	var review authorizationv1.SelfSubjectAccessReview
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
	review.Status.Allowed = !slices.Contains(r.lacks, review.Spec.ResourceAttributes.Verb)
	_ = json.NewEncoder(w).Encode(review)
}

func notFound(w http.ResponseWriter) {
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
}

// remove answers who would delete a namespace.
func (r *rig) remove(w http.ResponseWriter, req *http.Request, name string) {
	var o metav1.DeleteOptions
	if err := json.NewDecoder(req.Body).Decode(&o); err != nil || !slices.Equal(o.DryRun, []string{metav1.DryRunAll}) {
		http.Error(w, "this is not only asked", http.StatusTeapot)
		return
	}
	status := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: http.StatusOK}
	if slices.Contains(r.stay, name) {
		status.Status, status.Reason, status.Code = metav1.StatusFailure, metav1.StatusReasonForbidden, http.StatusForbidden
		status.Message = name + " is protected"
	}
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

func (r *rig) options(client kubernetes.Interface) admit.Options {
	return admit.Options{
		World: func() (rules.World, error) {
			if r.later != nil && r.looks.Add(1) > 3 {
				return *r.later, nil
			}
			return r.world, r.unknown
		},
		Settings: func() settings.Settings { return r.settings },
		Users:    []string{holdfast},
		Kinds:    func() *inventory.Snapshot { return r.kinds },
		Sources: func(_ context.Context, kinds []inventory.Kind, _ propagate.Rules) (*propagate.Sources, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.read = append(r.read, kinds)
			return r.others, r.failing
		},
		Client: client,
	}
}

// webhooks are all that are declared.
func (r *rig) webhooks(t testing.TB) []admission.Webhook {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}})
	if err != nil {
		t.Fatal(err)
	}
	return admit.NewHandlers(r.options(client)).Webhooks(admit.WebhookOptions{Settings: r.settings, Users: []string{holdfast}, External: true})
}

// request is one in short: the objects are YAML, and the user is ann unless it says
// otherwise.
type request struct {
	op                        admissionv1.Operation
	namespace, before, object string
	kind                      metav1.GroupVersionKind
	user, subresource         string
}

func (q request) review(t testing.TB) []byte {
	t.Helper()
	raw := func(text string) runtime.RawExtension {
		if text == "" {
			return runtime.RawExtension{}
		}
		out, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return runtime.RawExtension{Raw: out}
	}
	user := q.user
	if user == "" {
		user = "ann"
	}
	out, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "u", Kind: q.kind, Operation: q.op, Namespace: q.namespace, SubResource: q.subresource,
			Object: raw(q.object), OldObject: raw(q.before),
			UserInfo: authenticationv1.UserInfo{
				Username: user, UID: "7", Groups: []string{"dev"}, Extra: map[string]authenticationv1.ExtraValue{"scope": {"a", "b"}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// answer is what a webhook says, nil if it answers with an error of HTTP.
func (r *rig) answer(t testing.TB, webhook string, body []byte) (*admissionv1.AdmissionResponse, int) {
	t.Helper()
	all := r.webhooks(t)
	i := slices.IndexFunc(all, func(w admission.Webhook) bool { return w.Name == webhook })
	if i < 0 {
		t.Fatalf("there is no webhook %s", webhook)
	}
	return call(t.Context(), t, all[i].Handler, body)
}

func call(ctx context.Context, t testing.TB, h http.Handler, body []byte) (*admissionv1.AdmissionResponse, int) {
	t.Helper()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		return nil, w.Code
	}
	var out admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Response == nil {
		t.Fatalf("it is no answer: %s", w.Body)
	}
	return out.Response, w.Code
}

// brief is an answer in a few words: ok, 403, http 503; where the API server was asked
// about the user, "if in a+b" follows.
func (r *rig) brief(t testing.TB, webhook string, q request) (text, message string) {
	t.Helper()
	response, code := r.answer(t, webhook, q.review(t))
	switch {
	case response == nil:
		return fmt.Sprintf("http %d", code), ""
	case response.Allowed:
		text = "ok"
	default:
		text = fmt.Sprint(response.Result.Code)
		message = response.Result.Message
		if response.Result.Reason == "" || response.Result.Details != nil {
			t.Errorf("a refusal without a reason, or with a time: %+v", response.Result)
		}
	}
	var in []string
	for _, spec := range r.asked {
		in = append(in, spec.ResourceAttributes.Namespace)
	}
	if len(in) > 0 {
		text += " if in " + strings.Join(in, "+")
	}
	return text, message
}

// check holds an answer to its brief form, and its message to words in it.
func (r *rig) check(t testing.TB, webhook string, q request, want, says string) {
	t.Helper()
	got, message := r.brief(t, webhook, q)
	if got != want || !strings.Contains(message, says) {
		t.Errorf("got %q, %q; want %q, with %q", got, message, want, says)
	}
}

var errUnknown = errors.New("7 of 9 kinds are read")
