// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// WaitEnforced waits until the API server refuses a bad value of every label, to bind marks and a
// faked override: it takes up policies a moment after they are written, and not all of them at once.
func (e *Env) WaitEnforced(ctx context.Context) error {
	if err := e.waitProbes(ctx, refusedByUs); err != nil {
		return fmt.Errorf("wait until the API server acts on the policies: %w", err)
	}
	return nil
}

// WaitNotEnforced waits until the API server refuses nothing any more.
func (e *Env) WaitNotEnforced(ctx context.Context) error {
	if err := e.waitProbes(ctx, func(err error) bool { return client.IgnoreNotFound(err) == nil }); err != nil {
		return fmt.Errorf("wait until the API server acts on no policy: %w", err)
	}
	return nil
}

// refusedByUs says whether a policy of Holdfast refused a request; that the API
// server is down, or somebody else refuses, is no such answer.
func refusedByUs(err error) bool {
	return errors.Is(err, errKept) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'holdfast-")
}

// errKept is the result of a probe that was admitted and did not change the marks of its object.
var errKept = errors.New("the webhook kept the marks")

// probes are dry runs of what Holdfast refuses to everybody.
func (e *Env) probes(ctx context.Context) ([]func() error, error) {
	labels := map[string]string{
		v1alpha1.DeletionProtectedLabel:        "no-such-value",
		v1alpha1.KarmadaDeletionProtectedLabel: "no-such-value",
		v1alpha1.KruiseDeletionProtectionLabel: "no-such-value",
	}
	objects := []client.Object{&v1alpha1.DeletionOverride{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"},
		Spec: v1alpha1.DeletionOverrideSpec{
			Target: v1alpha1.OverrideTarget{APIVersion: "v1", Kind: "ConfigMap", Namespace: metav1.NamespaceDefault, Name: "probe", UID: "none"},
			Reason: "a probe", Duration: "1s", RequestedBy: "somebody else",
		},
	}}
	for label, value := range labels {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			GenerateName: "probe-", Namespace: metav1.NamespaceDefault, Labels: map[string]string{label: value},
		}})
	}
	objects = append(objects, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: metav1.NamespaceDefault, Labels: map[string]string{v1alpha1.ProtectedByMark: ""}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: "probe"},
	})
	ns := &corev1.Namespace{}
	if err := e.Client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceDefault}, ns); err != nil {
		return nil, err
	}
	marked := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, v1alpha1.MarkedLabel, ns.UID)
	out := []func() error{func() error {
		patched := ns.DeepCopy()
		err := e.Client.Patch(ctx, patched, client.RawPatch(types.MergePatchType, marked), client.DryRunAll)
		if err == nil && !v1alpha1.Marked(patched) {
			return errKept
		}
		return err
	}}
	for _, o := range objects {
		out = append(out, func() error { return e.Client.Create(ctx, o, client.DryRunAll) })
	}
	return out, nil
}

// waitProbes waits until the answers to all probes are as wanted, one after the
// other.
func (e *Env) waitProbes(ctx context.Context, wanted func(error) bool) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, installTimeout, true, func(ctx context.Context) (bool, error) {
		probes, err := e.probes(ctx)
		if last = err; len(probes) == 0 {
			return false, nil
		}
		for _, probe := range probes {
			if last = probe(); !wanted(last) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("%w; its last answer to a probe: %v", err, last) //nolint:errorlint // the answer is part of the message
	}
	return nil
}
