// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package hierarchy

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/holdfast-dev/holdfast/api/config/v1alpha1"
	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/admit"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/keep"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rights"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rivals"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/rules"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/settings"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/world"
	"github.com/holdfast-dev/holdfast/internal/platform/admission"
	"github.com/holdfast-dev/holdfast/internal/platform/inventory"
	"github.com/holdfast-dev/holdfast/internal/platform/timing"
)

// Options of a Guard.
type Options struct {
	Manager ctrl.Manager
	Dynamic dynamic.Interface
	Client  kubernetes.Interface
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
	Pauses  timing.Pauses
}

// Guard keeps trees of namespaces.
type Guard struct {
	o        Options
	world    *world.World
	keeper   *keep.Keeper
	rivals   *rivals.Watcher
	handlers *admit.Handlers
}

// NewGuard makes a Guard and connects its parts.
func NewGuard(o Options) (g *Guard, err error) {
	g = &Guard{o: o}
	g.world = world.New(world.Options{
		Dynamic: o.Dynamic, Kinds: o.Kinds.Current, Settings: g.settings,
		Changed:  func(d world.Dirty) { g.keeper.Changed(d) },
		Declared: g.changed,
		Pauses:   o.Pauses,
	})
	g.keeper, err = keep.New(keep.Options{
		World: g.world, Client: o.Manager.GetClient(), Dynamic: o.Dynamic, Config: o.Manager.GetConfig(),
		Events: o.Manager.GetEventRecorder(hncv1alpha2.EventSource), Clock: clock.RealClock{},
		Active: g.active, Rights: g.lackedRights, Pauses: o.Pauses,
	})
	if err != nil {
		return nil, err
	}
	g.rivals = rivals.NewWatcher(rivals.Options{Client: o.Client, Needed: g.follows, Changed: g.changed, Pauses: o.Pauses})
	g.handlers = admit.NewHandlers(admit.Options{
		World: g.known, Settings: g.current, Users: o.Users, Kinds: o.Kinds.Current, Sources: g.world.Read, Client: o.Client,
		Observer: admission.NewObserver(o.Manager.GetEventRecorder(hncv1alpha2.EventSource)),
	})
	o.Kinds.OnChange(g.world.Wake)
	return g, nil
}

// changed wakes what goes by whether Holdfast may write and refuse.
func (g *Guard) changed() {
	g.keeper.Wake()
	g.o.Changed()
}

func (g *Guard) settings(excluded []string) (settings.Settings, error) {
	return settings.New(g.o.Config(), g.o.Namespace, excluded)
}

// current are the settings in force: while the World does not know what the
// HNCConfiguration adds, those of the configuration.
func (g *Guard) current() settings.Settings {
	var s settings.Settings
	if v, err := g.world.View(); err == nil {
		s = v.Settings
	} else if s, err = g.settings(nil); err != nil { // the loader has checked it
		ctrl.Log.WithName("hierarchy").Error(err, "The configuration cannot be read")
		return settings.Settings{Mode: configv1alpha1.ModeOff}
	}
	// Beside another writer Holdfast stands by, whatever the configuration says.
	s.StandBy = s.StandBy || !g.rivals.Alone()
	return s
}

// known is what the rules go by.
func (g *Guard) known() (rules.World, error) {
	v, err := g.world.View()
	if err != nil {
		return rules.World{}, err
	}
	return rules.World{Tree: v.Tree, Sources: v.Sources, Excluded: v.Settings.Excluded}, nil
}

func (g *Guard) follows() bool {
	s, err := g.settings(nil)
	return err == nil && s.Follows()
}

// active says whether anything may be written.
func (g *Guard) active() bool {
	_, err := g.world.View()
	return err == nil && g.current().Active()
}

// lackedRights says which rights Holdfast lacks to copy a resource; empty if it has all.
func (g *Guard) lackedRights(ctx context.Context, r schema.GroupResource) (string, error) {
	missing, err := rights.Of(ctx, g.o.Client.AuthorizationV1(), r)
	if err != nil || len(missing) == 0 {
		return "", err
	}
	return missing.Advice(r, strings.Join(g.o.Users, ", ")), nil
}

// undecided says whether it is not known yet what should be refused. What a process
// before this one has installed stays until then.
func (g *Guard) undecided() bool {
	_, err := g.world.View()
	return g.follows() && (err != nil || !g.rivals.Looked())
}

// SetupWithManager adds the parts to the manager: what knows to every replica, what
// writes to the leader.
func (g *Guard) SetupWithManager(_ context.Context, mgr ctrl.Manager) error {
	for _, part := range []interface{ Start(context.Context) error }{g.rivals, g.world, g.keeper} {
		if err := mgr.Add(part); err != nil {
			return err
		}
	}
	return nil
}

// Wake asks for another look at the configuration. It never blocks.
func (g *Guard) Wake() {
	g.rivals.Wake()
	g.world.Wake()
}

// Ready says whether this replica knows what it needs to answer. While the feature
// is off it needs nothing.
func (g *Guard) Ready() error {
	if !g.follows() {
		return nil
	}
	_, err := g.world.View()
	return err
}

// resources are those that are copied now.
func (g *Guard) resources() []schema.GroupResource {
	var out []schema.GroupResource
	for _, k := range g.world.Kinds() {
		out = append(out, k.GroupResource())
	}
	return out
}

// Policies are those of the feature.
func (g *Guard) Policies() []admission.Policy {
	out := admit.Policies(admit.PolicyOptions{Settings: g.current(), Resources: g.resources(), Users: g.o.Users})
	for i := range out {
		out[i].Undecided = g.undecided()
	}
	return out
}

// Webhooks are those of the feature.
func (g *Guard) Webhooks() []admission.Webhook {
	out := g.handlers.Webhooks(admit.WebhookOptions{
		Settings: g.current(), Resources: g.resources(), Users: g.o.Users, External: g.world.External(),
	})
	for i := range out {
		out[i].Undecided = g.undecided()
	}
	return out
}
