// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package propagate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hncv1alpha2 "github.com/holdfast-dev/holdfast/api/hnc/v1alpha2"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree"
	"github.com/holdfast-dev/holdfast/internal/hierarchy/tree/treetest"
)

var (
	role, roleBinding = RoleKind, RoleBindingKind

	secret    = schema.GroupKind{Kind: "Secret"}
	configMap = schema.GroupKind{Kind: "ConfigMap"}
)

// family is the tree of most tests: a root with two children, one of which has
// children itself, and a label on one of those.
const family = "a <- b <- c, b <- d, a <- e"

func labelled() tree.Edit {
	return tree.SetNamespace("c", &tree.Object{Labels: map[string]string{"tier": "web"}})
}

// object in namespace a, with annotations of the short names select, treeSelect,
// none and all, as "all=true".
func object(kind schema.GroupKind, says ...string) Object {
	o := Object{Kind: kind, Namespace: "a", Name: "x", Annotations: map[string]string{}, Labels: map[string]string{}}
	for _, s := range says {
		key, value, _ := strings.Cut(s, "=")
		o.Annotations[hncv1alpha2.AnnotationPropagatePrefix+"/"+key] = value
	}
	return o
}

// noRoles is a cache without Roles.
func noRoles(string, string) Role { return Role{} }

// copies are the namespaces with a copy, each with the namespace of its source.
func copies(s *Sources, t *tree.Tree, k Key) string {
	var out []string
	for _, name := range t.Names() {
		if v := s.Decide(t, k, name, noRoles); v.Action == Copy {
			out = append(out, name+":"+v.Source.Namespace)
		}
	}
	return strings.Join(out, " ")
}

