// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

// model is a cluster with one namespace, and RootSyncs that do what Judge tells them.
type model struct {
	t       *testing.T
	live    *metav1.ObjectMeta // nil while there is none
	version int
	stakes  Stakes
	// managers counts how often the namespace got another manager.
	managers int
	// truth are the rights of RootSyncs, answered says which of them are known, nil for all, and asked are those that were
	// asked for.
	truth    map[object.Sync]object.Right
	answered map[object.Sync]bool
	asked    []object.Sync
}

func (m *model) object() metav1.Object {
	if m.live == nil {
		return nil
	}
	return m.live
}

// settle lets everybody act until nobody has to; which acts first is random.
func (m *model) settle(random *rand.Rand) {
	m.t.Helper()
	for range 20 {
		m.asked = nil
		r, err := Judge(m.object(), m.stakes, Rights{Namespace: m.may}, epoch)
		if err != nil {
			m.t.Fatal(err)
		}
		var todo []func()
		for _, sync := range m.asked {
			todo = append(todo, func() { m.answered[sync] = true })
		}
		if r.Write != nil {
			todo = append(todo, func() { m.annotate(v1alpha1.ClaimsAnnotation, r.Write.Annotation) })
		}
		if r.Owner != "" && r.Of(r.Owner) == Own && !m.is(r.Owner) && m.truth[r.Owner] == object.Granted {
			todo = append(todo, func() { m.apply(r.Owner) })
		}
		if len(todo) == 0 {
			return
		}
		todo[random.IntN(len(todo))]()
	}
	m.t.Fatal("it does not come to rest")
}

// is says whether the namespace is as a RootSync would apply it.
func (m *model) is(sync object.Sync) bool {
	if m.live == nil {
		return false
	}
	_, declared := m.live.Annotations[object.AnnotationSourcePath]
	return object.Managed(m.live, object.NamespaceID("shop")) == sync.Manager() && declared == (m.stakes[sync].How == Declares)
}

func (m *model) apply(sync object.Sync) {
	if m.live == nil {
		m.live = &metav1.ObjectMeta{Name: "shop", UID: "1"}
	}
	if m.live.Annotations[object.AnnotationManager] != sync.Manager() {
		m.managers++
	}
	m.annotate(object.AnnotationManaged, object.ManagedEnabled)
	m.annotate(object.AnnotationResourceID, "_namespace_shop")
	m.annotate(object.AnnotationManager, sync.Manager())
	path := ""
	if m.stakes[sync].How == Declares {
		path = "ns.yaml"
	}
	m.annotate(object.AnnotationSourcePath, path)
}

func (m *model) annotate(key, value string) {
	if value == "" {
		delete(m.live.Annotations, key)
	} else {
		metav1.SetMetaDataAnnotation(m.live, key, value)
	}
	m.version++
	m.live.ResourceVersion = fmt.Sprint(m.version)
}

func older(stakes Stakes, a, b object.Sync) int {
	return cmp.Or(stakes[a].Since.Compare(stakes[b].Since), cmp.Compare(a, b))
}

func permutations(list []object.Sync) [][]object.Sync {
	if len(list) == 0 {
		return [][]object.Sync{nil}
	}
	var out [][]object.Sync
	for i := range list {
		rest := append(append([]object.Sync{}, list[:i]...), list[i+1:]...)
		for _, p := range permutations(rest) {
			out = append(out, append([]object.Sync{list[i]}, p...))
		}
	}
	return out
}

// The seed's three RootSyncs, in every order, and each of the ages that they can have.
func TestJudge_isTheSameForEveryOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for _, ages := range permutations([]object.Sync{"a", "x", "y"}) {
		for _, order := range permutations([]object.Sync{"a", "x", "y"}) {
			t.Run(fmt.Sprintf("ages %v, order %v", ages, order), func(t *testing.T) {
				m := &model{t: t, stakes: Stakes{}}
				for _, sync := range order {
					how := Makes
					if sync == "a" {
						how = Declares
					}
					for day, s := range ages {
						if s == sync {
							m.stakes[sync] = Stake{How: how, Since: epoch.AddDate(0, 0, day)}
						}
					}
					m.settle(random)
				}
				if !m.is("a") {
					t.Errorf("it is %v", m.live.Annotations)
				}
				if m.managers > 2 {
					t.Errorf("it had %d managers", m.managers)
				}
				claims := m.live.Annotations[v1alpha1.ClaimsAnnotation]
				if want := (Stakes{"a": m.stakes["a"], "x": m.stakes["x"], "y": m.stakes["y"]}).text(); claims != want {
					t.Errorf("claims are %q, want %q", claims, want)
				}
				delete(m.stakes, "a")
				m.settle(random)
				oldest := object.Sync("x")
				if older(m.stakes, "y", "x") < 0 {
					oldest = "y"
				}
				if !m.is(oldest) {
					t.Errorf("without the declaration it is %v", m.live.Annotations)
				}
			})
		}
	}
}

// text is what is written when somebody declares a namespace that none had found.
func (s Stakes) text() string {
	list := binds
	for i, c := range (contest{stakes: s}).claims() {
		if i > 0 {
			list += ", "
		}
		list += c.String()
	}
	return list
}

// All RootSyncs come and go as they like: it comes to rest each time, and what
// several declare is always the oldest one's.
func TestJudge_comesToRest(t *testing.T) {
	t.Parallel()
	seeds := uint64(300)
	if testing.Short() {
		seeds = 50
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 2))
		m := &model{t: t, stakes: Stakes{}}
		for range 20 {
			sync := object.Sync([]string{"a", "b", "x", "y"}[random.IntN(4)])
			if how := random.IntN(4); how == 3 {
				delete(m.stakes, sync)
			} else {
				m.stakes[sync] = Stake{How: How(how), Since: epoch.AddDate(0, 0, int(sync[0])%3)}
			}
			m.settle(random)
			r, err := Judge(m.object(), m.stakes, Rights{}, epoch)
			if err != nil {
				t.Fatal(err)
			}
			for other, stake := range m.stakes {
				if stake.How == Declares && older(m.stakes, other, r.Owner) < 0 {
					t.Fatalf("seed %d: %s has it, and %s declares it and is older", seed, r.Owner, other)
				}
			}
		}
	}
}
