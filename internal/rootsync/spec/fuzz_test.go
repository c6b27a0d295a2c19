// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
)

// FuzzRead holds Read to what everybody behind it relies on.
func FuzzRead(f *testing.F) {
	for _, spec := range []string{
		plain,
		"{sourceFormat: unstructured, sourceType: oci, oci: {image: h/i, auth: token, secretRef: {name: s}, dir: /a//b/., period: 2s}}",
		"{sourceFormat: unstructured, git: {repo: 'git@h:r', auth: ssh, secretRef: {name: s}, revision: v1}, override: {gitSyncDepth: 0, reconcileTimeout: 1h}}",
		"{override: {roleRefs: [{kind: Role, name: a, namespace: b}, {kind: ClusterRole, name: c}], resources: [{cpuLimit: 1, cpuRequest: 2m}], namespaceStrategy: explicit}}",
		"{sourceType: helm, helm: {repo: r, chart: c, auth: none, values: {a: [1, 2]}, valuesFileRefs: [{name: a}]}, monitoring: {}}",
	} {
		f.Add(spec, "root-sync", "", "", "", "")
		f.Add(spec, "a", "explicit", "Foreground", "true", "Exact")
	}
	f.Fuzz(func(t *testing.T, spec, name, strategy, deletion, suspend, stamp string) {
		rs := &configsyncv1beta1.RootSync{}
		if yaml.Unmarshal([]byte(spec), &rs.Spec) != nil {
			return
		}
		rs.Name, rs.Namespace = name, "config-management-system"
		rs.Annotations = map[string]string{}
		for key, value := range map[string]string{
			configsyncv1beta1.AnnotationNamespaceStrategy: strategy, configsyncv1beta1.AnnotationDeletionPropagation: deletion,
			configsyncv1beta1.AnnotationSuspend: suspend, configsyncv1beta1.AnnotationCommitStamp: stamp,
		} {
			if value != "" {
				rs.Annotations[key] = value
			}
		}
		before, err := json.Marshal(rs)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		s, wrong := Read(rs)
		Ignored(rs)
		if after, err := json.Marshal(rs); err != nil || !bytes.Equal(after, before) {
			t.Fatalf("the RootSync has changed from %s to %s, %v", before, after, err)
		}
		checkSettings(t, s)
		if wrong != nil {
			if wrong.Code != knv.InvalidSync || wrong.Text == "" {
				t.Errorf("it is refused with %v", wrong)
			}
			return
		}
		checkReadable(t, rs, s)
	})
}

// checkSettings is about those of any RootSync.
func checkSettings(t *testing.T, s Settings) {
	t.Helper()
	if s.ReconcileTimeout <= 0 || s.APIServerTimeout <= 0 || s.Source.Depth < 0 {
		t.Errorf("a bound is none: %+v", s)
	}
	if d := s.Source.Dir; strings.HasPrefix(d, "/") || slices.Contains(strings.Split(d, "/"), "..") {
		t.Errorf("the folder %q leads out of the source", d)
	}
}

// checkReadable is about those of a RootSync that is right.
func checkReadable(t *testing.T, rs *configsyncv1beta1.RootSync, s Settings) {
	t.Helper()
	if s.Source.Address == "" || s.Source.Dir == "" || s.Source.Period < minPeriod {
		t.Errorf("the source is not complete: %+v", s.Source)
	}
	if s.Source.Type != configsyncv1beta1.SourceGit && s.Source.Type != configsyncv1beta1.SourceOCI {
		t.Errorf("a source of the type %q is not refused", s.Source.Type)
	}
	if rs.Spec.SourceFormat != configsyncv1beta1.FormatUnstructured {
		t.Errorf("the format %q is not refused", rs.Spec.SourceFormat)
	}
	if (s.Source.Secret == "") != (s.Source.Auth == configsyncv1beta1.AuthNone) {
		t.Errorf("the Secret %q for %q", s.Source.Secret, s.Source.Auth)
	}
	if _, err := s.Source.Credentials(nil); (err == nil) != (len(s.Source.Secrets()) == 0) {
		t.Errorf("without Secrets: %v", err)
	}
	again, wrong := Read(rs)
	if diff := cmp.Diff(s, again); diff != "" || wrong != nil {
		t.Errorf("read again: %v\n%s", wrong, diff)
	}
}