func TestDecide_exceptionsAndModes(t *testing.T) {
	t.Parallel()
	const everywhere = "b:a c:a d:a e:a"
	tests := []struct {
		name string
		kind schema.GroupKind
		mode hncv1alpha2.SynchronizationMode
		says []string
		want string
	}{
		{"everywhere, without exceptions", secret, "Propagate", nil, everywhere},
		{"everywhere, for an unset mode", secret, "", nil, everywhere},
		{"nowhere, for an unknown mode", secret, "Sideways", nil, ""},
		{"nowhere, if ignored", secret, "Ignore", nil, ""},
		{"nowhere, if removed", secret, "Remove", nil, ""},
		{"a kind that is not listed is ignored", configMap, "Propagate", nil, ""},
		{"roles always", role, "Ignore", nil, everywhere},
		{"role bindings always", roleBinding, "Remove", nil, everywhere},
		{"select by a label of the namespace", secret, "Propagate", []string{"select=tier=web"}, "c:a"},
		{"select by a tree label", secret, "Propagate", []string{"select=b.tree.hnc.x-k8s.io/depth"}, "b:a c:a d:a"},
		{"select by a number", secret, "Propagate", []string{"select=a.tree.hnc.x-k8s.io/depth>1"}, "c:a d:a"},
		{"select everything but", secret, "Propagate", []string{"select=tier!=web"}, "b:a d:a e:a"},
		{"an empty select says nothing", secret, "Propagate", []string{"select="}, everywhere},
		{"treeSelect a subtree", secret, "Propagate", []string{"treeSelect=b"}, "b:a c:a d:a"},
		{"treeSelect everything but", secret, "Propagate", []string{"treeSelect=!b"}, "e:a"},
		{"treeSelect a subtree without a part", secret, "Propagate", []string{"treeSelect=b, !c"}, "b:a d:a"},
		{"treeSelect without two", secret, "Propagate", []string{"treeSelect=!c,!e"}, "b:a d:a"},
		{"treeSelect of a stranger", secret, "Propagate", []string{"treeSelect=z"}, ""},
		{"select and treeSelect both count", secret, "Propagate", []string{"select=tier=web", "treeSelect=!c"}, ""},
		{"none", secret, "Propagate", []string{"none=true"}, ""},
		{"none, not", secret, "Propagate", []string{"none=false"}, everywhere},
		{"none wins over all", secret, "Propagate", []string{"none=true", "all=true"}, ""},
		{"all does not widen a select", secret, "Propagate", []string{"select=tier=web", "all=true"}, "c:a"},
		{"all, not, says nothing", secret, "Propagate", []string{"all=false"}, everywhere},
		{"a bad select", secret, "Propagate", []string{"select=a b"}, ""},
		{"a bad treeSelect", secret, "Propagate", []string{"treeSelect=b,"}, ""},
		{"a bad none", secret, "Propagate", []string{"none=maybe"}, ""},
		{"a bad all", secret, "Propagate", []string{"all=maybe"}, ""},
		{"allowed, and not asked", secret, "AllowPropagate", nil, ""},
		{"allowed, and asked with all", secret, "AllowPropagate", []string{"all=true"}, everywhere},
		{"allowed, and asked with a false all", secret, "AllowPropagate", []string{"all=false"}, ""},
		{"allowed, and asked with select", secret, "AllowPropagate", []string{"select=tier=web"}, "c:a"},
		{"allowed, and asked with treeSelect", secret, "AllowPropagate", []string{"treeSelect=!b"}, "e:a"},
		{"allowed, and none is not asking", secret, "AllowPropagate", []string{"none=false"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Rules{Modes: map[schema.GroupKind]hncv1alpha2.SynchronizationMode{secret: tt.mode, role: tt.mode, roleBinding: tt.mode}}
			s := NewSources(r).With(r.NewSource(object(tt.kind, tt.says...)))
			if got := copies(s, treetest.Make(t, family, labelled()), Key{tt.kind, "x"}); got != tt.want {
				t.Errorf("copies in %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecide_builtInExclusions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(o *Object)
		want   bool
	}{
		{"a plain object is copied", func(*Object) {}, true},
		{"the token of a service account", func(o *Object) { o.Kind, o.Type = secret, "kubernetes.io/service-account-token" }, false},
		{"a release of Helm", func(o *Object) { o.Kind, o.Type = secret, "helm.sh/release.v1" }, false},
		{"another Secret is copied", func(o *Object) { o.Kind, o.Type = secret, "Opaque" }, true},
		{"another kind with that type is copied", func(o *Object) { o.Type = "helm.sh/release.v1" }, true},
		{"the authority of Istio", func(o *Object) { o.Kind, o.Name = configMap, "istio-ca-root-cert" }, false},
		{"the authority of the cluster", func(o *Object) { o.Kind, o.Name = configMap, "kube-root-ca.crt" }, false},
		{"another kind of that name is copied", func(o *Object) { o.Kind, o.Name = secret, "kube-root-ca.crt" }, true},
		{"what OpenShift made", func(o *Object) { o.Annotations["openshift.io/description"] = "" }, false},
		{"a label of the configuration", func(o *Object) { o.Labels["cattle.io/creator"] = "norman" }, false},
		{"that label with another value is copied", func(o *Object) { o.Labels["cattle.io/creator"] = "bates" }, true},
		{"all does not help", func(o *Object) {
			o.Labels["cattle.io/creator"] = "norman"
			o.Annotations[hncv1alpha2.AnnotationAll] = "true"
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Rules{
				NoCopies: map[string][]string{"cattle.io/creator": {"norman", "another"}},
				Modes:    map[schema.GroupKind]hncv1alpha2.SynchronizationMode{secret: "Propagate", configMap: "Propagate"},
			}
			o := object(role)
			tt.change(&o)
			source := r.NewSource(o)
			if got := copies(NewSources(r).With(source), treetest.Make(t, "a <- b"), source.Key) != ""; got != tt.want {
				t.Errorf("copied: %v", got)
			}
			if (source.Excluded == "") != tt.want {
				t.Errorf("the reason is %q", source.Excluded)
			}
		})
	}
}

func TestDecide_roleBindingsOfRootSyncsAreNeverCopied(t *testing.T) {
	t.Parallel()
	const home = "config-management-system"
	account := func(namespace string) rbacv1.Subject {
		return rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: "root-reconciler-shop"}
	}
	user, group := rbacv1.Subject{Kind: "User"}, rbacv1.Subject{Kind: "Group"}
	named := func(s rbacv1.Subject, name string) rbacv1.Subject { s.Name = name; return s }
	tests := []struct {
		name     string
		subjects []rbacv1.Subject
		labels   map[string]string
		want     bool
	}{
		{"one without subjects is copied", nil, nil, true},
		{"one for a user and an account of another namespace is copied", []rbacv1.Subject{named(user, "alice"), account("shop")}, nil, true},
		{"one for the account of a RootSync is not", []rbacv1.Subject{account(home)}, nil, false},
		{"nor is one for a user beside it", []rbacv1.Subject{named(user, "alice"), account(home)}, nil, false},
		{"nor is one that calls the account a user", []rbacv1.Subject{named(user, "system:serviceaccount:"+home+":root-reconciler")}, nil, false},
		{"nor is one for the group of the accounts", []rbacv1.Subject{named(group, "system:serviceaccounts:"+home)}, nil, false},
		{"one for the group of the accounts of another namespace is copied", []rbacv1.Subject{named(group, "system:serviceaccounts:shop")}, nil, true},
		{"one with the label of those of RootSyncs is not", []rbacv1.Subject{named(user, "alice")}, map[string]string{"configsync.gke.io/sync-kind": "RootSync"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: tt.labels}, Subjects: tt.subjects,
			})
			if err != nil {
				t.Fatal(err)
			}
			source := Rules{}.NewSource(Describe(roleBinding, "a", &unstructured.Unstructured{Object: content}))
			if got := copies(NewSources(Rules{}).With(source), treetest.Make(t, "a <- b"), source.Key) != ""; got != tt.want {
				t.Errorf("copied: %v, because %q", got, source.Excluded)
			}
		})
	}
}

