// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/loopback"
)

// bodies are the parts of objects that the API server requires besides metadata, by the names of resources. NAME is the name of the
// object, SHOP that of its namespace, and ADMIN that of an administrator.
var bodies = map[string]string{
	"podtemplates":                                                   "template: " + aPod,
	"pods":                                                           aPodSpec,
	"events":                                                         "involvedObject: {namespace: SHOP}",
	"events.events.k8s.io":                                           "{metadata: {namespace: SHOP}, regarding: {namespace: SHOP}, eventTime: '2026-01-01T00:00:00.000000Z', reportingController: a.b/c, reportingInstance: a, action: a, reason: a, type: Normal}",
	"persistentvolumes":                                              "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /none}}",
	"persistentvolumeclaims":                                         "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
	"replicationcontrollers":                                         "spec: {replicas: 0, selector: {a: NAME}, template: " + aPod + "}",
	"services":                                                       "spec: {ports: [{port: 80}]}",
	"daemonsets.apps":                                                "spec: {selector: {matchLabels: {a: NAME}}, template: {metadata: {labels: {a: NAME}}, spec: {nodeSelector: {no: where}, containers: [{name: c, image: none}]}}}",
	"deployments.apps":                                               aWorkload,
	"replicasets.apps":                                               aWorkload,
	"statefulsets.apps":                                              aWorkload,
	"controllerrevisions.apps":                                       "{revision: 1, data: {a: b}}",
	"jobs.batch":                                                     "spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}",
	"cronjobs.batch":                                                 `spec: {suspend: true, schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}}}`,
	"horizontalpodautoscalers.autoscaling":                           "spec: {maxReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}",
	"poddisruptionbudgets.policy":                                    "spec: {selector: {matchLabels: {a: none}}}",
	"ingresses.networking.k8s.io":                                    "spec: {defaultBackend: {service: {name: none, port: {number: 80}}}}",
	"ingressclasses.networking.k8s.io":                               "spec: {controller: a.b/c}",
	"networkpolicies.networking.k8s.io":                              "spec: {podSelector: {matchLabels: {a: none}}}",
	"ipaddresses.networking.k8s.io":                                  "{metadata: {name: 203.0.113.7}, spec: {parentRef: {resource: services, namespace: SHOP, name: none}}}",
	"servicecidrs.networking.k8s.io":                                 "spec: {cidrs: [203.0.113.0/28]}",
	"rolebindings.rbac.authorization.k8s.io":                         "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: SHOP-nothing}",
	"clusterrolebindings.rbac.authorization.k8s.io":                  "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: SHOP-nothing}",
	"storageclasses.storage.k8s.io":                                  "provisioner: a.b/c",
	"volumeattachments.storage.k8s.io":                               "spec: {attacher: a.b, nodeName: none, source: {persistentVolumeName: none}}",
	"csidrivers.storage.k8s.io":                                      "spec: {}",
	"csinodes.storage.k8s.io":                                        "spec: {drivers: []}",
	"csistoragecapacities.storage.k8s.io":                            "storageClassName: none",
	"volumeattributesclasses.storage.k8s.io":                         "{driverName: a.b, parameters: {a: b}}",
	"priorityclasses.scheduling.k8s.io":                              "value: 1",
	"runtimeclasses.node.k8s.io":                                     "handler: none",
	"endpointslices.discovery.k8s.io":                                "{addressType: IPv4, endpoints: []}",
	"flowschemas.flowcontrol.apiserver.k8s.io":                       "spec: {matchingPrecedence: 9999, priorityLevelConfiguration: {name: catch-all}}",
	"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io":       "spec: {type: Limited, limited: {nominalConcurrencyShares: 0, limitResponse: {type: Reject}}}",
	"deviceclasses.resource.k8s.io":                                  "spec: {}",
	"devicetaintrules.resource.k8s.io":                               "spec: {taint: {key: a.b/c, effect: NoSchedule}}",
	"resourceclaims.resource.k8s.io":                                 "spec: {}",
	"resourceclaimtemplates.resource.k8s.io":                         "spec: {spec: {}}",
	"resourceslices.resource.k8s.io":                                 "spec: {driver: a.b, allNodes: true, pool: {name: a, generation: 1, resourceSliceCount: 1}}",
	"validatingadmissionpolicies.admissionregistration.k8s.io":       aPolicy + `, validations: [{expression: "true"}]}`,
	"mutatingadmissionpolicies.admissionregistration.k8s.io":         aPolicy + `, reinvocationPolicy: Never, mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: \"remove\", path: \"/a\"}]"}}]}`,
	"validatingadmissionpolicybindings.admissionregistration.k8s.io": "spec: {policyName: none, validationActions: [Audit]}",
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io":   "spec: {policyName: none}",
	"apiservices.apiregistration.k8s.io":                             "{metadata: {name: v1.SHOP.example.com}, spec: {group: SHOP.example.com, version: v1, groupPriorityMinimum: 1, versionPriority: 1}}",
	"customresourcedefinitions.apiextensions.k8s.io":                 "{metadata: {name: kinds.SHOP.example.com}, spec: {group: SHOP.example.com, scope: Namespaced, names: {plural: kinds, kind: Kind}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}",
	"certificatesigningrequests.certificates.k8s.io":                 "spec: {signerName: a.b/c, usages: [client auth], request: REQUEST}",
	"hierarchyconfigurations.hnc.x-k8s.io":                           "{metadata: {name: hierarchy}, spec: {}}",
	"resourcedeletionprotections.holdfast.dev":                       "spec: {protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: SHOP, name: none}]}]}",
	"deletionoverrides.holdfast.dev":                                 "spec: {target: {apiVersion: v1, kind: ConfigMap, namespace: SHOP, name: none, uid: none}, reason: a, duration: 1s, requestedBy: ADMIN}",
	"storageversionmigrations.storagemigration.k8s.io":               "spec: {resource: {group: SHOP.example.com, resource: kinds}}",
	"clustertrustbundles.certificates.k8s.io":                        "spec: {trustBundle: CERTIFICATE}",
	"podcertificaterequests.certificates.k8s.io":                     "spec: {signerName: a.b/c, podName: none, podUID: none, serviceAccountName: default, serviceAccountUID: none, nodeName: none, nodeUID: none, stubPKCS10Request: REQUESTDER}",
	"evictionpolicies.holdfast.dev":                                  "spec: {match: {namespaces: [none], podSelector: {matchLabels: {a: none}}}, verdict: {type: Deny, message: none}}",
	"serviceaccounttemplates.holdfast.dev":                           "spec: {source: {group: SHOP.example.com, kind: Kind}, accounts: [{id: a, name: none}]}",
	"rootsyncs.configsync.gke.io":                                    "spec: {}",
}

