// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
)

const (
	// treeWriters is how many requests the bare client has under way, as the manager.
	treeWriters = 32
	// treeBound is DESIGN's.
	treeBound = 1.2
	// treeWrites counts what the manager writes for trees.
	treeWrites = "holdfast_hierarchy_writes_total"
	// treeDecisions counts the places for copies that it looks at.
	treeDecisions = "holdfast_hierarchy_copies_decided_total"
	rootName      = "root"
)

var rolesResource = rbacv1.SchemeGroupVersion.WithResource("roles")

// treesBench measures trees of namespaces.
type treesBench struct {
	*subject
	b *bench
	// bareClient is the bare client: somebody with the rights of Holdfast and no others, so
	// that the API server has the same to look at, and no webhook is asked, or missed.
	bareClient client.Client
	clients    kubernetes.Interface
	// times are the seconds of each sort of work in this round, in two columns, and spent the
	// medians of them, a round each.
	times, spent map[string]*[2][]float64
	round        int
}

// The columns of what was spent.
const (
	withHoldfast = iota
	theFloor
)

// The sorts of work.
const (
	manyAppear = "10 Roles appear in each of %s below"
	oneAppears = "1 Role appears in each of %s below"
	manyGo     = "the copies of 10 Roles go from each of %s below"
	oneGoes    = "the copies of 1 Role go from each of %s below"
	subsAppear = "%s from anchors, with labels, HierarchyConfiguration and status"
)

func measureTrees(ctx context.Context, b *bench) ([]row, error) {
	b.progress("trees: a cluster")
	s, err := b.withTrees(ctx)
	if err != nil {
		return nil, err
	}
	m := newTrees(s, b)
	if m.clients, err = kubernetes.NewForConfig(s.Config); err != nil {
		return nil, fmt.Errorf("make clients: %w", err)
	}
	if err := m.grow(ctx); err != nil {
		return nil, err
	}
	if err := m.asHoldfast(); err != nil {
		return nil, err
	}
	for m.round = range b.treeRounds {
		b.progress("trees, round %d of %d", m.round+1, b.treeRounds)
		if err := m.bare(ctx); err != nil {
			return nil, fmt.Errorf("by a bare client: %w", err)
		}
		if err := m.with(ctx); err != nil {
			return nil, fmt.Errorf("by Holdfast: %w", err)
		}
		m.endRound()
	}
	rows := m.rows()
	b.progress("trees: restarts")
	more, err := m.restarts(ctx)
	rows = append(rows, more...)
	if err != nil {
		return rows, err
	}
	b.progress("trees: webhooks meanwhile")
	more, err = m.answers(ctx)
	rows = append(rows, more...)
	if err != nil {
		return rows, err
	}
	more, err = measureLargeTree(ctx, b)
	return append(rows, more...), err
}

func newTrees(s *subject, b *bench) *treesBench {
	return &treesBench{subject: s, b: b, times: map[string]*[2][]float64{}, spent: map[string]*[2][]float64{}}
}

// withTrees is a cluster whose manager keeps trees, and does not run yet.
func (b *bench) withTrees(ctx context.Context) (*subject, error) {
	s, err := b.installed(ctx, withoutLease)
	if err != nil {
		return nil, err
	}
	if err := s.apply(ctx, "config/crd/hnc", "config/rbac/hierarchy.yaml"); err != nil {
		return nil, err
	}
	return s, s.configure(ctx, "hierarchy: {mode: Enforce}\n")
}

// grow makes the root and the namespaces below it.
func (m *treesBench) grow(ctx context.Context) error {
	if _, err := m.startManager(ctx); err != nil {
		return err
	}
	if err := m.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: rootName}}); err != nil {
		return fmt.Errorf("make the root: %w", err)
	}
	err := each(m.b.treeChildren, makers, func(i int) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: child(i)}}
		return errors.Join(m.Client.Create(ctx, ns), m.Client.Create(ctx, hierarchyIn(child(i), rootName)))
	})
	if err != nil {
		return err
	}
	return m.atRest(ctx)
}

