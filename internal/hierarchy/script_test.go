// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// row is a story of what people do and what comes of it, on the shared cluster:
// one line for each thing.
//
//	tree a b<a s^a        namespaces: a, b with the parent a, and s by an anchor in a
//	parent b=c            b gets the parent c; "b=" gets none
//	anchor a/s            an anchor for s in a
//	cascade a             a allows cascading deletion
//	put cm a/x K=V …      an object: fields of its data, +label=V, @annotation=V, !finalizer
//	set cm a/x JSON       a merge patch
//	refused set …         is refused, as a conflict
//	delete cm a/x         asks for it to be deleted
//	scale deploy a/x 3    by its /scale
//	kind thing            a CRD of the test's own, and rights for Holdfast
//	mode things Remove    the mode of it; "-" takes it out of the HNCConfiguration
//	exclude a, include a  the HNCConfiguration excludes a, or does not any more
//	fence                 waits until all that happened before was looked at
//	see WHAT: TEXT        waits until it is so; see_test.go has what can be seen
//	past …                does it as one whom admission lets do everything
//
// "a" is the namespace PREFIX-a, and {a} its whole name in the middle of a text.
type row struct{ name, script string }

// run runs the rows at the same time.
func run(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			shared(t).run(tt.script)
		})
	}
}

// runLong is run for rows that are left to make test-all: there are others that most changes which break one of
// these would break as well.
func runLong(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			testkit.Long(t)
			t.Parallel()
			shared(t).run(tt.script)
		})
	}
}

// run runs a script.
func (r *rig) run(script string) {
	r.t.Helper()
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if what, want, found := strings.Cut(strings.TrimPrefix(line, "see "), ":"); strings.HasPrefix(line, "see ") && found {
			r.see(what, strings.TrimSpace(want))
			continue
		}
		r.do(line)
	}
}

// see waits until what is seen is what is wanted.
func (r *rig) see(what, want string) {
	r.t.Helper()
	words := strings.Fields(what)
	see, ok := sights[words[0]]
	if !ok {
		r.t.Fatalf("nothing to see by the name of %q", what)
	}
	r.Eventually(func() string { return r.short(see(r, words[1:])) }, patience, often).Should(gomega.Equal(want), "see %s", what)
}

func (r *rig) do(line string) {
	r.t.Helper()
	c := r.Client
	if rest, past := strings.CutPrefix(line, "past "); past {
		line, c = rest, r.past
	}
	words := strings.Fields(line)
	switch words[0] {
	case "tree":
		for _, w := range words[1:] {
			r.grow(c, w)
		}
	case "parent":
		child, parent, _ := strings.Cut(words[1], "=")
		r.patch(c, "hc", child, fmt.Sprintf(`{"spec":{"parent":%q}}`, r.name(parent)))
	case "cascade":
		r.patch(c, "hc", words[1], `{"spec":{"allowCascadingDeletion":true}}`)
	case "anchor":
		r.patch(c, "anchor", words[1], `{}`)
	case "put":
		r.put(c, words[1], words[2], words[3:])
	case "set":
		r.patch(c, words[1], words[2], strings.Join(words[3:], " "))
	case "refused":
		err := r.try(c, words[2], words[3], strings.Join(words[4:], " "))
		r.Expect(err).To(gomega.Satisfy(apierrors.IsConflict), line)
	case "delete":
		r.deleted(c, words[1], words[2])
	case "scale":
		r.scale(c, words[1], words[2], words[3])
	case "fence":
		r.fence()
	default:
		r.doConfiguration(line, words)
	}
}

// doConfiguration is for lines about what is copied.
func (r *rig) doConfiguration(line string, words []string) {
	r.t.Helper()
	last := ""
	if len(words) > 2 {
		last = words[2]
	}
	switch words[0] {
	case "kind":
		scope := "Namespaced"
		if last == "Cluster" {
			scope = last
		}
		r.define(words[1], scope, last == "plain")
		if last != "unpermitted" {
			r.permit(words[1])
		}
	case "permit":
		r.permit(words[1])
	case "mode":
		r.mode(r.group(), words[1], last)
	case "list":
		group, resource, _ := strings.Cut(words[1], "/")
		r.mode(group, resource, last)
	case "exclude", "include":
		r.exclude(words[1], words[0] == "exclude")
	default:
		r.t.Fatalf("what to do: %q", line)
	}
}