func TestDecide_whichSourceAndWhere(t *testing.T) {
	t.Parallel()
	r := Rules{}
	tests := []struct {
		name    string
		tree    string
		sources map[string]string // namespace, and what its annotation treeSelect says
		want    string
	}{
		{"the top-most source wins", family, map[string]string{"a": "", "b": ""}, "b:a c:a d:a e:a"},
		{"the next one takes what that leaves", family, map[string]string{"a": "!c", "b": ""}, "b:a c:b d:a e:a"},
		{"a source nobody is below", family, map[string]string{"c": ""}, ""},
		{"sources side by side", family, map[string]string{"b": "", "e": ""}, "c:b d:b"},
		{"below an orphan everything stays", "?z <- o <- p", map[string]string{"o": ""}, ""},
		{"in a cycle everything stays", "a <- b <- a", map[string]string{"a": ""}, ""},
		{"an excluded namespace gets nothing", "a <- !x, a <- b", map[string]string{"a": ""}, "b:a"},
		{"an excluded namespace gives nothing", "!x <- b", map[string]string{"x": ""}, ""},
		{"an external namespace gives", "~e <- b", map[string]string{"e": ""}, "b:e"},
		{"a namespace that ends gets nothing", "a <- -b, a <- c", map[string]string{"a": ""}, "c:a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := NewSources(r)
			for namespace, says := range tt.sources {
				o := object(role, "treeSelect="+says)
				o.Namespace = namespace
				s = s.With(r.NewSource(o))
			}
			if got := copies(s, treetest.Make(t, tt.tree), Key{role, "x"}); got != tt.want {
				t.Errorf("copies in %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecide_leavesOrRemoves(t *testing.T) {
	t.Parallel()
	held := object(secret)
	held.Finalizers = true
	tests := []struct {
		name string
		tree string
		mode hncv1alpha2.SynchronizationMode
		o    Object
		want Action
	}{
		{"removes what no source asks for", "a, b", "Propagate", object(secret), Remove},
		{"removes copies of a kind that is removed", "a <- b", "Remove", object(secret), Remove},
		{"removes what a bad exception left", "a <- b", "Propagate", object(secret, "select=a b"), Remove},
		{"leaves what is ignored", "a <- b", "Ignore", object(secret), Leave},
		{"leaves what is in an orphan", "?a <- b", "Propagate", object(secret), Leave},
		{"leaves what is in an orphan, though the kind is removed", "?a <- b", "Remove", object(secret), Leave},
		{"leaves what is excluded", "a <- !b", "Propagate", object(secret), Leave},
		{"leaves what ends", "a <- -b", "Propagate", object(secret), Leave},
		{"leaves what does not exist", "a <- ?b", "Propagate", object(secret), Leave},
		{"leaves the copies of a source that got a finalizer", "a <- b", "Propagate", held, Leave},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Rules{Modes: map[schema.GroupKind]hncv1alpha2.SynchronizationMode{secret: tt.mode}}
			s := NewSources(r).With(r.NewSource(tt.o))
			if got := s.Decide(treetest.Make(t, tt.tree), Key{secret, "x"}, "b", noRoles).Action; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestOverwritten_namesSourcesThatWouldGiveWay(t *testing.T) {
	t.Parallel()
	r := Rules{}
	at := func(namespace string, says ...string) *Source {
		o := object(role, says...)
		o.Namespace = namespace
		return r.NewSource(o)
	}
	s := NewSources(r).With(at("a")).With(at("c")).With(at("e"))
	made := treetest.Make(t, family)
	tests := []struct {
		name   string
		source *Source
		want   []string
	}{
		{"those below", at("a"), []string{"c", "e"}},
		{"those to which it would be copied", at("a", "treeSelect=!b"), []string{"e"}},
		{"not itself", at("c"), nil},
		{"not those above", at("b"), []string{"c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, s.Overwritten(made, tt.source)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseExceptions_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, says, want string }{
		{"an empty segment at the end", "treeSelect=a,", "missing between the commas"},
		{"an empty segment", "treeSelect=a,,b", "missing between the commas"},
		{"nothing but a blank", "treeSelect= ", "missing between the commas"},
		{"nothing but a mark", "treeSelect=!", "missing between the commas"},
		{"no name", "treeSelect=a_b", `"a_b" is no name of a namespace`},
		{"a blank behind the mark", "treeSelect=! a", `" a" is no name of a namespace`},
		{"two without a mark", "treeSelect=a,!b,c", `not a, c`},
		{"a select with an operator that is none", "select=a~1", "annotation propagate.hnc.x-k8s.io/select"},
		{"a none that is no boolean", "none=yes", "annotation propagate.hnc.x-k8s.io/none"},
		{"an all that is no boolean", "all=yes", "annotation propagate.hnc.x-k8s.io/all"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseExceptions(object(secret, tt.says).Annotations)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %q in it", err, tt.want)
			}
		})
	}
}

func FuzzTreeSelect(f *testing.F) {
	for _, s := range []string{"a", "a,", " ", "!a", "!a, b", ",", "!", "a,b", "a,!a"} {
		f.Add(s, "a")
	}
	f.Fuzz(func(t *testing.T, text, below string) {
		e, err := ParseExceptions(map[string]string{hncv1alpha2.AnnotationTreeSelect: text})
		if err != nil || text == "" {
			return
		}
		// What is read without an error says the same when it is read plainly.
		want := true
		for segment := range strings.SplitSeq(text, ",") {
			name, negated := strings.CutPrefix(strings.TrimSpace(segment), "!")
			want = want && (name == below) != negated
		}
		if got := e.allow(map[string]string{below + hncv1alpha2.LabelTreeDepthSuffix: "1"}); got != want {
			t.Errorf("%q lets %q through: %v", text, below, got)
		}
	})
}

func FuzzSelect(f *testing.F) {
	for _, s := range []string{"a=b", "a in (b,c)", "!a", "a notin (", "a>1", ",", "a==b,c!=d", "a!=b"} {
		f.Add(s, "a", "b")
	}
	f.Fuzz(func(t *testing.T, text, key, value string) {
		e, err := ParseExceptions(map[string]string{hncv1alpha2.AnnotationSelect: text})
		if err != nil || text == "" {
			return
		}
		again, err := labels.Parse(e.selector.String())
		if err != nil {
			t.Fatalf("%q reads as %q, which cannot be read: %v", text, e.selector, err)
		}
		if on := (labels.Set{key: value}); e.allow(on) != again.Matches(on) {
			t.Errorf("%q lets %v through: %v", text, on, e.allow(on))
		}
	})
}
