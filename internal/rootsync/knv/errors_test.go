// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package knv

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var configMap = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func TestMessage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  *Error
		want string
	}{
		{
			"without an object", New(Source, "no answer from %s", "git"),
			"KNV2004: no answer from git\n\nFor more information, see https://g.co/cloud/acm-errors#knv2004",
		},
		{
			"with an object of the core group",
			New(Applier, "it failed").About(Resource{Path: "a/cm.yaml", GVK: configMap, Namespace: "a", Name: "cm"}),
			"KNV2009: it failed\n\nsource: a/cm.yaml\nnamespace: a\nmetadata.name: cm\ngroup:\nversion: v1\nkind: ConfigMap\n\n" +
				"For more information, see https://g.co/cloud/acm-errors#knv2009",
		},
		{
			"with a file alone", New(Parse, "no YAML").About(Resource{Path: "x.yaml"}),
			"KNV1006: no YAML\n\nsource: x.yaml\n\nFor more information, see https://g.co/cloud/acm-errors#knv1006",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.err.Message()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSorted_isTheSameForEveryOrder(t *testing.T) {
	t.Parallel()
	a, b := Resource{GVK: configMap, Name: "a"}, Resource{GVK: configMap, Name: "b"}
	one := func() *Error { return New(Applier, "x").About(a, b) }
	other := func() *Error { return New(Applier, "x").About(b, a, b) }
	want := []*Error{New(Parse, "z"), one(), New(Applier, "y")}
	for _, list := range [][]*Error{
		{one(), New(Parse, "z"), other(), New(Applier, "y")},
		{New(Applier, "y"), other(), one(), New(Parse, "z"), New(Parse, "z")},
	} {
		if diff := cmp.Diff(want, Sorted(list), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestBecause(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	if err := error(New(Source, "x").Because(cause)); !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}
