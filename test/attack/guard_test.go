// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

const needsUnprotect = `needs the RBAC verb "unprotect"`

// does runs kubectl as a user, with what no blank may separate as one argument each, and wants it to pass.
func (r *rig) does(user, line string, more ...string) {
	r.T.Helper()
	if out := r.kubectl(user, line, more...); out.Code != 0 {
		r.T.Errorf("%s: kubectl %s %v: %s", user, line, more, out.Stderr)
	}
}

// denied is does for what must be refused, with words.
func (r *rig) denied(words, user, line string, more ...string) {
	r.T.Helper()
	if out := r.kubectl(user, line, more...); out.Code == 0 || !strings.Contains(out.Stderr, r.Long(words)) {
		r.T.Errorf("%s: kubectl %s %v: %s%s, want a refusal with %q", user, line, more, out.Stdout, out.Stderr, words)
	}
}

func (r *rig) kubectl(user, line string, more ...string) testkit.Output {
	r.T.Helper()
	return r.as(strings.Trim(user, "{}"), line, "", more...)
}

// marked waits until an object carries a mark, or none for "".
func (r *rig) marked(mark, want, object string) {
	r.T.Helper()
	r.See(object+` -o jsonpath={.metadata.labels.`+strings.ReplaceAll(mark, ".", `\.`)+`}`, want)
}

// editor lets a user edit a namespace.
func (r *rig) editor(user, namespace string) {
	r.T.Helper()
	r.Apply(binding(namespace, user, "edit", `{apiGroup: rbac.authorization.k8s.io, kind: User, name: "`+user+`"}`, ""))
}