// asHoldfast makes the bare client.
func (m *treesBench) asHoldfast() error {
	config, err := clientcmd.BuildConfigFromFlags("", m.Manager.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of the manager: %w", err)
	}
	config.QPS = -1
	if m.bareClient, err = client.New(config, client.Options{Scheme: m.Client.Scheme(), Mapper: m.Client.RESTMapper()}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return nil
}

func child(i int) string { return fmt.Sprintf("child-%d", i) }

func hierarchyIn(namespace, parent string) *hncv1alpha2.HierarchyConfiguration {
	return &hncv1alpha2.HierarchyConfiguration{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: hncv1alpha2.HierarchyConfigurationName},
		Spec:       hncv1alpha2.HierarchyConfigurationSpec{Parent: parent},
	}
}

// atRest waits until the manager has written nothing for a while.
func (m *treesBench) atRest(ctx context.Context) error {
	last := -1.0
	return await(ctx, "the manager has nothing to write", 3*time.Second, func(ctx context.Context) (bool, error) {
		f, err := m.figures(ctx)
		now := f.get(treeWrites)
		same := now == last
		last = now
		return same, err
	})
}

func (m *treesBench) took(work string, column int, begin time.Time) {
	if m.times[work] == nil {
		m.times[work], m.spent[work] = &[2][]float64{}, &[2][]float64{}
	}
	m.times[work][column] = append(m.times[work][column], time.Since(begin).Seconds())
}

// endRound takes the medians of a round: its times have the same process and the same minute
// of the machine in common, and are not as many rounds.
func (m *treesBench) endRound() {
	for work, times := range m.times {
		for column := range times {
			m.spent[work][column] = append(m.spent[work][column], median(times[column]))
			times[column] = nil
		}
	}
}

func roleIn(namespace, name string) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}}},
	}
}

// copyIn is what a bare client writes in place of a copy.
func copyIn(namespace, name string) *rbacv1.Role {
	r := roleIn(namespace, name)
	r.Labels = map[string]string{hncv1alpha2.LabelManagedBy: hncv1alpha2.ManagedBy, hncv1alpha2.LabelInheritedFrom: rootName}
	return r
}

// bare does everything without Holdfast.
func (m *treesBench) bare(ctx context.Context) error {
	if err := m.Manager.Stop(); err != nil {
		return err
	}
	n := m.b.treeChildren
	at := func(i int) string { return fmt.Sprintf("bench-%d", i%n) }
	if err := m.roles(ctx, theFloor, func(roles int) error {
		return each(roles*n, treeWriters, func(i int) error { return m.bareClient.Create(ctx, copyIn(at(i), roleName(roles, i/n))) })
	}, func(roles int) error {
		return each(roles*n, treeWriters, func(i int) error { return m.bareClient.Delete(ctx, copyIn(at(i), roleName(roles, i/n))) })
	}); err != nil {
		return err
	}
	label := fmt.Sprintf("bare-%d", m.round)
	return m.completed(ctx, label, n, theFloor, func(i int) error { return m.bareSubnamespace(ctx, fmt.Sprintf("bare-%d-%d", m.round, i), label) })
}

// with has Holdfast do it.
func (m *treesBench) with(ctx context.Context) error {
	begin := time.Now()
	if _, err := m.startManager(ctx); err != nil {
		return err
	}
	if err := m.atRest(ctx); err != nil {
		return err
	}
	if err := pause(ctx, starting-time.Since(begin)); err != nil {
		return err
	}
	if err := m.roles(ctx, withHoldfast, func(roles int) error {
		return each(roles, treeWriters, func(i int) error { return m.Client.Create(ctx, roleIn(rootName, roleName(roles, i))) })
	}, func(roles int) error {
		return each(roles, treeWriters, func(i int) error { return m.Client.Delete(ctx, roleIn(rootName, roleName(roles, i))) })
	}); err != nil {
		return err
	}
	return m.subnamespaces(ctx, m.b.treeChildren)
}

// roleName is that of one of so many that come and go together.
func roleName(roles, i int) string { return fmt.Sprintf("role-%d-%d", roles, i) }

