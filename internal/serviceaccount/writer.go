// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceaccount

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/holdfast-dev/holdfast/internal/serviceaccount/plan"
)

// writer does what was decided about an account.
type writer struct {
	client corev1client.ServiceAccountsGetter
}

// newWriter has the API server answer in protobuf: there can be thousands of accounts
// to write at once, and to read JSON takes both sides longer than all else about them.
func newWriter(rc *rest.Config, c *http.Client) (*writer, error) {
	rc = rest.CopyConfig(rc)
	rc.ContentType = runtime.ContentTypeProtobuf
	rc.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := corev1client.NewForConfigAndClient(rc, c)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &writer{client}, nil
}

// do writes once, and returns the account as it is then; nil if it is deleted.
func (w *writer) do(ctx context.Context, key types.NamespacedName, a plan.Action) (*metav1.PartialObjectMetadata, error) {
	accounts := w.client.ServiceAccounts(key.Namespace)
	var out *corev1.ServiceAccount
	var err error
	switch a.Do {
	case plan.Create:
		in := &corev1.ServiceAccount{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(a.Object.Object, in); err != nil {
			return nil, fmt.Errorf("convert the account: %w", err)
		}
		out, err = accounts.Create(ctx, in, metav1.CreateOptions{FieldManager: plan.FieldManager})
	case plan.Apply, plan.Release:
		in, err := json.Marshal(a.Object)
		if err != nil {
			return nil, fmt.Errorf("encode the account: %w", err)
		}
		return metadataOf(accounts.Patch(ctx, key.Name, types.ApplyPatchType, in, metav1.PatchOptions{FieldManager: plan.FieldManager, Force: &a.Force}))
	case plan.TakeOver, plan.LetGo, plan.Replace:
		out, err = accounts.Patch(ctx, key.Name, types.MergePatchType, a.Patch, metav1.PatchOptions{FieldManager: plan.FieldManager})
	case plan.Delete:
		return nil, accounts.Delete(ctx, key.Name, metav1.DeleteOptions{
			Preconditions: a.Preconditions, PropagationPolicy: new(metav1.DeletePropagationForeground),
		})
	default:
		return nil, nil //nolint:nilnil // nothing is written, and there is nothing to tell
	}
	return metadataOf(out, err)
}

func metadataOf(a *corev1.ServiceAccount, err error) (*metav1.PartialObjectMetadata, error) {
	if err != nil {
		return nil, err
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: a.ObjectMeta}, nil
}
