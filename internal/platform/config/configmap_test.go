// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/config"
)

var configMapName = types.NamespacedName{Namespace: "holdfast-system", Name: "holdfast-config"}

// configMap returns the ConfigMap of the configuration; no document, no key.
func configMap(document ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: configMapName.Namespace, Name: configMapName.Name},
	}
	for _, d := range document {
		cm.Data = map[string]string{config.DataKey: d}
	}
	return cm
}

func TestMapSource_Reconcile(t *testing.T) {
	t.Parallel()
	other := configMap(warn)
	other.Name = "another"
	tests := []struct {
		name         string
		inForce      string // besides what newStore has
		objects      []client.Object
		getFails     error
		want         configv1alpha1.Mode
		wantErr      string
		wantLast     string
		wantTerminal bool
	}{
		{name: "its configuration comes into force", objects: []client.Object{configMap(warn)}, want: configv1alpha1.ModeWarn},
		{
			name: "a bad configuration is terminal and changes nothing", objects: []client.Object{configMap(header + "a: b\n")},
			want: configv1alpha1.ModeEnforce, wantTerminal: true,
			wantErr: "terminal error: load configuration from ConfigMap holdfast-system/holdfast-config: invalid configuration: " +
				"a: Forbidden: there is no such field: known here are admission, apiVersion, certificates, deletion, eviction, featureGates, hierarchy, kind, rootSync, scope, serviceAccounts",
			wantLast: "load configuration from ConfigMap holdfast-system/holdfast-config: invalid configuration: " +
				"a: Forbidden: there is no such field: known here are admission, apiVersion, certificates, deletion, eviction, featureGates, hierarchy, kind, rootSync, scope, serviceAccounts",
		},
		{name: "a ConfigMap without the key is every default", objects: []client.Object{configMap()}, want: configv1alpha1.ModeEnforce},
		{
			name: "without the key what was configured stays", inForce: warn, objects: []client.Object{configMap()}, want: configv1alpha1.ModeWarn, wantTerminal: true,
			wantErr:  "terminal error: load configuration from ConfigMap holdfast-system/holdfast-config: " + strings.TrimPrefix(gone, "data[config.yaml]: Required value: "),
			wantLast: "load configuration from ConfigMap holdfast-system/holdfast-config: " + strings.TrimPrefix(gone, "data[config.yaml]: Required value: "),
		},
		{name: "an empty configuration is every default, whatever was configured", inForce: warn, objects: []client.Object{configMap(header)}, want: configv1alpha1.ModeEnforce},
		{
			name: "so it does with the document in binaryData", inForce: warn, objects: []client.Object{binary(header)}, want: configv1alpha1.ModeWarn, wantTerminal: true,
			wantErr: "terminal error: load configuration from ConfigMap holdfast-system/holdfast-config: " +
				"the key config.yaml is in binaryData: write the configuration as text, in data",
			wantLast: "load configuration from ConfigMap holdfast-system/holdfast-config: the key config.yaml is in binaryData: write the configuration as text, in data",
		},
		{
			name: "a missing ConfigMap is terminal and changes nothing", objects: []client.Object{other},
			want: configv1alpha1.ModeEnforce, wantTerminal: true,
			wantErr: "terminal error: load configuration from ConfigMap holdfast-system/holdfast-config: read configuration: " +
				`configmaps "holdfast-config" not found`,
			wantLast: "load configuration from ConfigMap holdfast-system/holdfast-config: read configuration: " +
				`configmaps "holdfast-config" not found`,
		},
		{
			name: "a failure of the API server is retried", getFails: errors.New("connection refused"),
			want: configv1alpha1.ModeEnforce, wantErr: "read configuration: connection refused",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reader := fake.NewClientBuilder().WithObjects(test.objects...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if test.getFails != nil {
						return test.getFails
					}
					return c.Get(ctx, key, obj, opts...)
				},
			}).Build()
			store, _ := newStore(t)
			if test.inForce != "" {
				if err := store.Offer([]byte(test.inForce), "test"); err != nil {
					t.Fatal(err)
				}
			}
			result, err := config.NewMapSource(store, reader, configMapName).
				Reconcile(t.Context(), reconcile.Request{NamespacedName: configMapName})
			if diff := cmp.Diff(reconcile.Result{}, result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantErr, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got := errors.Is(err, reconcile.TerminalError(nil)); got != test.wantTerminal {
				t.Errorf("terminal %t, want %t", got, test.wantTerminal)
			}
			if diff := cmp.Diff(test.wantLast, message(store.LastError())); diff != "" {
				t.Errorf("last error (-want +got):\n%s", diff)
			}
			if got := store.Current().Deletion.Mode; got != test.want {
				t.Errorf("mode %s in force, want %s", got, test.want)
			}
		})
	}
}

func TestMapSource_SetupWithManager(t *testing.T) {
	t.Parallel()
	mgr, err := ctrl.NewManager(&rest.Config{}, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatalf("new manager: %v", err)
	}
	store, _ := newStore(t)
	if err := config.NewMapSource(store, mgr.GetClient(), configMapName).SetupWithManager(mgr); err != nil {
		t.Errorf("set up: %v", err)
	}
}

func TestReadConfigMap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		of   *corev1.ConfigMap
		want string
		fail bool
	}{
		{name: "what is written", of: configMap(warn), want: warn},
		{name: "nothing is written, as after an installation", of: configMap(), want: config.Empty},
		{name: "it is written somewhere else", of: keys("config.yml"), fail: true},
		{name: "it is no text", of: binary(warn), fail: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reader := fake.NewClientBuilder().WithObjects(tt.of).Build()
			data, err := config.ReadConfigMap(t.Context(), reader, configMapName)
			if (err != nil) != tt.fail || string(data) != tt.want {
				t.Errorf("read %q, %v", data, err)
			}
		})
	}
}
