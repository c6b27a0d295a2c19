// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

func TestUnbounded(t *testing.T) {
	t.Parallel()
	// namespace is named by "NAME ENFORCE PARENT RECORD"; "-" is nothing.
	namespace := func(text string) corev1.Namespace {
		words := strings.Fields(text)
		ns := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: words[0], Labels: map[string]string{}, Annotations: map[string]string{}}}
		if words[1] != "-" {
			ns.Labels["pod-security.kubernetes.io/enforce"] = words[1]
		}
		if words[2] != "-" {
			ns.Annotations["hnc.x-k8s.io/subnamespace-of"] = words[2]
		}
		if words[3] != "-" {
			ns.Annotations["holdfast.dev/inherited-pod-security"] = words[3]
		}
		return ns
	}
	for _, tt := range []struct {
		name string
		mode configv1alpha1.Mode
		have []string
		want string
	}{
		{name: "none has a parent with labels", have: []string{"a - - -", "s - a -"}},
		{name: "it has those of its parent", have: []string{"a restricted - -", "s restricted a -"}},
		{name: "it follows its parent", have: []string{"a restricted - -", "s - a enforce=restricted"}},
		{name: "an administrator has set another value on one that follows", have: []string{"a restricted - -", "s privileged a enforce=restricted"}},
		{name: "trees are off", mode: configv1alpha1.ModeOff, have: []string{"a restricted - -", "s - a -"}},
		{
			name: "it has none, or others", have: []string{"a restricted - -", "s - a -", "t baseline a -", "u restricted a -"},
			want: "Warning: 2 subnamespaces have other PodSecurity labels than their parents, and do not follow them: s, t",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var list []corev1.Namespace
			f := &facts{namespaces: map[string]map[string]string{}}
			for _, text := range tt.have {
				ns := namespace(text)
				list = append(list, ns)
				f.namespaces[ns.Name] = ns.Labels
			}
			f.unfollowing = subnamespaces(list)
			if tt.mode == "" {
				tt.mode = configv1alpha1.ModeEnforce
			}
			if diff := cmp.Diff(tt.want, brief(unbounded(f, tt.mode))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
