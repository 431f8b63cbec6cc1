package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyStoreOpensSessions checks that only store.go uses the functions that open session
// files directly.
func TestOnlyStoreOpensSessions(t *testing.T) {
	opens := map[string]bool{
		"doctor.OpenHome": true, "doctor.Find": true, "grep.Files": true, "grep.Choose": true, "backup.Create": true, "backup.CreateFrom": true,
		"config.ReadRecord": true,
	}
	files := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if from, ok := selector.X.(*ast.Ident); ok && opens[from.Name+"."+selector.Sel.Name] {
				if used++; name != "store.go" {
					t.Errorf("%s uses %s.%s: go through storeInUse", files.Position(n.Pos()), from.Name, selector.Sel.Name)
				}
			}
			return true
		})
	}
	if used < 6 {
		t.Errorf("store.go opens sessions in %d places only: the names in this test are old", used)
	}
}
