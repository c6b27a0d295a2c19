// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
	"github.com/holdfast-dev/holdfast/internal/testkit/story"
)

// A user who may unprotect in a namespace asks for overrides of what is protected elsewhere, or for longer than is allowed.
func TestMeet_overridesAndConsequences(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.cast("una", "ed", "wide")
	r.grant("", r.user("una"), testkit.Rule("holdfast.dev", []string{"deletionoverrides"}, "create", "get", "patch", "update"))
	r.grant("{other}", r.Long("{system}"), testkit.Rule("holdfast.dev", []string{"resourcedeletionprotections"}, "unprotect"))
	r.grant("", r.Long("{system}"), testkit.Rule("holdfast.dev", []string{"deletionoverrides"}, "create", "get", "patch"))
	r.Apply(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: "{v}", labels: {` + protected + `}}, spec: {
  capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Delete, hostPath: {path: "/tmp/holdfast-{v}"}, claimRef: {namespace: "{shop}", name: data}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: "{shop}"}, spec: {storageClassName: "", volumeName: "{v}", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: "{shop}", labels: {` + protected + `}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: "{other}", labels: {` + protected + `}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: "{shop}", labels: {` + protected + `}, finalizers: [example.com/held]}}`)
	t.Cleanup(func() {
		r.as("", "label pv {v} holdfast.dev/deletion-protected-", "")
		r.as("", "delete pv {v} --wait=false", "")
	})
	uid := func(what string) string { return r.Run("get " + what + " -o jsonpath={.metadata.uid}").Stdout }
	ask := func(name, by, kind, namespace, object, uid, more string) string {
		return fmt.Sprintf(`{"apiVersion":"holdfast.dev/v1alpha1","kind":"DeletionOverride","metadata":{"name":%q},"spec":{"requestedBy":%q,"reason":"x","target":{"apiVersion":"v1","kind":%q,"namespace":%q,"name":%q,"uid":%q},%s}}`,
			name, by, kind, namespace, object, uid, more)
	}
	const claim, soon = "pvc data -n {shop}", `"duration":"5m"`
	r.marked(v1alpha1.HoldsProtectedMark, "true", claim)

	// 36, 37: the claim of a protected volume, which hangs below it and is unprotected cluster-wide.
	r.does("{una}", "annotate "+claim, v1alpha1.DeleteUncheckedAnnotation+"=data")
	before := r.state(claim)
	for _, line := range []string{"delete " + claim, "delete --cascade=orphan " + claim} {
		r.denied("1 protected object: persistentvolumes/{v}", "{una}", line)
	}
	r.do("una", "create -f -", ask("{claim}", "{una}", "PersistentVolumeClaim", "{shop}", "data", uid(claim), soon))
	r.See("dov {claim} -o jsonpath={.status.phase}", "Active")
	r.marked(v1alpha1.OverrideMark, "{claim}", claim)
	r.denied("1 protected object: persistentvolumes/{v}", "{una}", "delete "+claim)
	before.Labels[v1alpha1.OverrideMark] = r.Long("{claim}")
	r.same(claim, before)

	refused := func(name, user, input, says string) {
		out := r.as(user, "create --dry-run=server -f -", input)
		if out.Code == 0 || !strings.Contains(out.Stderr, r.Long(says)) {
			t.Errorf("%s: got %s%s, want %q", name, out.Stdout, out.Stderr, says)
		}
	}
	const target = "in the namespace of the target, or cluster-wide for a target without one"
	refused("38: the contents of a claim", "una", ask("{no}", "{una}", "PersistentVolumeClaim", "{shop}", "data", "x", soon+`,"includeContents":true`), "only a Namespace and a CustomResourceDefinition have contents")
	refused("39: the volume itself", "una", ask("{no}", "{una}", "PersistentVolume", "", "{v}", "x", soon), target)
	refused("40: the own Namespace", "una", ask("{no}", "{una}", "Namespace", "", "{shop}", "x", soon+`,"includeContents":true`), target)
	refused("41: longer than a day, in two units", "una", ask("{no}", "{una}", "ConfigMap", "{shop}", "mine", "x", `"duration":"23h61m"`), "a duration is between 1s and 24h")
	refused("42: a name that is no label", "una", ask(strings.Repeat("x", 64), "{una}", "ConfigMap", "{shop}", "mine", "x", soon), "at most 63 characters")
	refused("43: in the name of somebody whose name begins so", "system", ask("{no}", "{syste}", "ConfigMap", "{shop}", "mine", "x", soon), "spec.requestedBy must be the name of whoever asks")

	// 44: consent to an override of something in another namespace, and to one's own.
	r.ApplyAs("{system}", ask("{theirs}", "{system}", "ConfigMap", "{other}", "theirs", uid("cm theirs -n {other}"), soon))
	r.denied("to consent to an override needs", "{una}", "patch dov {theirs} --type=merge -p", `{"spec":{"approvedBy":"{una}"}}`)
	r.denied("cannot consent", "{una}", "patch dov {claim} --type=merge -p", `{"spec":{"approvedBy":"{una}"}}`)
	// 45: one that is in force is turned to another object.
	r.denied("an override cannot be changed", "{una}", "patch dov {claim} --type=merge -p", `{"spec":{"target":{"name":"mine"}}}`)

	// 46: an override that ends while its object is on the way out. Another object of that name is protected again.
	r.do("una", "create -f -", ask("{held}", "{una}", "ConfigMap", "{shop}", "held", uid("cm held -n {shop}"), soon))
	r.marked(v1alpha1.OverrideMark, "{held}", "cm held -n {shop}")
	r.does("{ed}", "delete cm held -n {shop} --wait=false")
	r.See("dov {held} -o jsonpath={.status.phase}", "Used")
	r.does("", "delete dov {held}")
	r.does("{ed}", "patch cm held -n {shop} --type=merge -p", `{"metadata":{"finalizers":null}}`)
	r.See("cm held -n {shop} -o name", "")
	r.ApplyAs("{ed}", `{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: "{shop}", labels: {`+protected+`, holdfast.dev/deletion-override: "{held}"}}}`)
	r.denied(isProtected, "{ed}", "delete cm held -n {shop}")
	r.as("", "delete dov {claim} {theirs}", "")
}

// A tenant has the garbage collector or a controller delete what is protected, or holds up others by owner references.
func TestMeet_ownersAndClaims(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.cast("ed", "otherad", "wide")
	r.Apply(cm("{other}", "theirs") + cm("{shop}", "owner"))
	uid := func(what string) string { return r.Run("get " + what + " -o jsonpath={.metadata.uid}").Stdout }
	owned := func(name, more, kind, owner, uid string) string {
		return `{apiVersion: v1, kind: ` + more + `, metadata: {name: ` + name + `, namespace: "{shop}", labels: {` + protected + `},
  ownerReferences: [{apiVersion: v1, kind: ` + kind + `, name: "` + owner + `", uid: ` + uid + `, blockOwnerDeletion: true}]}`
	}
	// 47, 48: an owner in another namespace, and a Namespace, are not held up by the reference.
	r.ApplyAs("{ed}", owned("across", "ConfigMap", "ConfigMap", "theirs", uid("cm theirs -n {other}"))+"}")
	r.ApplyAs("{ed}", owned("above", "ConfigMap", "Namespace", "{other}", uid("ns {other}"))+"}")
	r.marked(v1alpha1.HoldsProtectedMark, "true", "ns {shop}")
	r.See(`ns {shop} -o jsonpath={.metadata.annotations.holdfast\.dev/holds-protected}`, "2 protected objects: configmaps/above, configmaps/across")
	r.does("{otherad}", "delete cm theirs -n {other}")
	r.Eventually(func() string { return r.kubectl("", "delete ns {other} --dry-run=server").Stderr }, story.Patience, story.Slower).Should(gomega.BeEmpty())
	r.tried("generic-garbage-collector", "configmaps", "across") // whose owner does not exist in its namespace
	r.See("cm -n {shop} -o jsonpath={.items[?(@.metadata.labels)].metadata.name}", "above across")

	// 49: a claim below an object that is deleted in the foreground.
	const claim = ", spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"
	r.ApplyAs("{ed}", owned("data", "PersistentVolumeClaim", "ConfigMap", "owner", uid("cm owner -n {shop}"))+claim)
	r.marked(v1alpha1.HoldsProtectedMark, "true", "cm owner -n {shop}")
	for _, cascade := range []string{"foreground", "background"} {
		r.denied("1 protected object: persistentvolumeclaims/data", "{ed}", "delete cm owner -n {shop} --wait=false --cascade="+cascade)
	}
	before := r.state("pvc data -n {shop}")
	r.does("{ed}", "delete cm owner -n {shop} --cascade=orphan")
	r.same("pvc data -n {shop}", state{UID: before.UID, Labels: before.Labels})

	// 50, 51: the claims of a StatefulSet that deletes them when it shrinks, or goes.
	r.ApplyAs("{ed}", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: "{shop}"}, spec: {replicas: 2, podManagementPolicy: Parallel, serviceName: db, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete},
  selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: none}]}},
  volumeClaimTemplates: [{metadata: {name: v, labels: {`+protected+`}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`)
	for _, name := range []string{"v-db-0", "v-db-1"} {
		r.See("pvc "+name+" -n {shop} -o name", "persistentvolumeclaim/"+name+"\n")
	}
	r.does("{ed}", "scale sts db -n {shop} --replicas=1")
	r.tried("generic-garbage-collector", "persistentvolumeclaims", "v-db-1")
	r.denied("protected object", "{ed}", "delete sts db -n {shop}")
	r.See("pvc -n {shop} -l holdfast.dev/deletion-protected -o jsonpath={.items[*].metadata.name}{.items[*].metadata.deletionTimestamp}", "data v-db-0 v-db-1")
}

