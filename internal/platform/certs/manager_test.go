// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
)

// TestManager_runsWithoutASecretAndWithoutALease starts a real controller whose
// informer never sees a Secret, in a replica that never becomes the leader.
func TestManager_runsWithoutASecretAndWithoutALease(t *testing.T) {
	t.Parallel()
	g := gomega.NewWithT(t)
	c := newCluster(t)
	m := c.replica()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		NewCache:                            func(*rest.Config, cache.Options) (cache.Cache, error) { return &informertest.FakeInformers{}, nil },
		NewClient:                           func(*rest.Config, client.Options) (client.Client, error) { return c, nil },
		MapperProvider:                      func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return c.RESTMapper(), nil },
		Metrics:                             server.Options{BindAddress: "0"},
		Controller:                          config.Controller{SkipNameValidation: new(true)}, // -count=2
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: takenLease{},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	g.Eventually(m.CABundle, "180s", "10ms").ShouldNot(gomega.BeNil())
	before := served(t, c, m)

	// A change of the settings.
	c.sleep(time.Minute)
	c.configure(func(s *Settings) { s.HostNames = append(s.HostNames, "guard.example.com") })
	m.Wake()
	g.Eventually(m.Check, "180s", "10ms").Should(gomega.Succeed())
	if served(t, c, m) == before {
		t.Error("the change of the settings changed nothing")
	}

	// A long sleep, after which the first call or probe notices.
	c.sleep(year)
	if err := m.Check(); err == nil {
		t.Error("an expired certificate is good enough to be ready")
	}
	g.Eventually(m.Check, "180s", "10ms").Should(gomega.Succeed())
	c.sleep(year)
	if _, err := m.GetCertificate(nil); err != nil {
		t.Error(err)
	}
	g.Eventually(m.NotAfter, "180s", "10ms").Should(gomega.BeTemporally(">", c.clock.Now()))
}

// takenLease is held by somebody else for ever.
type takenLease struct{}

func (takenLease) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return nil, nil, errors.New("no lease for you")
}
func (takenLease) Create(context.Context, resourcelock.LeaderElectionRecord) error { return nil }
func (takenLease) Update(context.Context, resourcelock.LeaderElectionRecord) error { return nil }
func (takenLease) RecordEvent(string)                                              {}
func (takenLease) Identity() string                                                { return "me" }
func (takenLease) Describe() string                                                { return "a lease" }

func TestSettingsOf(t *testing.T) {
	t.Parallel()
	var c configv1alpha1.CertificatesConfiguration
	c.Provider = configv1alpha1.CertificatesBySecret
	c.Validity.Duration, c.AuthorityValidity.Duration, c.Overlap.Duration = 90*day, 5*year, day
	want := Settings{Provider: configv1alpha1.CertificatesBySecret, Want: defaults()}
	if diff := cmp.Diff(want, SettingsOf(c, defaults().HostNames)); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}
