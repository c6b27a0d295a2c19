// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What DESIGN calls the first promise: the rules hold while every pod of
// Holdfast is down, and nothing else is in anybody's way. It is one story, since
// its parts need a Holdfast that is killed, and one that comes back.
func TestOutage(t *testing.T) {
	t.Parallel()
	e := testkit.New(t, testkit.Options{})
	w := &outage{e: e, marks: e.Namespace(t), overrides: e.Namespace(t), looked: e.Namespace(t), targets: map[string]*corev1.ConfigMap{}}
	w.prepare(t)
	w.kill(t)
	before := w.versions(t)
	e.Manager = e.StartManager(t)
	t.Run("a manager that comes back writes nothing again", func(t *testing.T) { w.writesNothing(t, before) })
	w.override(t, "short", "15s")
	w.kill(t)
	t.Run("overrides stay in force", w.overridesHold)
	t.Run("marks hold", w.marksHold)
	t.Run("updates of marks are refused", w.marksRefused)
	t.Run("labels that select hold", w.labelsThatSelectHold)
	t.Run("labels hold, and nothing else is refused", w.labelsHold)
	t.Run("a namespace that nobody can look into stays", w.nobodyLooks)
	t.Run("the mode changes by plain kubectl", w.modeChanges)
	t.Run("what happened while nobody looked is made good", w.madeGood)
}

// outage has objects that Holdfast has written to before it is killed.
type outage struct {
	e                        *testkit.Env
	marks, overrides, looked string // namespaces
	// targets of overrides, by their names.
	targets map[string]*corev1.ConfigMap
	asker   client.Client
}

func (w *outage) prepare(t *testing.T) {
	t.Helper()
	g := gomega.NewWithT(t)
	// Selected itself, and the owner of something protected: two marks on one.
	selected := configMap(t, w.e, w.marks, "selected")
	w.e.Apply(t, w.marks, `{apiVersion: v1, kind: Secret, metadata: {name: labelled, labels: {holdfast.dev/deletion-protected: Always}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: selected, uid: `+string(selected.UID)+`}]}}`)
	configMap(t, w.e, w.marks, "later")
	selectConfigMaps(t, w.e, w.marks, "mine", "selected, later")
	configMap(t, w.e, w.overrides, "by-label", "app=mysql")
	w.e.Apply(t, "", `{apiVersion: holdfast.dev/v1alpha1, kind: ResourceDeletionProtection, metadata: {name: mysql}, spec: {protectedResources: [{resourceSelector: [{apiVersion: v1, kind: ConfigMap, namespace: `+w.overrides+`, labelSelector: {matchLabels: {app: mysql}}}]}]}}`)
	g.Eventually(protectedBy(t, w.e, "configmap", "by-label", "-n", w.overrides), "180s", "100ms").Should(gomega.Equal("mysql"))
	configMap(t, w.e, w.looked, "kept", strict+"=Always")
	w.asker = asker(t, w.e, w.overrides, "alice")
	for _, name := range []string{"long", "retracted", "used"} {
		w.override(t, name, "10m")
	}
	for _, name := range []string{"selected", "later"} {
		g.Eventually(protectedBy(t, w.e, "configmap", name, "-n", w.marks), "180s", "100ms").Should(gomega.Equal("mine"))
	}
	g.Eventually(annotation(t, w.e, v1alpha1.HoldsProtectedMark, "namespace", w.marks), "180s", "100ms").Should(gomega.HavePrefix("3 protected objects"))
	g.Eventually(annotation(t, w.e, v1alpha1.HoldsProtectedMark, "namespace", w.overrides), "180s", "100ms").Should(gomega.HavePrefix("4 protected objects"))
	g.Eventually(label(t, w.e, v1alpha1.HoldsProtectedMark, "configmap", "selected", "-n", w.marks), "180s", "100ms").Should(gomega.Equal("true"))
	g.Eventually(label(t, w.e, v1alpha1.HoldsProtectedMark, "namespace", w.looked), "180s", "100ms").Should(gomega.Equal("true"))
	g.Eventually(statusOf(t, w.e, "mine", "{.status.matches.total} "+readyOf), "180s", "100ms").Should(gomega.Equal("2 True Protected"))
}

// override asks for one of a protected ConfigMap, and waits until it is in force.
func (w *outage) override(t *testing.T, name, duration string) {
	t.Helper()
	w.targets[name] = configMap(t, w.e, w.overrides, name, strict+"=Always")
	o := overrideOf(t, w.e, name, "alice", w.targets[name])
	o.Spec.Duration = duration
	ask(t, w.e, w.asker, o)
	gomega.NewWithT(t).Eventually(stampOf(t, w.e, w.targets[name]), "180s", "20ms").Should(gomega.Equal(name))
}

func (w *outage) kill(t *testing.T) {
	t.Helper()
	if err := w.e.Manager.Kill(); err != nil {
		t.Fatal(err)
	}
}