// widgets is a definition; {.}.example.org is its group, and a user may apply it.
func widgets(plural, served, more string) string {
	return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + plural + `.{.}.example.org, ` + more + `},
  spec: {group: "{.}.example.org", scope: Namespaced, names: {plural: ` + plural + `, kind: ` + plural + `},
    versions: [{name: v1, served: ` + served + `, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
}

func widget(kind, name string) string {
	return `{apiVersion: "{.}.example.org/v1", kind: ` + kind + `, metadata: {name: ` + name + `, namespace: "{shop}", labels: {` + protected + `}}}`
}

// crdop may write definitions, and nothing else.
func (r *rig) crdop() {
	r.T.Helper()
	r.Grant(r.T, "", r.Long("{crdop}"), testkit.Rule("apiextensions.k8s.io", []string{"customresourcedefinitions", "customresourcedefinitions/status"}, "*"))
}

// A user who may write definitions, and not unprotect, wants to have protected custom resources deleted: by a definition that
// is not served while Holdfast restarts, by the annotation that switches the webhook off, and while Holdfast is down. It is
// one story on a cluster of its own.
func TestM1_whoWritesDefinitionsDeletesNoProtectedCustomResources(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{ManagerArgs: []string{"--leader-elect=false"}}) // no lease that a busy machine loses
	r := &rig{story.On(t, e, e.Namespace(t))}
	r.crdop()
	r.ApplyAs("{crdop}", widgets("widgets", "true", ""))
	r.ApplyAs("{crdop}", widgets("gadgets", "true", ""))
	r.Apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "{shop}"}}` + "\n---\n" + `{apiVersion: v1, kind: Namespace, metadata: {name: "{other}"}}`)
	r.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: "{other}", labels: {` + protected + `}}}`)
	r.Apply(widget("widgets", "w1"))
	const crd, free = "crd/widgets.{.}.example.org", v1alpha1.DeleteUncheckedAnnotation + "=widgets.{.}.example.org"
	const gadgets = "crd/gadgets.{.}.example.org"
	r.marked(v1alpha1.HoldsProtectedMark, "true", crd)
	r.marked(v1alpha1.HoldsProtectedMark, "true", "namespace/{other}")

	t.Run("setting the annotation in advance needs the right to unprotect", func(t *testing.T) {
		r := &rig{story.On(t, e, r.Prefix)}
		r.denied(needsUnprotect, "{crdop}", "annotate "+crd, free)
		r.denied(needsUnprotect, "{crdop}", "annotate --dry-run=server "+gadgets, v1alpha1.DeleteUncheckedAnnotation+"=gadgets.{.}.example.org")
		r.denied(needsUnprotect, "{crdop}", "patch --subresource=status --type=merge "+gadgets, "-p", `{"metadata":{"annotations":{"`+v1alpha1.DeleteUncheckedAnnotation+`":"gadgets.{.}.example.org"}}}`)
		out := e.KubectlInput(t, r.Long(widgets("things", "true", "annotations: {"+v1alpha1.DeleteUncheckedAnnotation+": things.{.}.example.org}")), "create", "-f", "-", "--as="+r.Long("{crdop}"))
		if out.Code == 0 || !strings.Contains(out.Stderr, needsUnprotect) {
			t.Errorf("a definition is created with it: %s%s", out.Stdout, out.Stderr)
		}
		r.does("{crdop}", "annotate "+gadgets, "other=annotation")
	})

	r.ApplyAs("{crdop}", widgets("widgets", "false", ""))
	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	r.does("", "label configmap x -n {other}", v1alpha1.DeletionProtectedLabel+"-")
	e.Manager = e.StartManager(t)
	r.marked(v1alpha1.HoldsProtectedMark, "", "namespace/{other}") // so it has looked at all that it can see

	t.Run("a definition that is not served keeps its mark when Holdfast restarts", func(t *testing.T) {
		r := &rig{story.On(t, e, r.Prefix)}
		r.Consistently(func() string { return r.Run("get " + crd + " --show-labels").Stdout }, "3s", story.Slower).
			Should(gomega.ContainSubstring(v1alpha1.HoldsProtectedMark + "=true"))
		r.denied("1 protected object", "{crdop}", "delete "+crd)
		r.denied(needsUnprotect, "{crdop}", "annotate "+crd, free)
	})

	t.Run("the annotation of an administrator frees it for nobody else", func(t *testing.T) {
		r := &rig{story.On(t, e, r.Prefix)}
		r.does("", "annotate "+gadgets, v1alpha1.DeleteUncheckedAnnotation+"=gadgets.{.}.example.org")
		r.denied(needsUnprotect, "{crdop}", "delete "+gadgets)
		r.does("", "delete --dry-run=server "+gadgets)
		r.does("{crdop}", "annotate "+gadgets, v1alpha1.DeleteUncheckedAnnotation+"-")
	})

	t.Run("it loses the mark once its objects were seen", func(t *testing.T) {
		r := &rig{story.On(t, e, r.Prefix)}
		r.ApplyAs("{crdop}", widgets("widgets", "true", ""))
		r.See("widgets.{.}.example.org/w1 -n {shop} -o name", "widgets.{.}.example.org/w1\n")
		r.does("", "label widgets.{.}.example.org/w1 -n {shop}", v1alpha1.DeletionProtectedLabel+"-")
		r.marked(v1alpha1.HoldsProtectedMark, "", crd)
	})

	if err := e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Run("while Holdfast is down, an object that was not marked in time is safe", func(t *testing.T) {
		r := &rig{story.On(t, e, r.Prefix)}
		r.Apply(widget("gadgets", "g1"))
		r.denied("unless-annotated-delete-unchecked-with-its-own-name", "{crdop}", "delete "+gadgets)
		r.denied(needsUnprotect, "{crdop}", "annotate "+gadgets, v1alpha1.DeleteUncheckedAnnotation+"=gadgets.{.}.example.org")
		r.does("", "annotate "+gadgets, v1alpha1.DeleteUncheckedAnnotation+"=gadgets.{.}.example.org")
		r.denied(needsUnprotect, "{crdop}", "delete "+gadgets)
		r.does("", "delete --dry-run=server "+gadgets)
	})
	t.Run("L1: the configuration is for who may unprotect", func(t *testing.T) { configurationIsForWhoMayUnprotect(t, &rig{story.On(t, e, r.Prefix)}) })
	t.Run("M8: what cannot be decoded is deleted without admission", func(t *testing.T) { undecodable(t, &rig{story.On(t, e, r.Prefix)}) })
}

// undecodable is a limit: the API server calls no admission for an object that it cannot decode. RBAC has a verb for that.
func undecodable(t *testing.T, r *rig) {
	const versions = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: relics.{.}.example.org},
  spec: {group: "{.}.example.org", scope: Namespaced, names: {plural: relics, kind: relics}, versions: [%]}}`
	version := func(name, served, storage string) string {
		return `{name: ` + name + `, served: ` + served + `, storage: ` + storage + `, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`
	}
	apply := func(all ...string) {
		r.ApplyAs("{crdop}", strings.ReplaceAll(versions, "%", strings.Join(all, ", ")))
	}
	apply(version("v1", "true", "true"))
	r.Apply(widget("relics", "r1"))
	apply(version("v1", "false", "false"), version("v2", "true", "true"))
	r.does("{crdop}", "patch --subresource=status --type=merge crd/relics.{.}.example.org", "-p", `{"status":{"storedVersions":["v2"]}}`)
	apply(version("v2", "true", "true"))

	relics := []string{"*"}
	r.Grant(t, r.Long("{shop}"), r.Long("{exown}"), testkit.Rule(r.Long("{.}.example.org"), relics, "*"))
	r.Grant(t, r.Long("{shop}"), r.Long("{listed}"), testkit.Rule(r.Long("{.}.example.org"), relics, "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"))
	r.Apply(`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: "{never}"}, spec: {
  matchConstraints: {resourceRules: [{apiGroups: ["{.}.example.org"], apiVersions: ["*"], operations: [DELETE], resources: ["*"]}]}, validations: [{expression: "false", message: "never"}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: "{never}"}, spec: {policyName: "{never}", validationActions: [Deny]}}`)
	r.Eventually(func() string {
		return r.kubectl("", "delete --dry-run=server widgets.{.}.example.org/w1 -n {shop}").Stderr
	}, story.Patience, story.Slower).
		Should(gomega.ContainSubstring("never"), "the policy is not in force")

	path := r.Long("/apis/{.}.example.org/v2/namespaces/{shop}/relics/r1")
	unsafe := "?ignoreStoreReadErrorWithClusterBreakingPotential=true"
	r.Eventually(func() string { return r.kubectl("{exown}", "delete --raw "+path).Stderr }, story.Patience, story.Slower).
		Should(gomega.ContainSubstring("InternalError"), "it can still be decoded")
	r.denied("unsafe-delete-ignore-read-errors", "{listed}", "delete --raw "+path+unsafe)
	r.does("{exown}", "delete --raw "+path+unsafe)
}

