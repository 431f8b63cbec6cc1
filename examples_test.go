package firn_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestPublicPackagesHaveExamples checks that every package that other modules can import
// has an example. Test suites, whose names end in "test", document their use in their
// package comments.
func TestPublicPackagesHaveExamples(t *testing.T) {
	private := []string{"internal/...", "cmd/...", "examples/...", "proving/..."}
	for _, p := range loadModule(t) {
		if matchAny(private, p.path) || strings.HasSuffix(p.path, "test") {
			continue
		}
		if !slices.ContainsFunc(p.files, hasExample) {
			t.Errorf("package %s has no example", p.path)
		}
	}
}

// hasExample reports whether a test file has an example function.
func hasExample(f file) bool {
	return f.test && slices.ContainsFunc(f.tree.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example")
	})
}
