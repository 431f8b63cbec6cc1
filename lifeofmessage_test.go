package firn_test

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// TestWayNamesFunctions checks that every function that docs/life-of-a-message.md names
// exists: in the package of its row, or in any package if it is named in the text.
func TestWayNamesFunctions(t *testing.T) {
	declared := declaredFunctions(loadModule(t))
	row := regexp.MustCompile("^\\| `([a-z0-9/]+)` \\| (`.*?`) \\|")
	quoted := regexp.MustCompile("`([A-Za-z]+(?:\\.[A-Za-z]+)*)`")
	checked := 0
	for line := range strings.Lines(readFile(t, "docs/life-of-a-message.md")) {
		dir, text := "", line
		if m := row.FindStringSubmatch(line); m != nil {
			dir, text = m[1], m[2]
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			name := m[1]
			if dir == "" && !strings.Contains(name, ".") || strings.HasSuffix(name, ".go") || isTypeOrEvent(name) {
				continue
			}
			checked++
			if parts := strings.Split(name, "."); len(parts) > 2 || dir == "" && declared[parts[0]+"/"+parts[1]] {
				name = strings.Join(parts[1:], ".")
			}
			if !declared[dir+"/"+name] && !declared["/"+name] || dir != "" && !declared[dir+"/"+name] {
				t.Errorf("docs/life-of-a-message.md names %s of %q, which does not exist", m[1], dir)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d names were found", checked)
	}
}

// isTypeOrEvent reports whether a name with a dot is not a function: a custom entry
// type, an event of the protocol, or a type of another package.
func isTypeOrEvent(name string) bool {
	first, second, _ := strings.Cut(name, ".")
	return first == "firn" || first == "turn" && (second == "started" || second == "completed") || first == "delta" || name == "store.Conflict"
}

// declaredFunctions returns the functions and methods of all packages, as
// dir/Name, dir/Type.Name and, for any package, /Name and /Type.Name.
func declaredFunctions(packages []pkg) map[string]bool {
	found := make(map[string]bool)
	for _, p := range packages {
		for _, f := range p.files {
			for _, d := range f.tree.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || f.test {
					continue
				}
				name := fn.Name.Name
				if fn.Recv != nil {
					name = receiver(fn) + "." + name
				}
				found[p.path+"/"+name], found["/"+name] = true, true
			}
		}
	}
	return found
}
