// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/deletion/policy"
)

func TestOverrideName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, kind, object, want string }{
		{"short", "Deployment", "web", "deployment-web-abcde"},
		{"dots and colons", "ClusterRole", "system:node.x", "clusterrole-system-node-x-abcde"},
		{"capitals, and an end that is no letter", "ConfigMap", "Data_", "configmap-data-abcde"},
		{"too long", "Deployment", strings.Repeat("long", 30), "deployment-" + strings.Repeat("long", 11) + "lo-abcde"},
		{"too long, cut at a hyphen", "Deployment", strings.Repeat("x", 45) + "-yz", "deployment-" + strings.Repeat("x", 45) + "-abcde"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := overrideName(tt.kind, tt.object, "abcde")
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if problems := append(validation.IsDNS1123Subdomain(got), validation.IsValidLabelValue(got)...); len(problems) > 0 {
				t.Errorf("%s: %v", got, problems)
			}
		})
	}
}

func TestNewOverride_namesTheObjectThatIsThereNow(t *testing.T) {
	t.Parallel()
	o := labelled(strictLabel, "Always")
	o.UID = "u-1"
	got := newOverride(newTarget(deploymentKind, o), &askOptions{reason: "why", duration: "15m"}, "alice", "abcde")
	want := v1alpha1.DeletionOverrideSpec{
		Target:      v1alpha1.OverrideTarget{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "u-1"},
		Reason:      "why",
		Duration:    "15m",
		RequestedBy: "alice",
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNeedless(t *testing.T) {
	t.Parallel()
	strict, karmada := keyOf(strictLabel).PolicyName(policy.RuleDelete), keyOf(karmadaLabel).PolicyName(policy.RuleDelete)
	for _, tt := range []struct {
		name      string
		problem   string
		installed map[string]configv1alpha1.Mode
		want      string
	}{
		{name: "something refuses", installed: map[string]configv1alpha1.Mode{strict: configv1alpha1.ModeEnforce, karmada: configv1alpha1.ModeAudit}},
		{name: "that is not known", problem: "forbidden"},
		{name: "it warns", installed: map[string]configv1alpha1.Mode{strict: configv1alpha1.ModeWarn}, want: "note: the deletion mode of Holdfast is Warn, which refuses nothing: an override changes nothing now"},
		{name: "it writes into the audit log", installed: map[string]configv1alpha1.Mode{strict: configv1alpha1.ModeAudit}, want: "note: the deletion mode of Holdfast is Audit, which refuses nothing: an override changes nothing now"},
		{name: "it is off", want: "note: no policy of Holdfast is installed that refuses a delete: an override changes nothing now"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := enforcement{Problem: tt.problem, Installed: map[string]installedPolicy{}}
			for name, mode := range tt.installed {
				e.Installed[name] = installedPolicy{Mode: mode}
			}
			if got := needless(e); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOverrideAskCommand_flags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, line, wantErr string }{
		{"an object and a reason", "deploy web --reason why", ""},
		{"with a slash", "deploy/web --reason why --for 1h30m --include-contents --wait", ""},
		{"a dry run", "deploy/web --reason why --dry-run=server -o yaml", ""},
		{"no reason", "deploy web", "--reason WHY"},
		{"a reason of nothing", "deploy web --reason=", "--reason WHY"},
		{"no object", "--reason why", "say which objects"},
		{"two objects", "deploy web api --reason why", "an override is for one object"},
		{"two objects with slashes", "deploy/web deploy/api --reason why", "an override is for one object"},
		{"parts of a second", "deploy web --reason why --for 1.5s", "--for is a duration"},
		{"no time at all", "deploy web --reason why --for 0s", "--for is a duration"},
		{"too long", "deploy web --reason why --for 25h", "--for is a duration"},
		{"waiting for nothing", "deploy web --reason why --wait --dry-run=server", "--wait and --dry-run exclude each other"},
		{"a format that is not there", "deploy web --reason why -o nonsense", "unable to match a printer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			streams, _, _ := testStreams()
			cmd := newOverrideAskCommand(newClients(streams), func(*askOptions) error { return nil })
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			var args []string
			for field := range strings.FieldsSeq(tt.line) {
				args = append(args, field)
			}
			cmd.SetArgs(args)
			err := cmd.ExecuteContext(t.Context())
			switch {
			case tt.wantErr == "" && err != nil:
				t.Error(err)
			case tt.wantErr != "" && (!errors.As(err, new(usageError)) || !strings.Contains(err.Error(), tt.wantErr)):
				t.Errorf("got %v, want a usage error with %q", err, tt.wantErr)
			}
		})
	}
}

func testOverride(phase v1alpha1.OverridePhase, change ...func(*v1alpha1.DeletionOverride)) *v1alpha1.DeletionOverride {
	o := &v1alpha1.DeletionOverride{
		ObjectMeta: metav1.ObjectMeta{Name: "deployment-web-abcde"},
		Spec: v1alpha1.DeletionOverrideSpec{
			Target:      v1alpha1.OverrideTarget{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "u-1"},
			Reason:      "INC-4711",
			Duration:    "15m",
			RequestedBy: "alice",
		},
		Status: v1alpha1.DeletionOverrideStatus{Phase: phase},
	}
	if phase == v1alpha1.OverrideActive || phase == v1alpha1.OverrideUsed {
		o.Status.ExpiresAt = &metav1.Time{Time: created.Add(15 * time.Minute)}
	}
	for _, f := range change {
		f(o)
	}
	return o
}

// ofNamespace makes the target a namespace, with what is in it.
func ofNamespace(o *v1alpha1.DeletionOverride) {
	o.Spec.Target.APIVersion, o.Spec.Target.Kind, o.Spec.Target.Namespace, o.Spec.Target.Name = "v1", "Namespace", "", "shop"
	o.Spec.IncludeContents = true
}

func TestOverrideNext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   *v1alpha1.DeletionOverride
		want string
	}{
		{
			"in force", testOverride(v1alpha1.OverrideActive),
			"It is active: deployment/web in namespace shop may be deleted until 2026-11-21 10:15:00 UTC, by whoever may delete it. To end it before: kubectl holdfast override revoke deployment-web-abcde",
		},
		{
			"in force, with contents", testOverride(v1alpha1.OverrideActive, ofNamespace),
			"It is active: namespace/shop, with all that hangs below it, may be deleted until 2026-11-21 10:15:00 UTC, by whoever may delete it. To end it before: kubectl holdfast override revoke deployment-web-abcde",
		},
		{
			"to be approved", testOverride(v1alpha1.OverrideWaiting),
			`It waits for a second person, who holds the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev, in namespace shop. They run: kubectl holdfast override approve deployment-web-abcde`,
		},
		{
			"to be approved cluster-wide", testOverride(v1alpha1.OverrideWaiting, ofNamespace),
			`It waits for a second person, who holds the RBAC verb "unprotect" on resourcedeletionprotections.holdfast.dev, cluster-wide. They run: kubectl holdfast override approve deployment-web-abcde`,
		},
		{
			"no answer", testOverride(""),
			"Holdfast has not said yet where it stands; is it running? To see it later: kubectl holdfast override list deployment-web-abcde",
		},
		{
			"for nothing", testOverride(v1alpha1.OverrideInvalid, func(o *v1alpha1.DeletionOverride) { o.Status.Message = "there is no Deployment web" }),
			"It is Invalid: there is no Deployment web",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, overrideNext(tt.in)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestConsent_saysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	const want = "namespace/shop, with all that hangs below it, may be deleted for 15m. alice asked for it: INC-4711"
	if diff := cmp.Diff(want, consent(testOverride(v1alpha1.OverrideWaiting, ofNamespace))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPrintOverrides_whatCanBeActedOnComesFirst(t *testing.T) {
	t.Parallel()
	name := func(name string) func(*v1alpha1.DeletionOverride) {
		return func(o *v1alpha1.DeletionOverride) { o.Name = name }
	}
	approved := func(o *v1alpha1.DeletionOverride) { o.Spec.ApprovedBy = "bob" }
	streams, out, _ := testStreams()
	newClients(streams).printOverrides([]v1alpha1.DeletionOverride{
		*testOverride(v1alpha1.OverrideUsed, name("a")),
		*testOverride(v1alpha1.OverrideActive, name("b"), approved),
		*testOverride(v1alpha1.OverrideWaiting, name("c"), ofNamespace),
	}, created)
	const want = `NAME   TARGET                           PHASE     REQUESTED-BY   APPROVED-BY   EXPIRES                   REASON
c      namespace/shop (with contents)   Waiting   alice          <none>        <none>                    INC-4711
b      shop/deployment/web              Active    alice          bob           in 15m                    INC-4711
a      shop/deployment/web              Used      alice          <none>        2026-11-21 10:15:00 UTC   INC-4711
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