// An editor wants to take what a ResourceDeletionProtection selects by labels out of it.
func TestM2_labelsThatSelectStay(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.editor("{ed}", "{shop}")
	r.editor("{una}", "{shop}")
	r.Grant(t, r.Long("{shop}"), r.Long("{una}"), testkit.Rule(v1alpha1.GroupName, []string{v1alpha1.UnprotectResource}, v1alpha1.UnprotectVerb))
	r.Apply(`{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{mysql}"}, spec: {reason: production, protectedResources: [
  {resourceSelector: [{apiVersion: v1, kind: Secret, namespace: "{shop}", labelSelector: {matchLabels: {app: mysql}}}]}]}}
---
{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: "{tier}"}, spec: {protectedResources: [
  {resourceSelector: [{apiVersion: v1, kind: Secret, namespace: "{shop}", labelSelector: {matchExpressions: [{key: drained, operator: DoesNotExist}]}}]}]}}`)
	r.ApplyAs("{ed}", `{apiVersion: v1, kind: Secret, metadata: {name: my1, namespace: "{shop}", labels: {app: mysql}}}`)
	const secret = "secret/my1 -n {shop}"
	r.marked(v1alpha1.ProtectedByMark, "2_protections", secret)
	keys := secret + ` -o jsonpath={.metadata.annotations.holdfast\.dev/protected-by-labels}`
	r.See(keys, "app,drained")

	const text = "selects secrets/my1 by labels, of which this update changes "
	r.denied(text+"app. ", "{ed}", "label --overwrite "+secret, "app=gone")
	r.denied(text+"app. ", "{ed}", "label "+secret, "app-")
	r.denied(text+"drained. ", "{ed}", "label "+secret, "drained=")
	r.denied("ResourceDeletionProtection {mysql} (production), {tier} ", "{ed}", "patch --type=merge "+secret, "-p", `{"metadata":{"labels":null}}`)
	r.denied(text+"app. ", "{nsadmin}", "patch --type=json "+secret, "-p", `[{"op":"replace","path":"/metadata/labels/app","value":"x"}]`)
	r.does("{ed}", "label "+secret, "other=label")

	// The annotation has the keys.
	for _, change := range []string{"holdfast.dev/protected-by-labels-", "holdfast.dev/protected-by-labels=other"} {
		if out := r.kubectl("{ed}", "annotate --overwrite "+secret, change); !strings.Contains(out.Stderr, "was not changed") && !strings.Contains(out.Stderr, "were not changed") {
			t.Errorf("%s: %s%s, want a warning", change, out.Stdout, out.Stderr)
		}
	}
	r.See(keys, "app,drained")
	r.denied("is protected from deletion", "{ed}", "delete "+secret)

	r.does("{una}", "label --overwrite "+secret, "app=gone", "drained=")
	r.marked(v1alpha1.MarkedLabel, "", secret)
	r.See(keys, "")
	r.does("{ed}", "delete "+secret)
}

