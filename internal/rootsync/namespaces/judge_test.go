// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
	"github.com/holdfast-dev/holdfast/internal/platform/ownership"
	"github.com/holdfast-dev/holdfast/internal/rootsync/object"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// stakes reads "a declares 3, x makes 1, y needs 2": the number is how old in days
// after the epoch the RootSync is.
func stakes(t *testing.T, text string) Stakes {
	t.Helper()
	out := Stakes{}
	for _, item := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		var name, how string
		var day int
		if _, err := fmt.Sscan(item, &name, &how, &day); err != nil {
			t.Fatalf("%q: %v", item, err)
		}
		out[object.Sync(name)] = Stake{
			How:   map[string]How{"declares": Declares, "makes": Makes, "needs": Needs}[how],
			Since: epoch.AddDate(0, 0, day),
		}
	}
	return out
}

// binds binds claims to namespace.
const binds = "of 1, "

// namespace reads "nothing", or words: "there", "gone" (being deleted), "of x" and
// "declared-by x" (marks of Config Sync), "flux", "anchor", and after a "|" claims.
func namespace(t *testing.T, text string) metav1.Object {
	t.Helper()
	if text == "nothing" {
		return nil
	}
	marks, claims, _ := strings.Cut(text, "|")
	o := &metav1.ObjectMeta{Name: "shop", UID: "1", ResourceVersion: "2", Labels: map[string]string{}, Annotations: map[string]string{}}
	words := strings.Fields(marks)
	for i, word := range words {
		switch word {
		case "gone":
			o.DeletionTimestamp = &metav1.Time{Time: epoch}
		case "flux":
			o.Labels["kustomize.toolkit.fluxcd.io/name"] = "apps"
			o.Labels["kustomize.toolkit.fluxcd.io/namespace"] = "flux"
		case "anchor":
			o.Annotations["hnc.x-k8s.io/subnamespace-of"] = "acme"
		case "declared-by":
			o.Annotations[object.AnnotationSourcePath] = "ns.yaml"
			fallthrough
		case "of":
			o.Annotations[object.AnnotationManaged] = object.ManagedEnabled
			o.Annotations[object.AnnotationResourceID] = "_namespace_shop"
			o.Annotations[object.AnnotationManager] = object.Sync(words[i+1]).Manager()
		}
	}
	if claims != "" {
		o.Annotations[v1alpha1.ClaimsAnnotation] = binds + written(claims)
	}
	return o
}

// written spells "declared a 3; implicit x 1" out.
func written(text string) string {
	var out []string
	for item := range strings.SplitSeq(text, ";") {
		f := strings.Fields(item)
		switch {
		case len(f) == 1:
			out = append(out, f[0])
			continue
		case f[1] == "anchor/acme":
			out = append(out, f[0]+" anchor/acme -")
			continue
		}
		var day int
		_, _ = fmt.Sscan(f[2], &day)
		out = append(out, ownership.At(ownership.How(f[0]), claimant(object.Sync(f[1])), epoch.AddDate(0, 0, day)).String())
	}
	return strings.Join(out, ", ")
}

var acts = map[Act]string{Wait: "waits", Use: "uses", Own: "owns", Conflict: "conflicts"}

// said is what each RootSync does, and whether claims are to be written.
func said(r Ruling, all Stakes) string {
	var out []string
	for _, sync := range []object.Sync{"a", "b", "x", "y"} {
		if _, ok := all[sync]; ok {
			out = append(out, string(sync)+" "+acts[r.Of(sync)])
		}
	}
	if r.Write != nil {
		out = append(out, "writes")
	}
	return strings.Join(out, ", ")
}

