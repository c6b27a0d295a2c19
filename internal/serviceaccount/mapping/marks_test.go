// Copyright The Holdfast Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/api/holdfast/v1alpha1"
)

// harmless are names of labels and annotations that say nothing on an account.
var harmless = map[string]string{
	"StrimziRollAnnotation": "is for pods",
	"LabelManagedBy":        "is on every account of Strimzi's",

	"DefaultLabelsExclusionPattern": "is none",
}

// No template, and no object by one, can set a key by which Holdfast, or a tool that it
// knows, decides about an object: every label and annotation of the project's API is one.
func TestMarks_canBeSetByNoTemplate(t *testing.T) {
	t.Parallel()
	keys := namesInAPI(t, "../../../api")
	if len(keys) < 25 {
		t.Fatalf("only %d labels and annotations are found in the API: %v", len(keys), keys)
	}
	for name, key := range keys {
		if harmless[name] == "" && !isMark(key) {
			t.Errorf("a template can set %s, %s", name, key)
		}
	}
	for _, key := range []string{
		"holdfast.dev/holds-protected", "holdfast.dev/protected-while-used-by", "rbac.holdfast.dev/x", "a.tree.hnc.x-k8s.io/depth",
		"config.k8s.io/owning-inventory", "client.lifecycle.config.k8s.io/deletion", "config.kubernetes.io/local-config", "cli-utils.sigs.k8s.io/inventory-id",
		"configmanagement.gke.io/token", "applyset.kubernetes.io/part-of", "argocd.argoproj.io/tracking-id", "meta.helm.sh/release-name",
	} {
		if !isMark(key) {
			t.Errorf("a template can set %s", key)
		}
	}
	for _, key := range []string{"team", "eks.amazonaws.com/role-arn", "argocd.argoproj.io/sync-options", "kustomize.toolkit.fluxcd.io/reconcile", "strimzi.io/cluster", "notholdfast.dev/x"} {
		if isMark(key) {
			t.Errorf("no template can set %s", key)
		}
	}
}

// namesInAPI are the labels and annotations that the API defines, by the names of the
// constants.
func namesInAPI(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil {
			return err
		}
		known := map[string]string{"v1alpha1.GroupName": v1alpha1.GroupName}
		for range 3 { // those that are made of others come after them
			for _, file := range files {
				parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
				if err != nil {
					return err
				}
				constantsOf(parsed, known)
			}
		}
		for name, value := range known {
			if (strings.Contains(name, "Label") || strings.Contains(name, "Annotation")) && strings.Contains(value, "/") {
				out[name] = strings.TrimPrefix(value, ".")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// constantsOf adds the constants of a file that are texts.
func constantsOf(file *ast.File, known map[string]string) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			if text := textOf(value, known); text != "" {
				known[spec.Names[i].Name] = text
			}
		}
		return true
	})
}

func textOf(e ast.Expr, known map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.Ident:
		return known[e.Name]
	case *ast.SelectorExpr:
		if from, ok := e.X.(*ast.Ident); ok {
			return known[from.Name+"."+e.Sel.Name]
		}
	case *ast.BinaryExpr:
		if a, b := textOf(e.X, known), textOf(e.Y, known); a != "" && b != "" {
			return a + b
		}
	}
	return ""
}