// versions change with every write to what carries marks, and to the protection.
func (w *outage) versions(t *testing.T) string {
	t.Helper()
	var all []string
	for _, args := range [][]string{
		{"namespace", w.marks}, {"rdp", "mine"}, {"configmap", "selected", "-n", w.marks}, {"configmap", "long", "-n", w.overrides},
	} {
		all = append(all, read(t, w.e, version, args...)())
	}
	return strings.Join(all, " ")
}

func (w *outage) writesNothing(t *testing.T, before string) {
	g := gomega.NewWithT(t)
	known := func() float64 { return w.e.Metric(t, "holdfast_deletion_known_objects") }
	g.Eventually(known, "180s", "100ms").Should(gomega.BeNumerically(">=", 4))
	g.Eventually(func() float64 { return w.e.Metric(t, "holdfast_deletion_watches_unsynced") }, "180s", "100ms").Should(gomega.BeZero())
	g.Consistently(func() string {
		return fmt.Sprintf("%s, %v writes", w.versions(t), w.e.Metric(t, "holdfast_marks_writes_total"))
	}, "4s", "200ms").Should(gomega.Equal(before + ", 0 writes"))
}

func (w *outage) overridesHold(t *testing.T) {
	for name, cm := range w.targets {
		if err := tryDelete(t.Context(), w.e.Client, cm); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	done(t, w.e, "delete", "dov", "retracted")
	done(t, w.e, "delete", "configmap", "used", "-n", w.overrides)
}

func (w *outage) marksHold(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(refused(t, w.e, "delete", "configmap", "later", "-n", w.marks)).To(gomega.ContainSubstring("ResourceDeletionProtection mine"))
	g.Expect(refused(t, w.e, "delete", "namespace", w.marks)).To(gomega.ContainSubstring("3 protected objects"))
}

// marksRefused is about updates in which Holdfast keeps the marks while it runs.
func (w *outage) marksRefused(t *testing.T) {
	for _, r := range markRequests(t, w.e) {
		for _, key := range v1alpha1.Marks {
			refusedMark(t, r.name+" "+key, r.do(key))
		}
	}
	everything(t, w.e, "mark-editor")
	selected := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.marks, Name: "selected"}}
	for _, value := range []any{"other", "", nil} {
		refusedMark(t, fmt.Sprintf("the value %v", value), w.e.As(t, "mark-editor").Patch(t.Context(), selected.DeepCopy(), mergeLabels(map[string]any{v1alpha1.ProtectedByMark: value})))
	}
}

// labelsThatSelectHold is about the labels by which a protection selects an object, and the annotation with their keys.
func (w *outage) labelsThatSelectHold(t *testing.T) {
	everything(t, w.e, "mark-editor")
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.overrides, Name: "by-label"}}
	patch := func(body string) error {
		return w.e.As(t, "mark-editor").Patch(t.Context(), o.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(body)))
	}
	if err := patch(`{"metadata":{"labels":{"app":"gone"}}}`); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "of which this update changes app") {
		t.Errorf("another label: got %v, want a 403 that names it", err)
	}
	refusedMark(t, "the annotation", patch(`{"metadata":{"annotations":{"`+v1alpha1.LabelsAnnotation(v1alpha1.ProtectedByMark)+`":null}}}`))
	if err := patch(`{"metadata":{"labels":{"tier":"db"},"annotations":{"a":"b"}}}`); err != nil {
		t.Errorf("anything else: %v", err)
	}
}

