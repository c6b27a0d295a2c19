// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package sync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-dev/holdfast/internal/cli/fetch"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// remedy is what to do about a source that cannot be fetched here.
const remedy = "check the source out, and say --from with its folder"

// checkout is the folder that was said, or the newest commit.
func (c *client) checkout(ctx context.Context, client dynamic.Interface, settings spec.Settings, dir string) (*fetch.Checkout, error) {
	if dir != "" {
		return &fetch.Checkout{Dir: dir, Done: func() {}}, folder(dir)
	}
	secrets, err := secretsOf(ctx, client, settings.Source)
	if err != nil {
		return nil, err
	}
	credentials, wrong := settings.Source.Credentials(secrets)
	if wrong != nil {
		return nil, wrong
	}
	c.Transient("fetching " + settings.Source.Shown())
	defer c.Transient("")
	out, err := fetch.Newest(ctx, settings.Source, credentials)
	if err != nil {
		return nil, fmt.Errorf("%w\nWhere it cannot be fetched from here, %s", err, remedy)
	}
	return out, nil
}

// secretsOf reads the Secrets that a source is fetched with.
func secretsOf(ctx context.Context, client dynamic.Interface, from spec.Source) (spec.Secrets, error) {
	out := spec.Secrets{}
	for _, name := range from.Secrets() {
		served, err := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(object.SyncNamespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue // that is told with what it is for
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("you may not read Secret %s/%s, with which the source is fetched: %s", object.SyncNamespace, name, remedy)
		case err != nil:
			return nil, fmt.Errorf("read Secret %s: %w", name, err)
		}
		secret := &corev1.Secret{}
		if err := decode(served, secret); err != nil {
			return nil, err
		}
		out[name] = secret.Data
	}
	return out, nil
}
