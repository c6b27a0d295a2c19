// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package rootsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configsyncv1beta1 "github.com/holdfast-dev/holdfast/api/configsync/v1beta1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/apply"
	"github.com/holdfast-dev/holdfast/internal/rootsync/knv"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
	"github.com/holdfast-dev/holdfast/internal/rootsync/report"
	"github.com/holdfast-dev/holdfast/internal/rootsync/source"
	"github.com/holdfast-dev/holdfast/internal/rootsync/spec"
)

// advance goes as far as it can: from the source to what is declared and from that to
// the cluster.
func (r *runner) advance(ctx context.Context, rs *configsyncv1beta1.RootSync, settings spec.Settings, facts *report.Facts) error {
	if done, err := r.finalize(ctx, rs); err != nil || !done {
		return err
	}
	if err := r.s.identities.Ensure(ctx, r.sync); err != nil {
		facts.Stalled = &report.Stalled{Reason: "ServiceAccount", Err: knv.New(knv.APIServer, "%v", err).Because(err)}
		return err
	}
	if settings.Suspended {
		r.stop()
		r.unsubscribe()
		return r.undecided(ctx, rs)
	}
	if err := r.start(ctx); err != nil {
		return err
	}
	if wrong, err := r.subscribe(ctx, rs, settings); wrong != nil || err != nil {
		if wrong != nil {
			facts.Stalled = &report.Stalled{Reason: configsyncv1beta1.ReasonValidation, Err: wrong}
		}
		return errors.Join(err, r.undecided(ctx, rs))
	}
	facts.Progress = &report.Progress{}
	if !r.read(ctx, settings, facts.Progress) || r.lost() {
		if err := r.undecided(ctx, rs); err != nil {
			return err
		}
	}
	r.declare(ctx, rs, settings)
	return r.follow(settings, facts.Progress)
}

// lost says that nobody waits any longer for what the RootSync wants, and that what it has
// is to count.
func (r *runner) lost() bool { return r.s.impatient.Load() && !r.content.good() }