func TestJudge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, live, stakes string
		want               string
		claims             string // that are to be written
	}{
		// The seed's scenario.
		{"nobody has made it: who declares it does", "nothing", "a declares 3, x makes 1, y makes 2", "a owns, x waits, y waits", ""},
		{"who uses it has made it: the claims come first", "of x", "a declares 3, x makes 1, y makes 2",
			"a uses, x uses, y uses, writes", "declared a 3; implicit x 1; implicit y 2"},
		{"then who declares it takes it over", "of x | declared a 3; implicit x 1; implicit y 2", "a declares 3, x makes 1, y makes 2", "a owns, x uses, y uses", ""},
		{"and has it", "declared-by a | declared a 3; implicit x 1; implicit y 2", "a declares 3, x makes 1, y makes 2", "a owns, x uses, y uses", ""},
		{"until it declares it no longer: the oldest user has it", "declared-by a | declared a 3; implicit x 1; implicit y 2", "x makes 1, y makes 2",
			"x uses, y uses, writes", "implicit x 1; implicit y 2"},
		{"and makes it its own", "declared-by a | implicit x 1; implicit y 2", "x makes 1, y makes 2", "x owns, y uses", ""},

		// The seed's table: a declares it or not, others manage it or not, all explicit.
		{"declared here and not elsewhere", "nothing", "a declares 1", "a owns", ""},
		{"declared here, and there", "declared-by a", "a declares 1", "a owns", ""},
		{"not declared here: objects wait", "nothing", "x needs 1", "x waits", ""},
		{"not declared here, made by somebody", "there", "x needs 1", "x uses", ""},
		{"declared here and elsewhere: the older has it", "nothing", "a declares 2, b declares 1", "a conflicts, b owns", ""},
		{"declared here and elsewhere, of one age: the first by name", "nothing", "a declares 1, b declares 1", "a owns, b conflicts", ""},
		{"declared by both, the younger came first: the claims come first", "declared-by a", "a declares 2, b declares 1",
			"a conflicts, b uses, writes", "declared a 2; declared b 1"},
		{"declared by both, the claims are written", "declared-by a | declared a 2; declared b 1", "a declares 2, b declares 1", "a conflicts, b owns", ""},
		{"the older declares it no longer: the younger has it, and the mark of the older counts for nothing",
			"declared-by b | declared a 2; declared b 1", "a declares 2", "a uses, writes", ""},

		// As in Config Sync, where nobody declares it.
		{"implicit, not there: the oldest makes it", "nothing", "x makes 2, y makes 1", "x waits, y owns", ""},
		{"implicit, there and nobody's: used", "there", "x makes 1", "x uses", ""},
		{"implicit, there and another's: used, the older user or not", "of x", "x makes 2, y makes 1", "x owns, y uses", ""},
		{"implicit, and whoever made it needs it no longer: nobody adopts it", "of x", "y makes 1", "y uses", ""},
		{"implicit, and whoever made it has turned to explicit", "of x", "x needs 1", "x uses", ""},
		{"being deleted: nothing can be made in it", "gone", "x makes 1, y needs 2", "x waits, y waits", ""},

		// Others.
		{"of an anchor: a declaration goes first", "anchor | subnamespace anchor/acme", "a declares 1", "a uses, writes", "subnamespace anchor/acme; declared a 1"},
		{"of an anchor: who makes it does not", "anchor", "x makes 1", "x uses", ""},
		{"of Flux: a declaration goes first", "flux", "a declares 1", "a uses, writes", "found; declared a 1"},
		{"nobody's: a declaration adopts it, and that it was found is written first", "there", "a declares 1, x makes 2", "a uses, x uses, writes", "found; declared a 1"},
		{"adopted, and given up: nobody's again", "declared-by a | found; declared a 1", "x makes 2", "x uses, writes", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := stakes(t, tt.stakes)
			r, err := Judge(namespace(t, tt.live), all, Rights{}, epoch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, said(r, all)); diff != "" {
				t.Errorf("%s\n%s", diff, r.Why)
			}
			if tt.claims != "" && r.Write != nil && !strings.Contains(tt.live, "flux") {
				if diff := cmp.Diff(binds+written(tt.claims), r.Write.Annotation); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestJudge_whatCannotBeReadDecidesNothing(t *testing.T) {
	t.Parallel()
	o := &metav1.ObjectMeta{Name: "shop", UID: "1", Annotations: map[string]string{v1alpha1.ClaimsAnnotation: binds + "nonsense"}}
	if _, err := Judge(o, stakes(t, "a declares 1"), Rights{}, epoch); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("got %v", err)
	}
}

func TestFateOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, live, stakes string
		want               Fate
		users              []string
	}{
		{"nobody else: it is pruned", "declared-by a", "", Prune, nil},
		{"another declares it: handed over", "declared-by a | declared a 1; declared b 2", "b declares 2", HandOver, nil},
		{"a user of the time of the claims: handed back", "declared-by a | declared a 1; implicit x 2", "x makes 2", HandOver, nil},
		{"made along the way, and nobody declared it: let go, whoever still needs it", "of a", "x makes 2", Prune, nil},
		{"others only need it: kept for them", "declared-by a", "y needs 2, x needs 1", Keep, []string{"RootSync x", "RootSync y"}},
		{"another tool has its mark on it: let go", "declared-by a flux", "", LetGo, []string{"flux/kustomization/flux/apps (foreign)"}},
		{"an anchor made it: let go", "declared-by a anchor", "", LetGo, []string{"anchor/acme (subnamespace)"}},
		{"an anchor made it, and another RootSync needs it", "declared-by a anchor", "x needs 1", Keep, []string{"RootSync x", "anchor/acme (subnamespace)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := Judge(namespace(t, tt.live), stakes(t, tt.stakes), Rights{}, epoch)
			if err != nil {
				t.Fatal(err)
			}
			fate, users, _ := r.FateOf("a")
			if fate != tt.want {
				t.Errorf("got %d, want %d", fate, tt.want)
			}
			if diff := cmp.Diff(tt.users, users); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRivals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, live, stakes, silent string
		want                       []object.Sync
	}{
		{"others that declare it", "nothing", "a declares 2, b declares 3, x declares 1, y makes 0", "", []object.Sync{"b", "x"}},
		{"nobody else", "declared-by a | declared a 2; implicit x 1", "a declares 2, x makes 1, y needs 1", "", nil},
		{"one that says nothing, and has claimed it", "declared-by a | declared a 1; declared b 2", "a declares 1", "b", []object.Sync{"b"}},
		{"one that says nothing, and uses it", "declared-by a | declared a 1; implicit b 2", "a declares 1", "b", nil},
		{"one that says nothing and has no claim", "declared-by a", "a declares 1", "b", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := stakes(t, tt.stakes)
			if tt.silent != "" {
				all[object.Sync(tt.silent)] = Stake{How: Silent}
			}
			r, err := Judge(namespace(t, tt.live), all, Rights{}, epoch)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.Rivals("a")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAlone(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, live, stakes, want string }{
		{"whoever declares it applies it", "of x", "a declares 1, b declares 2", "a owns, b owns"},
		{"not there: all that make it do", "nothing", "x makes 1, y makes 2", "x owns, y owns"},
		{"there: whoever has made it goes on", "of y", "x makes 1, y makes 2", "x uses, y owns"},
		{"there and nobody's", "there", "x makes 1", "x uses"},
		{"only needed", "nothing", "x needs 1", "x waits"},
		{"being deleted", "gone", "x makes 1", "x waits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := stakes(t, tt.stakes)
			r := Alone(namespace(t, tt.live), all)
			if diff := cmp.Diff(tt.want, said(r, all)); diff != "" {
				t.Error(diff)
			}
			if fate, _, _ := r.FateOf("a"); fate != Prune {
				t.Errorf("what is not declared any more: %d", fate)
			}
		})
	}
}
