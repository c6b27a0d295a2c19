// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// heldAttempts is the number of attempts of a security review that failed. The tests TestHeld_… make each of them again under
// its number, or elsewhere names the test that does.
const heldAttempts = 115

// elsewhere are the tests of other packages that make an attempt. Those make it as an administrator where the protection
// does not ask for the user.
var elsewhere = []struct {
	numbers []int
	tests   string
}{
	{[]int{1, 2, 4, 5, 6, 7, 8, 9, 10}, "TestDelete_everyWayIsRefused"},
	{[]int{29}, "TestUnprotect_bindingNeedsTheRight"},
	{[]int{30}, "TestUnprotect_anOwnerThatDoesNotExist"},
	{[]int{41}, "TestConfirm_customResources"},
	{[]int{42}, "TestEscape_aDefinitionThatIsNotServedAnyMore"},
	{[]int{46}, "TestProtection_whatIsRefusedWhenItIsWritten"},
	{[]int{48, 49, 50, 51, 54}, "TestOverride_whatIsRefusedWhenItIsAskedFor"},
	{[]int{55, 56}, "TestOverride_cannotBeChanged"},
	{[]int{57}, "TestOverride_stampCannotBeFaked TestMarks_ofAnotherObject"},
	{[]int{60, 61}, "TestDeclared_isWhatTheAPIServerHas"},
	{[]int{63, 64, 65, 66}, "TestIdentity_isForWhoMayOperateHoldfast"},
	{[]int{74}, "TestIntegration TestPropagation_driftIsPutBack"},
	{[]int{96, 97, 98, 99, 100, 101}, "TestRender_whatIsRefused"},
	{[]int{102}, "TestParse_whatIsRefused TestDocuments_nothingIsLargerThanTheMemory TestRender_whatIsRefused"},
	{[]int{112}, "TestRunbooks"},
}

// scenario is an attempt that takes more than one request.
type scenario struct {
	number int
	name   string
	try    func(*rig)
}

// Each attempt has a row here or a test elsewhere, and that test exists.
func TestHeld_eachAttemptIsMadeHereOrElsewhere(t *testing.T) {
	t.Parallel()
	made := map[int]string{}
	for _, a := range slices.Concat(deletions, customResources, selections, unlabelings, owners, overrides, itself, anchors, parents, subnamespaces) {
		made[a.number] = "a row"
	}
	for _, s := range slices.Concat(derived, cuts, syncs, accounts, floods, stops(t)) {
		made[s.number] = "a scenario"
	}
	for _, s := range sources {
		made[s.number] = "a source"
	}
	made[28] = "TestHeld_everyKindAndSubresource"
	tests := testsOfTheTree(t)
	for _, e := range elsewhere {
		for _, n := range e.numbers {
			if made[n] != "" {
				t.Errorf("%d is %s, and made by %s", n, made[n], e.tests)
			}
			made[n] = e.tests
		}
		for name := range strings.FieldsSeq(e.tests) {
			if !tests[name] {
				t.Errorf("%v are made by %s, which does not exist", e.numbers, name)
			}
		}
	}
	for n := 1; n <= heldAttempts; n++ {
		if made[n] == "" {
			t.Errorf("no test makes the attempt %d", n)
		}
		delete(made, n)
	}
	if len(made) > 0 {
		t.Errorf("attempts without a number of the review: %v", made)
	}
}