// start runs an engine, if none runs.
func (r *runner) start(ctx context.Context) error {
	if r.runs() != nil {
		return nil
	}
	as := rest.CopyConfig(r.s.o.REST)
	as.Impersonate = rest.ImpersonationConfig{UserName: r.sync.User()}
	c, err := dynamic.NewForConfig(as)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	e := apply.New(apply.Options{
		Sync: r.sync, Client: c, Inventory: r.s.o.Dynamic, Kinds: r.s.o.Kinds.Current, Live: r.s.hub, Slots: r.s.slots, Clock: r.s.o.Clock, Pauses: r.s.o.Pauses,
		Standing: r.s.standingOf(r.sync), Unanswered: r.s.rights.Unanswered, Forbidden: r.s.forbidden(r.sync), InUse: r.s.usersFor(r.sync),
		Copies: r.s.spaces.below, InScope: r.s.spaces.inScope, Occupants: r.s.occupants, Changed: r.wake, Did: r.s.meters.did, Left: r.left,
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine = &engine{Engine: e, stop: func() {
		cancel()
		<-ended
	}}
	return nil
}

// left records an Event about a Namespace that stays since others keep it.
func (r *runner) left(id object.ID, keptBy string) {
	r.mu.Lock()
	rs := r.newest
	r.mu.Unlock()
	r.s.say(rs, []event{{corev1.EventTypeNormal, "NamespaceLeft", "Prune", fmt.Sprintf("Namespace %s stays, because %s manages it too", id.Name, keptBy)}})
}

// subscribe asks for the source, with the credentials of the Secrets as they are now.
func (r *runner) subscribe(ctx context.Context, rs *configsyncv1beta1.RootSync, settings spec.Settings) (*knv.Error, error) {
	secrets := spec.Secrets{}
	for _, name := range settings.Source.Secrets() {
		secret := &corev1.Secret{}
		err := r.s.client.Get(ctx, client.ObjectKey{Namespace: object.SyncNamespace, Name: name}, secret)
		if err == nil {
			secrets[name] = secret.Data
		} else if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read Secret %s: %w", name, err)
		}
	}
	credentials, wrong := settings.Source.Credentials(secrets)
	if wrong != nil {
		return wrong, nil
	}
	if wanted := source.Of(settings.Source, credentials); r.subscription == nil || wanted != r.subscribed {
		former := r.subscription
		r.subscription, r.subscribed, r.content = r.s.sources.Subscribe(wanted, r.wake), wanted, nil
		if former != nil {
			former.Close() // after the other, so that they share what was fetched
		}
		r.warn(rs, wanted, settings.Source.Secret, former != nil)
	}
	if settings.SyncNow != r.asked {
		r.asked = settings.SyncNow
		if rs.Annotations[configsyncv1beta1.AnnotationSyncNowDone] != r.asked {
			r.look = r.subscription.Now()
		}
	}
	return nil, nil
}

// warn makes Events about an address of which others on the way to the server can take advantage. A start finds what
// was there before, of which people were told.
func (r *runner) warn(rs *configsyncv1beta1.RootSync, wanted source.Spec, secret string, changed bool) {
	if !changed && rs.Status.ObservedGeneration == rs.Generation {
		return
	}
	if wanted.HostKeysUnchecked() {
		r.s.events.Eventf(rs, nil, corev1.EventTypeWarning, "HostKeysUnchecked", "Fetch",
			"Whoever is on the way to the server can pass for it: give the Secret %s the key known_hosts", secret)
	}
	if wanted.PasswordUnencrypted() {
		r.s.events.Eventf(rs, nil, corev1.EventTypeWarning, "PasswordUnencrypted", "Fetch",
			"The token is sent unencrypted, and whoever is on the way to the server can read it: use https in spec.git.repo, and then a new token")
	}
}

// follow says how far the engine has come.
func (r *runner) follow(settings spec.Settings, p *report.Progress) error {
	state := r.runs().State()
	if state.Stage == apply.Idle && !state.Settled && p.At != report.AtSync {
		return r.watch(state) // nothing is known, and what stands in the status stays
	}
	p.Synced = report.Result{Source: settings.Source, Commit: state.Version.Commit, Running: !state.Settled, Errors: state.Errors}
	if r.declared != nil {
		p.Synced.Errors = slices.Concat(state.Errors, r.declared.errors)
	}
	p.Missing = slices.Sorted(maps.Keys(state.Missing))
	return r.watch(state)
}

// watch has the kinds watched of what the RootSync declares and has.
func (r *runner) watch(state apply.State) error {
	kinds := sets.New(r.kinds()...)
	for _, id := range state.Inventory {
		kinds.Insert(id.GroupKind())
	}
	if state.Inventory != nil {
		r.s.unused(r.s.declarers.keep(r.sync, state.Inventory))
	}
	if err := r.s.hub.Follow(r.s.base, r.sync, kinds); err != nil {
		return fmt.Errorf("watch objects: %w", err)
	}
	if !r.known && state.Inventory != nil {
		r.known = true
		// What looks like its own and is in no inventory is drift as well.
		for _, id := range r.s.hub.Managed(r.sync) {
			r.observe(id)
		}
	}
	return nil
}

// answer says that the sync which somebody asked for has ended, once the status says how.
func (r *runner) answer(ctx context.Context, rs *configsyncv1beta1.RootSync, p *report.Progress) error {
	if r.asked == "" || rs.Annotations[configsyncv1beta1.AnnotationSyncNowDone] == r.asked {
		return nil
	}
	if p == nil || !r.subscription.Looked(r.look) || p.Fetched.Running || p.At == report.AtSync && p.Synced.Running {
		return nil
	}
	if r.content.good() && (r.declared == nil || r.declared.content != r.content) {
		return nil // it has not begun yet
	}
	if rs = r.reporter.newest(rs); rs.Annotations[configsyncv1beta1.AnnotationSyncNow] != r.asked {
		return nil
	}
	return r.patch(ctx, rs, map[string]any{"annotations": map[string]string{configsyncv1beta1.AnnotationSyncNowDone: r.asked}})
}
