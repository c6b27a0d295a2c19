// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

const (
	// lookBound is how many milliseconds looking into a Namespace may take.
	lookBound = 140
	// heldNamespace holds a protected object, and is marked.
	heldNamespace = "bench-1"
	// momentNamespace holds a protected object for a moment again and again, too
	// short for its mark.
	momentNamespace = "bench-2"
)

// verdict is who decided about a deletion.
type verdict string

const (
	byNobody  verdict = "nobody"
	byPolicy  verdict = "a policy"
	byWebhook verdict = "the webhook"
)

func verdictOf(err error) (verdict, error) {
	switch {
	case err == nil:
		return byNobody, nil
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'holdfast-"):
		return byPolicy, nil
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "admission webhook"):
		return byWebhook, nil
	}
	return "", err
}

// looked are the times of each round: with Holdfast and without.
type looked struct{ with, bare []float64 }

func (l *looked) row(work string) row {
	return row{work: work, floor: "the same request without Holdfast", measured: median(l.with), base: median(l.bare), unit: "ms"}
}

// namespacesBench measures the deletion of Namespaces, as a dry run: it asks the
// same policies and webhooks, and the Namespace stays.
type namespacesBench struct {
	*subject
	contents []int
	looks    int
	// plain and named are about Namespaces full of unprotected ConfigMaps; named
	// while a protection names ConfigMaps elsewhere, so that each has to be looked
	// at.
	plain, named []looked
	held, moment looked
}

func measureNamespaces(ctx context.Context, b *bench) ([]row, error) {
	b.progress("namespaces: a cluster")
	s, err := b.running(ctx, withoutLease)
	if err != nil {
		return nil, err
	}
	m := &namespacesBench{
		subject: s, contents: b.contents, looks: b.looks,
		plain: make([]looked, len(b.contents)), named: make([]looked, len(b.contents)),
	}
	if err := m.fill(ctx); err != nil {
		return nil, err
	}
	for round := range b.lookRounds {
		b.progress("namespaces, round %d of %d", round+1, b.lookRounds)
		states := map[bool]func(context.Context) error{true: m.with, false: m.without}
		for _, with := range turns(round) {
			if err := states[with](ctx); err != nil {
				return nil, err
			}
		}
	}
	return m.rows(), nil
}

func (m *namespacesBench) rows() (rows []row) {
	for i, n := range m.contents {
		r := m.plain[i].row("DELETE of a Namespace that holds " + count(n, "unprotected ConfigMap"))
		r.limit = new(float64(lookBound))
		rows = append(rows, r)
	}
	for i, n := range m.contents {
		rows = append(rows, m.named[i].row("the same with "+count(n, "ConfigMap")+", while a ResourceDeletionProtection names ConfigMaps elsewhere"))
	}
	held := m.held.row("DELETE of a Namespace that holds a protected object, refused by its mark")
	held.bound = deleteBound
	moment := m.moment.row("DELETE of a Namespace that holds a protected object, refused before its mark is there")
	moment.limit = new(float64(lookBound))
	return append(rows, held, moment)
}

func fullNamespace(i int) string { return fmt.Sprintf("full-%d", i) }

// fill makes the Namespaces and what is in them.
func (m *namespacesBench) fill(ctx context.Context) error {
	if err := m.makeNamespaces(ctx, "full", len(m.contents)); err != nil {
		return err
	}
	for i, n := range m.contents {
		err := each(n, makers, func(o int) error {
			return m.Client.Create(ctx, configMap(fullNamespace(i), fmt.Sprintf("loose-%d", o), nil))
		})
		if err != nil {
			return fmt.Errorf("fill a namespace: %w", err)
		}
	}
	if err := m.Client.Create(ctx, configMap(heldNamespace, "kept", protectedLabel)); err != nil {
		return fmt.Errorf("make a protected object: %w", err)
	}
	return m.marked(ctx, heldNamespace, true)
}

// marked waits until a Namespace carries its mark, or does not.
func (m *namespacesBench) marked(ctx context.Context, name string, want bool) error {
	return await(ctx, fmt.Sprintf("the mark of namespace %s is there (%t)", name, want), 10*time.Millisecond, func(ctx context.Context) (bool, error) {
		var ns corev1.Namespace
		if err := m.Client.Get(ctx, client.ObjectKey{Name: name}, &ns); err != nil {
			return false, fmt.Errorf("read namespace: %w", err)
		}
		return (ns.Labels[v1alpha1.HoldsProtectedMark] != "") == want, nil
	})
}