// testsOfTheTree returns the names of all test functions of the repository.
func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				out[f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// attempt is a request by a user that leaves an object as it is.
type attempt struct {
	number int
	name   string
	// users make it one after the other. A name without a colon is one of users.
	users string
	// on is the object: a key of fixtures, or the arguments of "kubectl get" for one that exists.
	on string
	// line has the arguments of kubectl and input its standard input. NAME is the name of the object.
	line, input string
	// says is a part of the refusal. It is empty where the API server accepts the request, which then has no effect.
	says string
	// absent are the arguments of "kubectl get" for what the attempt would create.
	absent string
}

// fixtures are objects that are created for each attempt.
var fixtures = map[string]string{
	"cm":         `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, namespace: "{shop}", labels: {` + protected + `, app: web}}, data: {a: b}}`,
	"pod":        `{apiVersion: v1, kind: Pod, metadata: {name: NAME, namespace: "{shop}", labels: {` + protected + `, app: web}}, spec: {containers: [{name: c, image: none}]}}`,
	"deployment": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME, namespace: "{shop}", labels: {` + protected + `}}, spec: {replicas: 0, selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: none}]}}}}`,
}

// state is what no attempt changes.
type state struct {
	UID         types.UID
	Generation  int64
	Terminating bool
	Labels      map[string]string
	Owners      []metav1.OwnerReference
	Parent      string
}

// state reads the state of an object.
func (r *rig) state(line string) state {
	r.T.Helper()
	out := r.as("", "get -o json "+line, "")
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(out.Stdout), &o); err != nil {
		r.T.Fatalf("get %s: %v %s", line, err, out.Stderr)
	}
	return state{
		UID: o.UID, Generation: o.Generation, Terminating: o.DeletionTimestamp != nil, Labels: o.Labels, Owners: o.OwnerReferences,
		Parent: o.Annotations["hnc.x-k8s.io/subnamespace-of"],
	}
}

// same fails the test if an object has changed since its state was read. It may have more labels, and be marked as one that holds
// something protected.
func (r *rig) same(line string, before state) {
	r.T.Helper()
	after := r.state(line)
	maps.DeleteFunc(after.Labels, func(key, _ string) bool {
		_, was := before.Labels[key]
		return !was && (key == v1alpha1.HoldsProtectedMark || !slices.Contains(v1alpha1.Marks, key))
	})
	if diff := cmp.Diff(before, after, cmpopts.EquateEmpty()); diff != "" {
		r.T.Errorf("%s has changed (-before +after):\n%s", line, diff)
	}
}

// hold makes each attempt in a subtest.
func (r *rig) hold(all []attempt) {
	r.T.Helper()
	name := func(i int) string { return fmt.Sprintf("n%d-%d", all[i].number, i) }
	var manifests strings.Builder
	for i, a := range all {
		if text := fixtures[a.on]; text != "" {
			manifests.WriteString(replaced(text, "NAME", name(i)) + "\n---\n")
		}
	}
	if manifests.Len() > 0 {
		r.Apply(manifests.String())
	}
	for i, a := range all {
		r.T.Run(fmt.Sprintf("%d %s", a.number, a.name), func(t *testing.T) {
			t.Parallel()
			r.in(t).try(a, name(i))
		})
	}
}

// try has each user make an attempt, and compares the object before and after.
func (r *rig) try(a attempt, name string) {
	r.T.Helper()
	object, line := a.on, replaced(a.line, "NAME", name)
	if fixtures[a.on] != "" {
		object += " " + name + " -n {shop}"
	}
	if !strings.Contains(line, "--raw ") && !strings.Contains(line, " -n ") {
		line += " -n {shop}"
	}
	var before state
	if object != "" {
		before = r.state(object)
	}
	for user := range strings.FieldsSeq(a.users) {
		out := r.as(user, line, replaced(a.input, "NAME", name))
		switch {
		case a.says == "" && out.Code != 0:
			r.T.Errorf("%s: kubectl %s is refused: %s", user, line, out.Stderr)
		case a.says != "" && (out.Code == 0 || !strings.Contains(out.Stderr, r.Long(a.says))):
			r.T.Errorf("%s: kubectl %s ended with %d: %s%s, want a refusal with %q", user, line, out.Code, out.Stdout, out.Stderr, a.says)
		}
		if object != "" {
			r.same(object, before)
		}
		if a.absent != "" {
			r.Expect(r.get(a.absent+" -o name")).To(gomega.BeEmpty(), user)
		}
	}
}

// play runs scenarios in subtests.
func (r *rig) play(all []scenario) {
	r.T.Helper()
	for _, s := range all {
		r.T.Run(fmt.Sprintf("%d %s", s.number, s.name), func(t *testing.T) {
			t.Parallel()
			s.try(r.in(t))
		})
	}
}

// replaced replaces words of a text, each by the one that follows it.
func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}