// roles has copies of so many Roles appear, and go again, each treeTimes.
func (m *treesBench) roles(ctx context.Context, column int, appear, vanish func(roles int) error) error {
	n := m.b.treeChildren
	for range m.b.treeTimes {
		for _, step := range []struct {
			work  string
			of    watch.EventType
			roles int
			act   func(int) error
		}{
			{manyAppear, watch.Added, 10, appear},
			{oneAppears, watch.Added, 1, appear},
			{manyGo, watch.Deleted, 10, vanish},
			{oneGoes, watch.Deleted, 1, vanish},
		} {
			if err := m.timed(ctx, step.of, step.roles*n, step.work, column, func() error { return step.act(step.roles) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// timed takes the time from the begin of an act until somebody who watches, the same
// for both columns, has seen so many events of a type about copies of Roles.
func (m *treesBench) timed(
	ctx context.Context, of watch.EventType, n int, work string, column int, act func() error,
) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	copies := metav1.ListOptions{LabelSelector: hncv1alpha2.LabelInheritedFrom}
	list, err := m.metadata.Resource(rolesResource).List(ctx, copies)
	if err != nil {
		return err
	}
	copies.ResourceVersion = list.ResourceVersion
	events, err := m.metadata.Resource(rolesResource).Watch(ctx, copies)
	if err != nil {
		return err
	}
	defer events.Stop()
	begin := time.Now()
	if err := act(); err != nil {
		return err
	}
	if err := see(ctx, work, events, n, func(e watch.Event) bool { return e.Type == of }); err != nil {
		return err
	}
	m.took(work, column, begin)
	return nil
}

// see waits until so many objects are told of as they should be.
func see(ctx context.Context, what string, events watch.Interface, n int, tells func(watch.Event) bool) error {
	for seen := sets.New[string](); len(seen) < n; {
		select {
		case e, open := <-events.ResultChan():
			if !open {
				return fmt.Errorf("%s: the watch has ended after %d of %d", what, len(seen), n)
			}
			if o, err := meta.Accessor(e.Object); err == nil && tells(e) {
				seen.Insert(o.GetNamespace() + "/" + o.GetName())
			}
		case <-ctx.Done():
			return fmt.Errorf("%s: after %d of %d: %w", what, len(seen), n, ctx.Err())
		}
	}
	return nil
}

func (m *treesBench) rows() []row {
	var rows []row
	for _, r := range []struct {
		work, what string
		bound      float64
	}{
		{manyAppear, "child namespace", treeBound},
		{oneAppears, "child namespace", treeBound},
		{manyGo, "child namespace", treeBound},
		{oneGoes, "child namespace", 0},
		{subsAppear, "subnamespace", treeBound},
	} {
		work := fmt.Sprintf(r.work, count(m.b.treeChildren, r.what))
		rows = append(rows, ratioOf(work, "the same writes by a bare client", m.spent[r.work][withHoldfast], m.spent[r.work][theFloor], r.bound))
	}
	return rows
}

// restarts counts what the manager writes when it comes back to many copies.
func (m *treesBench) restarts(ctx context.Context) ([]row, error) {
	n := m.b.treeChildren
	if err := m.timed(ctx, watch.Added, 6*n, "copies for the restarts", withHoldfast, func() error {
		return each(6, treeWriters, func(i int) error { return m.Client.Create(ctx, roleIn(rootName, fmt.Sprintf("stays-%d", i))) })
	}); err != nil {
		return nil, err
	}
	if err := m.atRest(ctx); err != nil {
		return nil, err
	}
	// How many copies there are the HNCConfiguration says once a minute.
	if err := pause(ctx, time.Minute+settle); err != nil {
		return nil, err
	}
	var ready []float64
	var written float64
	for range 4 {
		if err := m.Manager.Stop(); err != nil {
			return nil, err
		}
		took, err := m.startManager(ctx)
		if err != nil {
			return nil, err
		}
		ready = append(ready, took.Seconds())
		if err := m.atRest(ctx); err != nil {
			return nil, err
		}
		f, err := m.figures(ctx)
		if err != nil {
			return nil, err
		}
		written += f.get(treeWrites)
	}
	return []row{
		{work: fmt.Sprintf("four restarts with %s: writes and deletes", number(6*n)+" copies"), measured: written, limit: new(0.0)},
		{work: fmt.Sprintf("restart with %s to ready", number(6*n)+" copies"), measured: median(ready), unit: "s", limit: new(float64(readyBound))},
	}, nil
}
