// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// objects writes objects of any kind from bodies that are encoded already. Of what it
// has written the API server tells only the metadata: the watch tells the rest, and
// reading everything twice is most of what a copy would cost.
type objects struct {
	client rest.Interface
}

// metadataOnly asks for an answer without content.
const metadataOnly = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// newObjects makes an objects for a client that has its defaults from rest.Config.
func newObjects(c *rest.Config) (*objects, error) {
	c = rest.CopyConfig(c)
	c.GroupVersion = &schema.GroupVersion{}
	c.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion() // for errors
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make client for copies: %w", err)
	}
	return &objects{client}, nil
}

func path(r schema.GroupVersionResource, namespace string, more ...string) []string {
	out := []string{"/apis", r.Group, r.Version}
	if r.Group == "" {
		out = []string{"/api", r.Version}
	}
	return append(append(out, "namespaces", namespace, r.Resource), more...)
}

// create makes an object from a body of a media type.
func (o *objects) create(ctx context.Context, r schema.GroupVersionResource, namespace, mediaType string, body []byte) (*metav1.PartialObjectMetadata, error) {
	return send(ctx, o.client.Post().AbsPath(path(r, namespace)...), mediaType, body)
}

// try has the API server say whether it would make an object from JSON.
func (o *objects) try(ctx context.Context, r schema.GroupVersionResource, namespace string, body []byte) (*metav1.PartialObjectMetadata, error) {
	return send(ctx, o.client.Post().AbsPath(path(r, namespace)...).Param("dryRun", metav1.DryRunAll), runtime.ContentTypeJSON, body)
}

// update writes JSON over an object.
func (o *objects) update(ctx context.Context, r schema.GroupVersionResource, namespace, name string, body []byte) (*metav1.PartialObjectMetadata, error) {
	return send(ctx, o.client.Put().AbsPath(path(r, namespace, name)...), runtime.ContentTypeJSON, body)
}

// delete deletes an object.
func (o *objects) delete(ctx context.Context, k inventory.Kind, namespace, name string, options *metav1.DeleteOptions) error {
	mediaType, accept := runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if takesProtobuf(k) {
		mediaType, accept = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	}
	info, _ := runtime.SerializerInfoForMediaType(clientgoscheme.Codecs.SupportedMediaTypes(), mediaType)
	body, err := runtime.Encode(clientgoscheme.Codecs.EncoderForVersion(info.Serializer, schema.GroupVersion{Version: "v1"}), options)
	if err != nil {
		return fmt.Errorf("encode the options: %w", err)
	}
	return o.client.Delete().AbsPath(path(k.Resource, namespace, name)...).
		SetHeader("Content-Type", mediaType).SetHeader("Accept", accept).Body(body).Do(ctx).Error()
}

func send(ctx context.Context, request *rest.Request, mediaType string, body []byte) (*metav1.PartialObjectMetadata, error) {
	request = request.SetHeader("Content-Type", mediaType).SetHeader("Accept", metadataOnly).Param("fieldManager", fieldManager)
	result := request.Body(body).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	out := &metav1.PartialObjectMetadata{}
	if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(raw, nil, out); err != nil {
		return nil, fmt.Errorf("read the answer of the API server: %w", err)
	}
	return out, nil
}
