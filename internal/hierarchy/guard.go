// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/keep"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
)

// Options of a Guard.
type Options struct {
	Manager ctrl.Manager
	Dynamic dynamic.Interface
	Kinds   *inventory.Kinds
	// Namespace that Holdfast runs in.
	Namespace string
	// Users are the names of Holdfast for the API server.
	Users []string
	// Config is what is in force; it must be safe for concurrent use.
	Config func() *configv1alpha1.HoldfastConfiguration
	// Changed is called when the admission objects that are wanted, or the
	// conditions, may be others.
	Changed func()
}

// Guard keeps trees of namespaces.
type Guard struct {
	o      Options
	world  *world.World
	keeper *keep.Keeper
}

// NewGuard makes a Guard and connects its parts.
func NewGuard(o Options) (*Guard, error) {
	g := &Guard{o: o}
	g.world = world.New(world.Options{
		Dynamic:  o.Dynamic,
		Kinds:    o.Kinds.Current,
		Settings: g.settings,
		Changed:  func(d world.Dirty) { g.keeper.Changed(d) },
		Declared: func() {
			g.keeper.Wake()
			o.Changed()
		},
	})
	var err error
	g.keeper, err = keep.New(keep.Options{
		World: g.world, Client: o.Manager.GetClient(), Dynamic: o.Dynamic, Config: o.Manager.GetConfig(),
		Events: o.Manager.GetEventRecorder(hncv1alpha2.EventSource), Clock: clock.RealClock{},
		Active: g.active,
	})
	if err != nil {
		return nil, err
	}
	o.Kinds.OnChange(g.world.Wake)
	return g, nil
}

func (g *Guard) settings(excluded []string) (settings.Settings, error) {
	return settings.New(g.o.Config(), g.o.Namespace, excluded)
}

// active says whether anything may be written.
func (g *Guard) active() bool {
	v, err := g.world.View()
	return err == nil && v.Settings.Active()
}

// SetupWithManager adds the parts to the manager: what knows to every replica, what
// writes to the leader.
func (g *Guard) SetupWithManager(_ context.Context, mgr ctrl.Manager) error {
	if err := mgr.Add(g.world); err != nil {
		return err
	}
	return mgr.Add(g.keeper)
}

// Wake asks for another look at the configuration. It never blocks.
func (g *Guard) Wake() { g.world.Wake() }

// Ready says whether this replica knows what it needs to answer. While the feature
// is off it needs nothing.
func (g *Guard) Ready() error {
	if s, err := g.settings(nil); err != nil || !s.Follows() {
		return err
	}
	_, err := g.world.View()
	return err
}

// Conditions say what is wrong around the trees.
func (g *Guard) Conditions() []metav1.Condition { return nil }

// Policies are those of the feature.
func (g *Guard) Policies(*configv1alpha1.HoldfastConfiguration) []admission.Policy { return nil }

// Webhooks are those of the feature.
func (g *Guard) Webhooks(*configv1alpha1.HoldfastConfiguration) []admission.Webhook { return nil }
