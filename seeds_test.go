package firn_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestRandomTestsHaveASeed checks that tests draw random numbers only from a seed that is
// printed or constant.
func TestRandomTestsHaveASeed(t *testing.T) {
	for _, p := range loadModule(t) {
		for _, f := range p.files {
			if !f.test || match("internal/base/basetest", p.path) {
				continue
			}
			for _, complaint := range chances(f) {
				t.Error(complaint)
			}
		}
	}
}

// seeded are the functions and types of math/rand/v2 that draw no random numbers themselves.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "ChaCha8", "Zipf", "Source"}

// chances lists the uses of unseeded randomness in a file.
func chances(f file) []string {
	random := ""
	for _, im := range f.tree.Imports {
		if im.Path.Value == `"math/rand/v2"` || im.Path.Value == `"math/rand"` {
			if random = "rand"; im.Name != nil {
				random = im.Name.Name
			}
		}
	}
	var found []string
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && random != "" && x.Name == random && !slices.Contains(seeded, n.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: %s.%s has no seed: basetest.Random has one, which is printed", f.set.Position(n.Pos()), random, n.Sel.Name))
			}
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "NewPCG" && slices.ContainsFunc(n.Args, usesClock) {
				found = append(found, fmt.Sprintf("%s: a seed from the clock is not printed: use basetest.Seed", f.set.Position(n.Pos())))
			}
		}
		return true
	})
	return found
}

// usesClock reports whether an expression contains the current time.
func usesClock(e ast.Expr) bool {
	clock := false
	ast.Inspect(e, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		clock = clock || ok && strings.HasPrefix(sel.Sel.Name, "Unix")
		return !clock
	})
	return clock
}

func TestMissingSeedIsFound(t *testing.T) {
	const imports = "package x\nimport (\n\t\"math/rand/v2\"\n\t\"time\"\n)\n"
	for source, want := range map[string]int{
		"var _ = rand.IntN(3)":                                                     1,
		"var _ = rand.N(time.Second)":                                              1,
		"var _ = rand.New(rand.NewPCG(1, 2)).IntN(3)":                              0,
		"var _ = rand.NewPCG(1, uint64(time.Now().UnixNano()))":                    1,
		"func f(r *rand.Rand) { r.Shuffle(1, nil); time.Sleep(time.Duration(1)) }": 0,
	} {
		f, err := parseFile("x_test.go", []byte(imports+source))
		if err != nil {
			t.Fatal(err)
		}
		if got := chances(f); len(got) != want {
			t.Errorf("%s gives %q, want %d complaints", source, got, want)
		}
	}
}