// A user who may write definitions wants to have Holdfast's own objects emptied, or not served.
func TestM3_definitionsOfHoldfastStayAsTheyAre(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.crdop()
	const needsOperate = `needs the RBAC verb "operate"`
	const dry = "patch --dry-run=server --type=json crd/"
	// As the sync applies it: without spec.override.roleRefs every RootSync would be cluster-admin.
	r.does("", "annotate crd/rootsyncs.configsync.gke.io holdfast.dev/written-by-version=0.1.0 --overwrite")
	for _, crd := range []string{"resourcedeletionprotections.holdfast.dev", "hierarchyconfigurations.hnc.x-k8s.io", "rootsyncs.configsync.gke.io"} {
		empty := `[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema","value":{"type":"object"}}]`
		unserved := `[{"op":"replace","path":"/spec/versions/0/served","value":false}]`
		converted := `[{"op":"replace","path":"/spec/conversion","value":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/none"}}}}]`
		newer := `[{"op":"add","path":"/metadata/annotations/holdfast.dev~1written-by-version","value":"99.0.0"}]`
		owned := `[{"op":"add","path":"/metadata/ownerReferences","value":[{"apiVersion":"v1","kind":"Node","name":"none","uid":"1"}]}]`
		for _, change := range []string{empty, unserved, converted, newer, owned} {
			r.denied(needsOperate, "{crdop}", dry+crd, "-p", change)
		}
		r.does("", dry+crd, "-p", empty)
		r.does("{crdop}", dry+crd, "-p", `[{"op":"add","path":"/metadata/annotations/a","value":"b"}]`)
	}
	r.ApplyAs("{crdop}", widgets("widgets", "true", ""))
	r.ApplyAs("{crdop}", widgets("widgets", "false", ""))
}

