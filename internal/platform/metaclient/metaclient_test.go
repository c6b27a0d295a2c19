// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package metaclient

import (
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// wire keeps the path of the last request, and answers none.
type wire struct{ path string }

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.path = r.URL.Path
	return &http.Response{
		StatusCode: http.StatusTeapot, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r,
	}, nil
}

// FuzzPaths sends all requests with whatever names: each that leaves has the path of an object of the kind, in the
// namespace. The others are answered with NotFound.
func FuzzPaths(f *testing.F) {
	for _, seed := range [][5]string{
		{"", "v1", "pods", "shop", "web"}, {"apps", "v1", "deployments", "", "web"}, {"", "v1", "pods", "shop", "../services/http:a:80/proxy/b"},
		{"", "v1", "namespaces", "", ".."}, {"", "v1", "namespaces", "", "."}, {"x", "..", "..", "..", ".."}, {"", "v1", "pods", "a/b", "c"},
		{"", "v1", "pods", "a", "b%2fc"}, {"", "v1", "pods", "a", "b?c=d"}, {"", "v1", "pods", "a", "b#c"}, {"a.b", "v1", "x", "a", "\x00\n"},
		{"", "v1", "nodes", "", "a/proxy/logs"}, {"rbac.authorization.k8s.io", "v1", "roles", "a", "system:b c"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	w := &wire{}
	client, err := NewForConfig(&rest.Config{Host: "http://localhost", QPS: -1, Transport: w})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, group, version, resource, namespace, name string) {
		if version == "" || resource == "" || name == "" {
			t.Skip()
		}
		list := "/apis/" + group + "/" + version + "/"
		if group == "" {
			list = "/api/" + version + "/"
		}
		if namespace != "" {
			list += "namespaces/" + namespace + "/"
		}
		list += resource
		in := client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: resource}).Namespace(namespace)
		for verb, call := range map[string]func() error{
			"get":    func() error { _, err := in.Get(t.Context(), name, metav1.GetOptions{}); return err },
			"delete": func() error { return in.Delete(t.Context(), name, metav1.DeleteOptions{}) },
			"patch": func() error {
				_, err := in.Patch(t.Context(), name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
				return err
			},
			"list":              func() error { _, err := in.List(t.Context(), metav1.ListOptions{}); return err },
			"watch":             func() error { _, err := in.Watch(t.Context(), metav1.ListOptions{}); return err },
			"delete collection": func() error { return in.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}) },
		} {
			want := list
			if verb == "get" || verb == "delete" || verb == "patch" {
				want += "/" + name
			}
			w.path = ""
			switch err := call(); {
			case w.path == "" && !apierrors.IsNotFound(err):
				t.Errorf("%s does not leave, and the error is %v", verb, err)
			case w.path != "" && w.path != want:
				t.Errorf("%s goes to %q, want %q", verb, w.path, want)
			}
		}
	})
}
