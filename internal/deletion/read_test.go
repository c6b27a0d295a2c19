// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package deletion_test

import (
	"cmp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// resources are the names of kinds that a mapper needs in full.
var resources = map[string]string{
	"apiservice": "apiservices.apiregistration.k8s.io", "crd": "customresourcedefinitions.apiextensions.k8s.io",
	"deployment": "deployments.apps", "statefulset": "statefulsets.apps", "job": "jobs.batch",
	"rdp": "resourcedeletionprotections.holdfast.dev", "dov": "deletionoverrides.holdfast.dev", "pvc": "persistentvolumeclaims",
}

// read is "kubectl get -o jsonpath=PATH" of one object, without kubectl: what waits for something asks often.
// What is not there reads as nothing.
func read(t testing.TB, e *testkit.Env, path string, args ...string) func() string {
	t.Helper()
	kind, name := args[0], args[1]
	key := client.ObjectKey{Name: name}
	if len(args) > 2 {
		key.Namespace = args[3] // behind -n
	}
	kind = strings.ToLower(kind)
	resource := schema.ParseGroupResource(cmp.Or(resources[kind], kind))
	return func() string {
		gvk, err := e.Client.RESTMapper().KindFor(resource.WithVersion(""))
		o := &unstructured.Unstructured{}
		if err == nil {
			o.SetGroupVersionKind(gvk)
			err = e.Client.Get(t.Context(), key, o)
		}
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			return ""
		}
		var out strings.Builder
		wanted := jsonpath.New(path).AllowMissingKeys(true) // each time, because it has a state
		if err == nil {
			err = wanted.Parse(path)
		}
		if err == nil {
			err = wanted.Execute(&out, o.Object)
		}
		if err != nil {
			return err.Error() // which is nothing that anybody waits for
		}
		return out.String()
	}
}

// label reads a label of an object.
func label(t testing.TB, e *testkit.Env, key string, args ...string) func() string {
	t.Helper()
	return read(t, e, "{.metadata.labels."+strings.ReplaceAll(key, ".", `\.`)+"}", args...)
}

func annotation(t testing.TB, e *testkit.Env, key string, args ...string) func() string {
	t.Helper()
	return read(t, e, "{.metadata.annotations."+strings.ReplaceAll(key, ".", `\.`)+"}", args...)
}

// protectedBy is the mark of a protection.
func protectedBy(t testing.TB, e *testkit.Env, args ...string) func() string {
	t.Helper()
	return label(t, e, v1alpha1.ProtectedByMark, args...)
}

// statusOf reads a part of a protection's status.
func statusOf(t testing.TB, e *testkit.Env, name, path string) func() string {
	t.Helper()
	return read(t, e, path, "rdp", name)
}

const version = "{.metadata.resourceVersion}"