// A tenant wants to keep an object without a namespace from being deleted, by naming it as an owner.
func TestM5_ownersWithoutANamespaceAreNotHeldUp(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.editor("{ed}", "{shop}")
	r.Apply(`{apiVersion: v1, kind: Node, metadata: {name: "{n1}"}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "{low}"}, value: 1}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "{kept}", labels: {` + protected + `}}, value: 1}`)
	uid := func(object string) string {
		return r.Run("get " + object + " -o jsonpath={.metadata.uid}").Stdout
	}
	block := func(name, apiVersion, kind, owner, uid string) {
		r.ApplyAs("{ed}", `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, namespace: "{shop}", labels: {`+protected+`},
  ownerReferences: [{apiVersion: `+apiVersion+`, kind: `+kind+`, name: "`+owner+`", uid: `+uid+`}]}}`)
	}
	node, class := uid("node/{n1}"), uid("priorityclass/{low}")
	block("a", "v1", "Node", "{n1}", node)
	block("b", "scheduling.k8s.io/v1", "PriorityClass", "{low}", class)

	// Objects without a namespace still count below each other.
	r.does("", "patch priorityclass/{kept} --type=merge", "-p", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"{n1}","uid":"`+node+`"}]}}`)
	r.marked(v1alpha1.HoldsProtectedMark, "true", "node/{n1}")
	r.See(`node/{n1} -o jsonpath={.metadata.annotations.holdfast\.dev/holds-protected}`, "1 protected object: priorityclasses.scheduling.k8s.io/{kept}")
	r.does("", "label priorityclass/{kept}", v1alpha1.DeletionProtectedLabel+"-")
	r.marked(v1alpha1.MarkedLabel, "", "node/{n1}")
	r.See(`namespace/{shop} -o jsonpath={.metadata.annotations.holdfast\.dev/holds-protected}`, "2 protected objects: configmaps/a, configmaps/b")

	// An older version has marked it.
	r.does("system:serviceaccount:holdfast-system:holdfast-guard", "label priorityclass/{low}", v1alpha1.MarkedLabel+"="+class, v1alpha1.HoldsProtectedMark+"=true")
	r.marked(v1alpha1.MarkedLabel, "", "priorityclass/{low}")

	r.Grant(t, "", r.Long("{wide}"), testkit.Rule("*", []string{"nodes", "priorityclasses"}, "get", "delete"))
	r.does("{wide}", "delete node/{n1}")
	r.does("{wide}", "delete priorityclass/{low}")
	r.See("configmap/a -n {shop} -o name", "configmap/a\n")
}

// An editor of a namespace wants to have the data of a protected volume deleted with its claim.
func TestM7_theClaimOfAProtectedVolumeStays(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.editor("{ed}", "{shop}")
	r.Apply(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: "{v}", labels: {` + protected + `}}, spec: {
  capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Delete, hostPath: {path: "/tmp/holdfast-{v}"}, claimRef: {namespace: "{shop}", name: data}}}`)
	r.ApplyAs("{ed}", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: "{shop}"}, spec: {
  storageClassName: "", volumeName: "{v}", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	const claim = "pvc/data -n {shop}"
	r.See(claim+" -o jsonpath={.status.phase}", "Bound")
	r.marked(v1alpha1.HoldsProtectedMark, "true", claim)
	r.marked(v1alpha1.HoldsProtectedMark, "true", "namespace/{shop}")
	for _, line := range []string{"delete " + claim, "delete --cascade=orphan " + claim, "delete pvc --all -n {shop}"} {
		r.denied("persistentvolumeclaims/data is not deleted because of what hangs below it: 1 protected object: persistentvolumes/{v}", "{ed}", line)
	}
	r.denied("1 protected object: persistentvolumes/{v}", "", "delete namespace/{shop}")

	r.does("", "patch pv/{v} --type=merge", "-p", `{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
	r.marked(v1alpha1.MarkedLabel, "", claim)
	r.marked(v1alpha1.MarkedLabel, "", "namespace/{shop}")
	r.does("{ed}", "delete --dry-run=server "+claim)
	r.does("", "patch pv/{v} --type=merge", "-p", `{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`)
	r.marked(v1alpha1.HoldsProtectedMark, "true", claim)
	r.does("", "label pv/{v}", v1alpha1.DeletionProtectedLabel+"-")
	r.marked(v1alpha1.MarkedLabel, "", claim)
	r.does("{ed}", "delete --wait=false "+claim)
}

// A tenant's pod wants to hold the room of a system pod, and the place of its node.
func TestM9_protectedPodsMakeRoom(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.tenant("{shop}")
	r.editor("{ed}", "{shop}")
	r.Apply(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: "{shop}"}}`)
	r.ApplyAs("{ed}", `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: "{shop}", labels: {`+protected+`, resourcetemplate.karmada.io/deletion-protected: Always}},
  spec: {containers: [{name: c, image: i}]}}`)
	uid := r.Run("get pod/p -n {shop} -o jsonpath={.metadata.uid}").Stdout
	r.ApplyAs("{ed}", `{apiVersion: v1, kind: ConfigMap, metadata: {name: below, namespace: "{shop}", labels: {`+protected+`},
  ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: `+uid+`}]}}`)
	r.marked(v1alpha1.HoldsProtectedMark, "true", "pod/p -n {shop}")
	const pod = "delete --dry-run=server pod/p -n {shop}"
	r.does("system:kube-scheduler", pod)
	r.does("system:serviceaccount:kube-system:pod-garbage-collector", pod)
	for _, user := range []string{"{ed}", "{nsadmin}", "system:serviceaccount:kube-system:generic-garbage-collector"} {
		r.denied("protected", user, pod)
	}
}

// configurationIsForWhoMayUnprotect is an editor of Holdfast's namespace who wants to replace the configuration, or to keep
// others from changing it.
func configurationIsForWhoMayUnprotect(_ *testing.T, r *rig) {
	r.editor("{sysed}", "holdfast-system")
	const configuration, refused = "configmap/holdfast -n holdfast-system", "can turn every protection off"
	const valid = "--from-literal=config.yaml=apiVersion: config.holdfast.dev/v1alpha1\nkind: HoldfastConfiguration\n"
	for _, change := range []string{`{"immutable":true}`, `{"binaryData":{"a":"YQ=="}}`, `{"data":{"other":""}}`, `{"metadata":{"labels":{"holdfast.dev/deletion-protected":"Always"}}}`} {
		r.denied(refused, "{sysed}", "patch --type=merge "+configuration, "-p", change)
		r.does("", "patch --dry-run=server --type=merge "+configuration, "-p", change)
	}
	r.denied(refused, "{sysed}", "create configmap holdfast -n holdfast-system", valid)
	r.denied("already exists", "", "create configmap holdfast -n holdfast-system", valid)
	r.does("{sysed}", "create configmap other -n holdfast-system", valid)
	r.does("{sysed}", "annotate "+configuration, "a=b")
}