// look asks for the deletion of a Namespace, and returns who decided and after
// how many milliseconds.
func (m *namespacesBench) look(ctx context.Context, name string) (verdict, float64, error) {
	begin := time.Now()
	err := m.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.DryRunAll)
	took := milliseconds(time.Since(begin))
	v, err := verdictOf(err)
	if err != nil {
		err = fmt.Errorf("delete namespace %s: %w", name, err)
	}
	return v, took, err
}

// median asks some times, each with the same verdict, and adds the median.
func (m *namespacesBench) median(ctx context.Context, name string, want verdict, to *[]float64) error {
	times := make([]float64, m.looks)
	for i := -1; i < m.looks; i++ { // the first is to warm up
		v, took, err := m.look(ctx, name)
		if err != nil {
			return err
		}
		if v != want {
			return fmt.Errorf("delete namespace %s: %s decided, want %s", name, v, want)
		}
		if i >= 0 {
			times[i] = took
		}
	}
	*to = append(*to, median(times))
	return nil
}

// without measures without any policy or webhook.
func (m *namespacesBench) without(ctx context.Context) error {
	if err := m.switchTo(ctx, false); err != nil {
		return err
	}
	for i := range m.contents {
		for _, l := range []*looked{&m.plain[i], &m.named[i]} {
			if err := m.median(ctx, fullNamespace(i), byNobody, &l.bare); err != nil {
				return err
			}
		}
	}
	return errors.Join(
		m.median(ctx, heldNamespace, byNobody, &m.held.bare),
		m.median(ctx, momentNamespace, byNobody, &m.moment.bare))
}

// with measures with Holdfast.
func (m *namespacesBench) with(ctx context.Context) error {
	if err := m.switchTo(ctx, true); err != nil {
		return err
	}
	for i := range m.contents {
		if err := m.median(ctx, fullNamespace(i), byNobody, &m.plain[i].with); err != nil {
			return err
		}
	}
	if err := m.median(ctx, heldNamespace, byPolicy, &m.held.with); err != nil {
		return err
	}
	if err := m.moments(ctx); err != nil {
		return err
	}
	return m.withNaming(ctx)
}

// moments asks for the deletion of a Namespace right after something in it was
// protected. Where the mark was faster, the time does not count.
func (m *namespacesBench) moments(ctx context.Context) error {
	var times []float64
	for range m.looks {
		o := configMap(momentNamespace, "kept", protectedLabel)
		if err := m.Client.Create(ctx, o); err != nil {
			return fmt.Errorf("make a protected object: %w", err)
		}
		v, took, err := m.look(ctx, momentNamespace)
		switch {
		case err != nil:
			return err
		case v == byNobody:
			return fmt.Errorf("delete namespace %s, which holds a protected object: nobody refused it", momentNamespace)
		case v == byWebhook:
			times = append(times, took)
		}
		if err := m.marked(ctx, momentNamespace, true); err != nil {
			return err
		}
		if err := m.release(ctx, []*corev1.ConfigMap{o}); err != nil {
			return err
		}
		if err := m.marked(ctx, momentNamespace, false); err != nil {
			return err
		}
	}
	if len(times) == 0 {
		return errors.New("the mark was faster each time, so the webhook's refusal was not measured")
	}
	m.moment.with = append(m.moment.with, median(times))
	return nil
}

// withNaming measures while a protection names ConfigMaps.
func (m *namespacesBench) withNaming(ctx context.Context) error {
	p := protection("elsewhere", v1alpha1.ResourceSelector{Namespace: metav1.NamespaceDefault, Name: "none"})
	if err := m.Client.Create(ctx, p); err != nil {
		return fmt.Errorf("make a protection: %w", err)
	}
	err := await(ctx, "a protection is ready", 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return false, fmt.Errorf("read a protection: %w", err)
		}
		return protects(p, 0), nil
	})
	if err != nil {
		return err
	}
	for i := range m.contents {
		if err := m.median(ctx, fullNamespace(i), byNobody, &m.named[i].with); err != nil {
			return err
		}
	}
	if err := m.Client.Delete(ctx, p); err != nil {
		return fmt.Errorf("delete a protection: %w", err)
	}
	_, err = m.rest(ctx)
	return err
}
