// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"bytes"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// protobufs encodes what an object of a kind that this client knows says.
var protobufs = protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme)

// takesProtobuf says whether the API server takes in requests about a kind in protobuf, of which
// it has less work. There are custom resources in JSON only, also of a kind that is Kubernetes'
// own elsewhere; and nobody knows what an extension API server takes in.
func takesProtobuf(k inventory.Kind) bool { return !k.CRD && !k.Aggregated }

// inProtobuf is an object as protobuf; nil if its kind is none of Kubernetes' own, or if it has a
// field that this client does not know, which would be lost.
func inProtobuf(u *unstructured.Unstructured) []byte {
	o, err := clientgoscheme.Scheme.New(u.GroupVersionKind())
	if err != nil {
		return nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, o, true); err != nil {
		return nil
	}
	var out bytes.Buffer
	if err := protobufs.Encode(o, &out); err != nil {
		return nil
	}
	return out.Bytes()
}