// A tenant fills the annotations of a claim, so that Holdfast cannot write what it says of the volume, and deletes the claim.
func TestMeet_fullAnnotationsAndMarks(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.cast("ed")
	r.Apply(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: "{v}"}, spec: {
  capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Delete, hostPath: {path: "/tmp/holdfast-{v}"}, claimRef: {namespace: "{shop}", name: full}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: full, namespace: "{shop}"}, spec: {storageClassName: "", volumeName: "{v}", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`)
	t.Cleanup(func() {
		r.as("", "label pv {v} holdfast.dev/deletion-protected-", "")
		r.as("", "delete pv {v} --wait=false", "")
	})
	r.See("pvc full -n {shop} -o jsonpath={.status.phase}", "Bound")
	claim := &corev1.PersistentVolumeClaim{}
	r.Eventually(func() error {
		if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: r.Long("{shop}"), Name: "full"}, claim); err != nil {
			return err
		}
		room := apivalidation.TotalAnnotationSizeLimitB - len("fill")
		for key, value := range claim.Annotations {
			room -= len(key) + len(value)
		}
		claim.Annotations["fill"] = strings.Repeat("x", room)
		return r.As(t, r.user("ed")).Update(t.Context(), claim)
	}, story.Patience, story.Often).Should(gomega.Succeed())
	r.does("", "label pv {v}", protectedLabel)
	r.marked(v1alpha1.HoldsProtectedMark, "true", "pvc full -n {shop}")
	r.denied("persistentvolumeclaims/full is not deleted because of what hangs below it", "{ed}", "delete pvc full -n {shop}")
	// Once there is room, the mark says what it is about.
	r.does("{ed}", "annotate pvc full -n {shop} fill-")
	r.See(`pvc full -n {shop} -o jsonpath={.metadata.annotations.holdfast\.dev/holds-protected}`, "1 protected object: persistentvolumes/{v}")
}

const protectedLabel = v1alpha1.DeletionProtectedLabel + "=" + v1alpha1.ProtectAlways

// What a user may write reaches others in messages: it neither steers their terminals nor looks like another line.
func TestMeet_messages(t *testing.T) {
	t.Parallel()
	r := shared(t)
	r.cast("ed", "una")
	r.Apply(selecting("{rdp}", "{shop}", configMaps) + kept(configMaps, "selected", "{shop}", "") + cm("{shop}", "owner"))
	t.Cleanup(func() { r.as("", "delete rdp {rdp}", ""); r.as("", "delete dov {forged}", "") })
	uid := r.Run("get cm owner -n {shop} -o jsonpath={.metadata.uid}").Stdout
	r.ApplyAs("{ed}", `{apiVersion: v1, kind: ConfigMap, metadata: {name: below, namespace: "{shop}", labels: {`+protected+`}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: `+uid+`}]}}`)
	r.marked(v1alpha1.ProtectedByMark, "{rdp}", "cm selected -n {shop}")
	r.marked(v1alpha1.HoldsProtectedMark, "true", "cm owner -n {shop}")
	clean := func(name, text string) {
		if strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && unicode.IsControl(c) }) || strings.Contains(text, "\nfake") {
			t.Errorf("%s: got %q", name, text)
		}
	}
	// 52: the annotation beside a mark, which an editor may write until Holdfast writes it again.
	for i, text := range []string{`\u001b[2Jfake`, `\u001b[1A\rfake`, `a\nfake: line`, `a\u202efake`, `\u001b]0;fake\u0007`} {
		for object, mark := range map[string]string{"selected": v1alpha1.ProtectedByMark, "owner": v1alpha1.HoldsProtectedMark} {
			r.does("{ed}", "patch cm "+object+" -n {shop} --type=merge -p", fmt.Sprintf(`{"metadata":{"annotations":{%q:"%s%d"}}}`, mark, text, i))
			said := r.kubectl("{ed}", "delete cm "+object+" -n {shop}").Stderr
			clean("52: "+object, said)
			r.Expect(said).To(gomega.ContainSubstring("configmaps/" + object))
			clean("53: why delete "+object, r.holdfast("why delete cm "+object+" -n {shop}"))
		}
	}
	clean("54: protected", r.holdfast("protected -n {shop}"))
	// 55: the reason of an override.
	r.do("una", "create -f -", fmt.Sprintf(`{"apiVersion":"holdfast.dev/v1alpha1","kind":"DeletionOverride","metadata":{"name":"{forged}"},"spec":{"requestedBy":"{una}","duration":"5m","reason":"\u001b[2Jx\nfake: line",
  "target":{"apiVersion":"v1","kind":"ConfigMap","namespace":"{shop}","name":"owner","uid":%q}}}`, uid))
	r.See("dov {forged} -o jsonpath={.status.phase}", "Active")
	clean("55: override list", r.holdfast("override list"))
	clean("55: why delete", r.holdfast("why delete cm owner -n {shop}"))
	clean("55: the log", r.Manager.LogTail())
	r.Eventually(func() string {
		return r.get("events.events.k8s.io -n default --field-selector regarding.name={forged} -o jsonpath={.items[*].note}")
	}, story.Patience, story.Slower).Should(gomega.ContainSubstring("asked by"))
	clean("55: the event", r.get("events -A --field-selector involvedObject.name={forged}"))
}