func (w *outage) labelsHold(t *testing.T) {
	e := w.e
	for _, ns := range []string{e.Namespace(t), "default", "kube-system", "kube-public", "holdfast-system"} {
		kept := configMap(t, e, ns, "kept", strict+"=Always", karmada+"=Always")
		if err := e.Client.Delete(t.Context(), kept); !apierrors.IsForbidden(err) {
			t.Errorf("a labelled object in %s: got %v, want a 403", ns, err)
		}
		loose := configMap(t, e, ns, "loose")
		loose.Data = map[string]string{"a": "b"}
		if err := e.Client.Update(t.Context(), loose); err != nil {
			t.Errorf("an unrelated update in %s: %v", ns, err)
		}
		if err := e.Client.Delete(t.Context(), loose); err != nil {
			t.Errorf("an unrelated delete in %s: %v", ns, err)
		}
	}
	ns := e.Namespace(t)
	everything(t, e, "editor")
	editor := e.As(t, "editor")
	if err := editor.Patch(t.Context(), configMap(t, e, ns, "x", strict+"=Always"), mergeLabels(map[string]any{strict: nil})); !apierrors.IsForbidden(err) {
		t.Errorf("taking the label away: got %v, want a 403", err)
	}
	e.Apply(t, ns, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {holdfast.dev/deletion-protected: Always}}, spec: {containers: [{name: c, image: i}]}}`)
	if err := bind(t, editor, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: ns, Labels: map[string]string{strict: ""}},
		Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, false); !apierrors.IsForbidden(err) {
		t.Errorf("emptying the label by a binding: got %v, want a 403", err)
	}
	// The configuration has a webhook, and that one fails open.
	if out := e.Kubectl(t, "annotate", "-n", "holdfast-system", "configmap/holdfast", "during=outage"); out.Code != 0 {
		t.Errorf("the configuration cannot be written while the manager is down: %s", out.Stderr)
	}
}

// nobodyLooks is with the default, which is to refuse what the webhook cannot be asked about.
func (w *outage) nobodyLooks(t *testing.T) {
	g := gomega.NewWithT(t)
	ns := w.e.Namespace(t)
	g.Expect(refused(t, w.e, "delete", "namespace", w.looked)).To(gomega.ContainSubstring("configmaps/kept"))
	g.Expect(refused(t, w.e, "delete", "namespace", ns)).To(gomega.ContainSubstring(deletion.ConfirmName))
	done(t, w.e, "annotate", "namespace", ns, v1alpha1.DeleteUncheckedAnnotation+"="+ns)
	done(t, w.e, "delete", "namespace", ns, "--wait=false")
	done(t, w.e, "delete", "configmap", configMap(t, w.e, w.looked, "free").Name, "-n", w.looked)

	// On a marked one the annotation is not enough.
	w.e.Grant(t, "", "janitor", testkit.Rule("", []string{"namespaces"}, "*"))
	done(t, w.e, "annotate", "namespace", w.looked, v1alpha1.DeleteUncheckedAnnotation+"="+w.looked, "--as=janitor")
	g.Expect(refused(t, w.e, "delete", "namespace", w.looked, "--as=janitor")).To(gomega.ContainSubstring("configmaps/kept"))
	done(t, w.e, "delete", "namespace", w.looked, "--dry-run=server")
}

func (w *outage) modeChanges(t *testing.T) {
	g := gomega.NewWithT(t)
	ns := w.e.Namespace(t)
	configMap(t, w.e, ns, "x", strict+"=Always")
	for _, step := range []struct {
		actions, wantWarning string
		wantRefused          bool
	}{
		{actions: `["Warn","Audit"]`, wantWarning: "is protected from deletion"},
		{actions: `["Audit"]`},
		{actions: `["Deny","Audit"]`, wantRefused: true},
	} {
		done(t, w.e, "patch", "validatingadmissionpolicybinding", "holdfast-deletion-holdfast", "--type=merge", "-p", `{"spec":{"validationActions":`+step.actions+`}}`)
		g.Eventually(func() bool {
			out := w.e.Kubectl(t, "delete", "-n", ns, "configmap/x", "--dry-run=server")
			return (out.Code != 0) == step.wantRefused && strings.Contains(out.Stderr, step.wantWarning) &&
				(step.wantWarning != "" || step.wantRefused || !strings.Contains(out.Stderr, "protected"))
		}, "180s", "100ms").Should(gomega.BeTrue(), "with %s", step.actions)
	}
}

func (w *outage) madeGood(t *testing.T) {
	g := gomega.NewWithT(t)
	done(t, w.e, "delete", "rdp", "mine")
	configMap(t, w.e, w.marks, "new", strict+"=Always")
	// What ends while nobody is there to end it.
	short := &v1alpha1.DeletionOverride{}
	if err := w.e.Client.Get(t.Context(), client.ObjectKey{Name: "short"}, short); err != nil {
		t.Fatal(err)
	}
	g.Eventually(time.Now, "180s", "100ms").Should(gomega.BeTemporally(">", short.Status.ExpiresAt.Time))
	long := read(t, w.e, version, "configmap", "long", "-n", w.overrides)
	before := long()

	w.e.Manager = w.e.StartManager(t)
	g.Eventually(phase(t, w.e, "short"), "180s", "100ms").Should(gomega.Equal(v1alpha1.OverrideExpired))
	for _, name := range []string{"short", "retracted"} {
		g.Eventually(stampOf(t, w.e, w.targets[name]), "180s", "50ms").Should(gomega.BeEmpty(), name)
		if err := tryDelete(t.Context(), w.e.Client, w.targets[name]); !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want a 403", name, err)
		}
	}
	g.Eventually(phase(t, w.e, "used"), "180s", "100ms").Should(gomega.Equal(v1alpha1.OverrideUsed))
	g.Eventually(protectedBy(t, w.e, "configmap", "selected", "-n", w.marks), "180s", "100ms").Should(gomega.BeEmpty())
	g.Eventually(annotation(t, w.e, v1alpha1.HoldsProtectedMark, "namespace", w.marks), "180s", "100ms").Should(gomega.Equal("2 protected objects: configmaps/new, secrets/…"))
	done(t, w.e, "delete", "configmap", "later", "-n", w.marks)

	g.Consistently(long, "2s", "100ms").Should(gomega.Equal(before), "the restart wrote to the target of an override that stays in force")
	g.Expect(phase(t, w.e, "long")()).To(gomega.Equal(v1alpha1.OverrideActive))
	// The new leader ends it as the old one would have.
	done(t, w.e, "delete", "dov", "long")
	g.Eventually(stampOf(t, w.e, w.targets["long"]), "180s", "50ms").Should(gomega.BeEmpty())
}