const (
	aPodSpec  = "spec: {containers: [{name: c, image: none}]}"
	aPod      = "{metadata: {labels: {a: NAME}}, " + aPodSpec + "}"
	aWorkload = "spec: {replicas: 0, selector: {matchLabels: {a: NAME}}, template: " + aPod + "}"
	aPolicy   = "spec: {matchConstraints: {resourceRules: [{apiGroups: [example.org], apiVersions: [v1], operations: [UPDATE], resources: [nothing]}]}"
)

// notTried are resources of which the test creates no object.
var notTried = map[string]string{
	"holdfasts.holdfast.dev":         "there is one for the cluster, and Holdfast writes its status",
	"hncconfigurations.hnc.x-k8s.io": "there is one for the cluster, and so for all tests",
}

// beyond are the resources by which every user takes the label off, because the API server asks no policy about them.
var beyond = []string{
	"mutatingadmissionpolicies.admissionregistration.k8s.io", "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
	"validatingadmissionpolicies.admissionregistration.k8s.io", "validatingadmissionpolicybindings.admissionregistration.k8s.io",
}

// 28: PATCH and PUT without the label, through each resource and subresource that the API server of the test serves.
func TestHeld_everyKindAndSubresource(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	r := shared(t)
	r.cast("wide")
	r.Grant(t, "", r.user("wide"), testkit.Rule("certificates.k8s.io", []string{"signers"}, "approve"))
	r.Apply(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "{shop}-nothing"}, rules: []}`)
	k := newKinds(r)
	var group errgroup.Group
	group.SetLimit(8)
	for _, kind := range k.served() {
		group.Go(func() error {
			if err := k.try(kind); err != nil {
				t.Error(err)
			}
			return nil
		})
	}
	_ = group.Wait()
	slices.Sort(k.lost)
	if diff := gocmp.Diff(beyond, slices.Compact(k.lost)); diff != "" {
		t.Errorf("by these resources a user without the verb unprotect takes the label off (-want +got):\n%s", diff)
	}
	if len(k.tried) < 100 {
		t.Errorf("only %d resources and subresources were tried", len(k.tried))
	}
}

// kinds takes the label off objects of all kinds.
type kinds struct {
	*rig
	admin, wide dynamic.Interface
	// words are what the texts of bodies have in capitals.
	words *strings.Replacer

	mu    sync.Mutex
	tried map[string]bool
	lost  []string
}

// kind is a resource with the subresources that can be written to.
type kind struct {
	schema.GroupVersionResource
	schema.GroupVersionKind
	namespaced bool
	// verbs are those of the resource, under "", and of its subresources.
	verbs map[string][]string
}

func newKinds(r *rig) *kinds {
	r.T.Helper()
	config := rest.CopyConfig(r.Config)
	config.WarningHandler = rest.NoWarnings{} // Endpoints are deprecated
	wide := rest.CopyConfig(config)
	wide.Impersonate = rest.ImpersonationConfig{UserName: r.user("wide")}
	k := &kinds{rig: r, tried: map[string]bool{}, admin: dynamic.NewForConfigOrDie(config), wide: dynamic.NewForConfigOrDie(wide)}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	r.Expect(err).NotTo(gomega.HaveOccurred())
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	r.Expect(err).NotTo(gomega.HaveOccurred())
	authority, err := loopback.NewCertificate()
	r.Expect(err).NotTo(gomega.HaveOccurred())
	me := &authenticationv1.SelfSubjectReview{}
	r.Expect(r.Client.Create(r.T.Context(), me)).To(gomega.Succeed())
	k.words = strings.NewReplacer("SHOP", r.Long("{shop}"), "ADMIN", me.Status.UserInfo.Username, "CERTIFICATE", strconv.Quote(authority.PEM),
		"REQUESTDER", base64.StdEncoding.EncodeToString(request),
		"REQUEST", base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})))
	return k
}

// served are the kinds of Kubernetes and of Holdfast, in all their versions.
func (k *kinds) served() []kind {
	k.T.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(k.Config)
	k.Expect(err).NotTo(gomega.HaveOccurred())
	_, lists, err := client.ServerGroupsAndResources()
	if !discovery.IsGroupDiscoveryFailedError(err) { // of a group that another test has just removed
		k.Expect(err).NotTo(gomega.HaveOccurred())
	}
	var out []kind
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		k.Expect(err).NotTo(gomega.HaveOccurred())
		if !ofKubernetes(version.Group) {
			continue
		}
		verbs := map[string]map[string][]string{}
		for _, resource := range list.APIResources {
			name, sub, _ := strings.Cut(resource.Name, "/")
			if verbs[name] == nil {
				verbs[name] = map[string][]string{}
			}
			if sub != "proxy" {
				verbs[name][sub] = resource.Verbs
			}
		}
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") && slices.Contains(resource.Verbs, "create") && slices.Contains(resource.Verbs, "get") {
				out = append(out, kind{version.WithResource(resource.Name), version.WithKind(resource.Kind), resource.Namespaced, verbs[resource.Name]})
			}
		}
	}
	return out
}

// ofKubernetes reports whether a group is no test's.
func ofKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") ||
		slices.Contains([]string{"holdfast.dev", "hnc.x-k8s.io", "configsync.gke.io", "kpt.dev"}, group)
}

// try creates an object with the label, and takes the label off by all resources of its kind.
func (k *kinds) try(kind kind) error {
	resource := kind.GroupResource().String()
	if notTried[resource] != "" {
		return nil
	}
	o, err := k.object(kind)
	if err != nil {
		return err
	}
	admin, wide := on(k.admin, kind, o), on(k.wide, kind, o)
	if o, err = admin.Create(k.T.Context(), o, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create %s: %w", resource, err)
	}
	name := o.GetName()
	if !kind.namespaced {
		k.T.Cleanup(func() { k.remove(admin, name) })
	}
	for sub, verbs := range kind.verbs {
		through := strings.TrimSuffix(resource+"/"+sub, "/")
		for verb, write := range map[string]func() error{
			"patch": func() error {
				_, err := wide.Patch(k.T.Context(), name, types.MergePatchType, unlabeled, metav1.PatchOptions{}, subresource(sub)...)
				return err
			},
			"update": func() error { return put(k.T.Context(), admin, wide, name, sub) },
		} {
			if !slices.Contains(verbs, verb) {
				continue
			}
			k.judge(through, verb, write())
			now, err := admin.Get(k.T.Context(), name, metav1.GetOptions{})
			if err != nil || now.GetUID() != o.GetUID() || now.GetDeletionTimestamp() != nil {
				return fmt.Errorf("%s after %s of %s: %v, %w", name, verb, through, now, err)
			}
			kept := now.GetLabels()[v1alpha1.DeletionProtectedLabel] == v1alpha1.ProtectAlways
			k.count(through, kept)
			if kept {
				continue
			}
			if _, err := admin.Patch(k.T.Context(), name, types.MergePatchType, labeled, metav1.PatchOptions{}); err != nil {
				return fmt.Errorf("label %s: %w", resource, err)
			}
		}
	}
	return nil
}

func (k *kinds) count(through string, kept bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried[through] = true
	if !kept {
		k.lost = append(k.lost, through)
	}
}

// judge fails the test for an answer that says nothing about the label.
func (k *kinds) judge(through, verb string, err error) {
	k.T.Helper()
	refused := apierrors.IsForbidden(err) && (strings.Contains(err.Error(), needsVerb) || strings.Contains(err.Error(), "the status of an override is written by Holdfast alone"))
	if !refused && (err != nil || !strings.Contains(through, "/") && !slices.Contains(beyond, through)) {
		k.T.Errorf("%s of %s without the label: got %v", verb, through, err)
	}
}

var (
	labeled   = []byte(`{"metadata":{"labels":{"` + v1alpha1.DeletionProtectedLabel + `":"Always"}}}`)
	unlabeled = []byte(`{"metadata":{"labels":{"` + v1alpha1.DeletionProtectedLabel + `":null}}}`)
)

// object is one of a kind, with the label.
func (k *kinds) object(kind kind) (*unstructured.Unstructured, error) {
	name := k.Prefix + "-" + strings.ToLower(kind.Kind+strings.ReplaceAll(kind.GroupVersionKind.Group, ".", "")) + kind.GroupVersionKind.Version
	body := k.words.Replace(replaced(bodies[kind.GroupResource().String()], "NAME", name))
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(body), &o.Object); err != nil {
		return nil, fmt.Errorf("%s: %w", body, err)
	}
	if o.Object == nil {
		o.Object = map[string]any{}
	}
	o.SetGroupVersionKind(kind.GroupVersionKind)
	o.SetName(cmp.Or(o.GetName(), name))
	if kind.namespaced {
		o.SetNamespace(k.Long("{shop}"))
	}
	o.SetLabels(map[string]string{v1alpha1.DeletionProtectedLabel: v1alpha1.ProtectAlways})
	return o, nil
}

func on(c dynamic.Interface, kind kind, o *unstructured.Unstructured) dynamic.ResourceInterface {
	if kind.namespaced {
		return c.Resource(kind.GroupVersionResource).Namespace(o.GetNamespace())
	}
	return c.Resource(kind.GroupVersionResource)
}

func subresource(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// put replaces what is read from a resource, or of a subresource that cannot be read the object, without the label.
func put(ctx context.Context, admin, wide dynamic.ResourceInterface, name, sub string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		o, err := admin.Get(ctx, name, metav1.GetOptions{}, subresource(sub)...)
		if err != nil {
			o, err = admin.Get(ctx, name, metav1.GetOptions{})
		}
		if err != nil {
			return err
		}
		labels := o.GetLabels()
		delete(labels, v1alpha1.DeletionProtectedLabel)
		o.SetLabels(labels)
		_, err = wide.Update(ctx, o, metav1.UpdateOptions{}, subresource(sub)...)
		return err
	})
}

// remove takes away what is in no namespace.
func (k *kinds) remove(admin dynamic.ResourceInterface, name string) {
	ctx := context.WithoutCancel(k.T.Context())
	_, err := admin.Patch(ctx, name, types.MergePatchType, unlabeled, metav1.PatchOptions{})
	if err == nil {
		err = admin.Delete(ctx, name, metav1.DeleteOptions{})
	}
	if err != nil {
		k.T.Errorf("delete %s: %v", name, err)
	}
}
