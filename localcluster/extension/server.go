// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package extension

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/kubernetes"
)

// Options are what a server is started with; all of them are required but Admission.
type Options struct {
	// Group that is served.
	Group string
	// Admission runs the plugins that the generic API server has by default, with the policies and the
	// webhooks of the cluster among them. Without it nothing of the cluster's admission is asked.
	Admission bool
	// Kubeconfig of the cluster whose API server passes requests on and says who may do what.
	Kubeconfig string
	// Etcd has the objects, under Prefix.
	Etcd   storagebackend.TransportConfig
	Prefix string
	// Listener accepts the requests, and Cert and Key, in PEM, are shown to who makes them.
	Listener  net.Listener
	Cert, Key []byte
	// Ready is called when requests are answered.
	Ready func()
}

// Run serves until ctx ends.
func Run(ctx context.Context, o Options) error {
	scheme, names, err := newScheme(o.Group)
	if err != nil {
		return fmt.Errorf("make the scheme: %w", err)
	}
	codecs := serializer.NewCodecFactory(scheme)
	config, err := newConfig(o, codecs, names)
	if err != nil {
		return fmt.Errorf("configure the server of %s: %w", o.Group, err)
	}
	s, err := config.Complete().New("holdfast-local-extension", server.NewEmptyDelegate())
	if err != nil {
		return fmt.Errorf("make the server of %s: %w", o.Group, err)
	}
	storage, err := newStorage(o.Group, scheme, config.RESTOptionsGetter)
	if err != nil {
		return err
	}
	group := server.NewDefaultAPIGroupInfo(o.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
	group.NegotiatedSerializer = textOnly{group.NegotiatedSerializer}
	group.VersionedResourcesStorageMap[version] = map[string]rest.Storage{resource: storage}
	if err := s.InstallAPIGroup(&group); err != nil {
		return fmt.Errorf("install %s: %w", o.Group, err)
	}
	if err := s.AddPostStartHook("tell-ready", tellReady(o.Ready)); err != nil {
		return fmt.Errorf("add a hook: %w", err)
	}
	return s.PrepareRun().RunWithContext(ctx)
}

// textOnly speaks JSON and YAML only. Clients ask for protobuf before these, which the kind cannot be
// written in.
type textOnly struct{ runtime.NegotiatedSerializer }

func (t textOnly) SupportedMediaTypes() []runtime.SerializerInfo {
	return slices.DeleteFunc(slices.Clone(t.NegotiatedSerializer.SupportedMediaTypes()), func(info runtime.SerializerInfo) bool {
		return !info.EncodesAsText
	})
}

func newConfig(o Options, codecs serializer.CodecFactory, names *openapi.DefinitionNamer) (*server.RecommendedConfig, error) {
	served := schema.GroupVersion{Group: o.Group, Version: version}
	chosen := options.NewRecommendedOptions(o.Prefix, codecs.LegacyCodec(served))
	chosen.Etcd.StorageConfig.Transport = o.Etcd
	chosen.SecureServing.Listener = o.Listener
	certificate, err := dynamiccertificates.NewStaticCertKeyContent("serving", o.Cert, o.Key)
	if err != nil {
		return nil, fmt.Errorf("take the serving certificate: %w", err)
	}
	chosen.SecureServing.ServerCert.GeneratedCert = certificate
	chosen.CoreAPI.CoreAPIKubeconfigPath = o.Kubeconfig
	chosen.Authentication.RemoteKubeConfigFile = o.Kubeconfig
	chosen.Authorization.RemoteKubeConfigFile = o.Kubeconfig
	// Rights that a test has granted or taken away count at once.
	chosen.Authorization.AllowCacheTTL, chosen.Authorization.DenyCacheTTL = 0, 0
	// The API server in front has done it.
	chosen.Features.EnablePriorityAndFairness = false
	if !o.Admission {
		chosen.Admission = nil
	}
	if err := errors.Join(chosen.Validate()...); err != nil {
		return nil, err
	}

	config := server.NewRecommendedConfig(codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.OpenAPIConfig = server.DefaultOpenAPIConfig(definitions, names)
	config.OpenAPIV3Config = server.DefaultOpenAPIV3Config(definitions, names)
	return config, chosen.ApplyTo(config)
}

// tellReady returns a hook that calls ready when the server says that it is. The hook itself has ended
// by then, because that is one of the things that the server waits for.
func tellReady(ready func()) server.PostStartHookFunc {
	return func(hook server.PostStartHookContext) error {
		client, err := kubernetes.NewForConfig(hook.LoopbackClientConfig)
		if err != nil {
			return fmt.Errorf("make a client: %w", err)
		}
		go func() {
			err := wait.PollUntilContextCancel(hook, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
				return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
			})
			if err == nil {
				ready()
			}
		}()
		return nil
	}
}