// grow makes a namespace with its place in a tree.
func (r *rig) grow(c client.Client, word string) {
	r.t.Helper()
	if name, parent, anchored := strings.Cut(word, "^"); anchored {
		r.patch(c, "anchor", parent+"/"+name, `{}`)
		r.see("anchor "+parent+"/"+name, "Ok")
		r.see("field hc "+name+" spec.parent", r.short(r.name(parent)))
		return
	}
	name, parent, child := strings.Cut(word, "<")
	r.patch(c, "ns", name, `{}`)
	if child {
		r.patch(c, "hc", name, fmt.Sprintf(`{"spec":{"parent":%q}}`, r.name(parent)))
	}
}

// put makes an object, or writes all of it anew.
func (r *rig) put(c client.Client, kind, at string, words []string) {
	r.t.Helper()
	labels, annotations, data, finalizers := map[string]string{}, map[string]string{}, map[string]string{}, []string{}
	for _, w := range words {
		key, value, _ := strings.Cut(r.long(w), "=")
		switch key[0] {
		case '+':
			labels[key[1:]] = value
		case '@':
			annotations[key[1:]] = value
		case '!':
			finalizers = append(finalizers, key[1:])
		default:
			data[key] = value
		}
	}
	o := bodies(kind, data)
	o["metadata"] = map[string]any{"labels": labels, "annotations": annotations, "finalizers": finalizers}
	body, err := json.Marshal(o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.patch(c, kind, at, string(body))
}

// bodies are objects of a kind, without their metadata.
func bodies(kind string, data map[string]string) map[string]any {
	switch kind {
	case "cm":
		return map[string]any{"data": data}
	case "secret":
		o := map[string]any{}
		if data["type"] != "" {
			o["type"] = data["type"]
		}
		delete(data, "type")
		o["stringData"] = data
		return o
	case "role":
		return map[string]any{"rules": []any{map[string]any{
			"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{or(data["verb"], "get")},
		}}}
	case "rb":
		return map[string]any{
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": or(data["kind"], "ClusterRole"), "name": or(data["role"], "view")},
			"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": or(data["user"], "somebody")}},
		}
	case "deploy":
		app := map[string]any{"app": "x"}
		return map[string]any{"spec": map[string]any{
			"replicas": 0, "selector": map[string]any{"matchLabels": app},
			"template": map[string]any{"metadata": map[string]any{"labels": app}, "spec": map[string]any{
				"containers": []any{map[string]any{"name": "x", "image": or(data["image"], "x")}},
			}},
		}}
	case "quota":
		return map[string]any{"spec": map[string]any{"hard": map[string]any{"pods": "10"}}}
	case "limits":
		return map[string]any{"spec": map[string]any{"limits": []any{map[string]any{"type": "Pod", "max": map[string]any{"cpu": "1"}}}}}
	default:
		return map[string]any{"spec": data}
	}
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// fence returns once what happened before has been looked at: what is new in each
// watch, one object after it, has come out at the other end.
func (r *rig) fence() {
	r.t.Helper()
	if r.fences == 0 {
		r.grow(r.Client, "fence")
	}
	r.fences++
	n := fmt.Sprintf("fence-%d", r.fences)
	for _, kind := range []string{"cm", "role", "rb", "deploy"} {
		r.put(r.Client, kind, "fence/"+n, nil)
	}
	r.put(r.Client, "secret", "fence/"+n, []string{"@" + hncv1alpha2.AnnotationAll + "=true"})
	r.grow(r.Client, n+"^fence")
	for _, kind := range []string{"cm", "role", "rb", "deploy", "secret"} {
		r.see("there "+kind+" "+n+"/"+n, "yes")
	}
}

func (r *rig) scale(c client.Client, kind, at, replicas string) {
	r.t.Helper()
	n, err := strconv.Atoi(replicas)
	if err != nil {
		r.t.Fatal(err)
	}
	scale := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(n)}}}
	scale.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	if err := c.SubResource("scale").Update(r.t.Context(), r.object(kind, at), client.WithSubResourceBody(scale)); err != nil {
		r.t.Fatalf("scale %s %s: %v", kind, at, err)
	}
}
