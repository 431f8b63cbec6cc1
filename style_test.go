package firn_test

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The size limits. Tests are exempt.
const (
	maxFileLines     = 600
	maxFunctionLines = 60
	maxMethods       = 60
)

// longOnes lists files and functions over the limit, each with the reason why it is not split.
// Functions are written file:name.
var longOnes = map[string]string{}

func TestEveryPackageHasADoc(t *testing.T) {
	for _, p := range loadModule(t) {
		if match("examples/...", p.path) && p.files[0].tree.Name.Name == "main" {
			continue // a main package needs no package comment
		}
		if !slices.ContainsFunc(p.files, hasPackageComment) {
			t.Errorf("package %s has no package comment", p.path)
		}
	}
}

func hasPackageComment(f file) bool {
	return f.tree.Doc != nil && strings.TrimSpace(f.tree.Doc.Text()) != ""
}

func TestEveryExportedNameIsExplained(t *testing.T) {
	for _, p := range loadModule(t) {
		for _, f := range p.files {
			if f.test {
				continue
			}
			for _, name := range unexplained(f) {
				t.Errorf("%s has no comment", name)
			}
		}
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	met := make(map[string]bool)
	for _, p := range loadModule(t) {
		for _, f := range p.files {
			if f.test {
				continue
			}
			for name, complaint := range tooLong(f) {
				met[name] = true
				if longOnes[name] == "" {
					t.Error(complaint)
				}
			}
		}
	}
	for name := range longOnes {
		if !met[name] {
			t.Errorf("%s is within the limit again: remove it from the list", name)
		}
	}
}

func TestTypesAreSmall(t *testing.T) {
	for _, complaint := range largeTypes(countMethods(loadModule(t))) {
		t.Error(complaint)
	}
}

// countMethods returns the number of methods by type, written package.Type. An
// interface counts its methods and those of the interfaces that it embeds from its
// own package. Methods that a struct gets by embedding are not counted. If a method
// has one declaration per operating system, it counts once.
func countMethods(packages []pkg) map[string]int {
	counts := make(map[string]int)
	for _, p := range packages {
		methods := make(map[string]map[string]bool)
		interfaces := make(map[string]*ast.InterfaceType)
		for _, f := range p.files {
			if !f.test {
				collectMethods(f, methods, interfaces)
			}
		}
		for name, set := range methods {
			counts[p.path+"."+name] = len(set)
		}
		for name := range interfaces {
			counts[p.path+"."+name] = len(interfaceMethods(name, interfaces))
		}
	}
	return counts
}

// collectMethods adds the methods that a file declares, by type, and its interfaces.
func collectMethods(f file, methods map[string]map[string]bool, interfaces map[string]*ast.InterfaceType) {
	for _, decl := range f.tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				continue
			}
			name := receiver(d)
			if methods[name] == nil {
				methods[name] = make(map[string]bool)
			}
			methods[name][d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					if i, ok := s.Type.(*ast.InterfaceType); ok {
						interfaces[s.Name.Name] = i
					}
				}
			}
		}
	}
}

// interfaceMethods returns the methods of an interface and of those that it embeds.
func interfaceMethods(name string, interfaces map[string]*ast.InterfaceType) map[string]bool {
	methods := make(map[string]bool)
	i := interfaces[name]
	if i == nil {
		return methods
	}
	for _, field := range i.Methods.List {
		for _, n := range field.Names {
			methods[n.Name] = true
		}
		if embedded, ok := field.Type.(*ast.Ident); ok && len(field.Names) == 0 {
			maps.Copy(methods, interfaceMethods(embedded.Name, interfaces))
		}
	}
	return methods
}

// largeTypes names the types with more than maxMethods methods.
func largeTypes(counts map[string]int) []string {
	var faults []string
	for name, n := range counts {
		if n > maxMethods {
			faults = append(faults, fmt.Sprintf("%s has %d methods, more than %d: give a part of it its own type", name, n, maxMethods))
		}
	}
	slices.Sort(faults)
	return faults
}

// unexplained lists the exported names of a file that have no comment.
func unexplained(f file) []string {
	var names []string
	note := func(n ast.Node, name string) {
		names = append(names, fmt.Sprintf("%s: %s", f.set.Position(n.Pos()), name))
	}
	for _, decl := range f.tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver(d))) {
				note(d, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if name := unexplainedSpec(d, spec); name != "" {
					note(spec, name)
				}
			}
		}
	}
	return names
}

// unexplainedSpec returns an exported name of a type, const or var that has no
// comment; one on its whole group will do.
func unexplainedSpec(d *ast.GenDecl, spec ast.Spec) string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
			return s.Name.Name
		}
	case *ast.ValueSpec:
		if d.Doc != nil || s.Doc != nil || s.Comment != nil {
			return ""
		}
		for _, name := range s.Names {
			if name.IsExported() {
				return name.Name
			}
		}
	}
	return ""
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// tooLong returns a sentence for each function or file that is too long.
func tooLong(f file) map[string]string {
	long := make(map[string]string)
	if f.lines > maxFileLines {
		long[f.path] = fmt.Sprintf("%s has %d lines: look for the second noun in it", f.path, f.lines)
	}
	for _, decl := range f.tree.Decls {
		d, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		at := f.set.Position(d.Pos())
		if lines := f.set.Position(d.End()).Line - at.Line + 1; lines > maxFunctionLines {
			long[f.path+":"+d.Name.Name] = fmt.Sprintf("%s: %s has %d lines: give each step its own function", at, d.Name.Name, lines)
		}
	}
	return long
}

// TestStyleRulesReject feeds the measures with files that break them.
func TestStyleRulesReject(t *testing.T) {
	cases := []struct {
		name, source, want string
	}{
		{"function", "func F() {}", "F"},
		{"explained function", "// F does.\nfunc F() {}", ""},
		{"hidden function", "func f() {}", ""},
		{"method", "// T is.\ntype T[K any] struct{}\nfunc (*T[K]) M() {}", "M"},
		{"method of a hidden type", "type t struct{}\nfunc (*t) M() {}", ""},
		{"type", "type T int", "T"},
		{"type in an explained group", "// They are.\ntype (\n\tT int\n\tU int\n)", ""},
		{"const", "const C = 1", "C"},
		{"const in an explained group", "// They are.\nconst (\n\tC = 1\n\tD = 2\n)", ""},
		{"const beside an explained one", "const (\n\t// C is.\n\tC = 1\n\tD = 2\n)", "D"},
		{"var with a comment behind it", "var V = 1 // is", ""},
	}
	for _, c := range cases {
		got := unexplained(parsePackage(t, "x/x.go", "package x\n\n"+c.source+"\n").files[0])
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasSuffix(got[0], ": "+c.want)) {
			t.Errorf("%s: unexplained are %q, want %q", c.name, got, c.want)
		}
	}
	body := strings.Repeat("\tprintln()\n", maxFunctionLines-2)
	if long := tooLong(parsePackage(t, "x/x.go", "package x\n\nfunc f() {\n"+body+"}\n").files[0]); len(long) != 0 {
		t.Errorf("a function of %d lines is refused: %v", maxFunctionLines, long)
	}
	if long := tooLong(parsePackage(t, "x/x.go", "package x\n\nfunc f() {\n"+body+"\n}\n").files[0]); long["x/x.go:f"] == "" {
		t.Errorf("a function of %d lines passes", maxFunctionLines+1)
	}
	if long := tooLong(parsePackage(t, "x/x.go", "package x\n"+strings.Repeat("\n", maxFileLines)).files[0]); long["x/x.go"] == "" {
		t.Errorf("a file of %d lines passes", maxFileLines+1)
	}
}

// TestTypesAreSmallRejects checks how methods are counted and which counts are refused.
func TestTypesAreSmallRejects(t *testing.T) {
	p := parsePackage(t, "x/x.go", `package x
type T[K any] struct{ U }
func (t *T[K]) A() {}
func (T[K]) b() {}
type U struct{}
func (U) C() {}
type I interface{ A(); B(); J }
type J interface{ B(); C(); error }
`)
	want := map[string]int{"x.T": 2, "x.U": 1, "x.I": 3, "x.J": 2}
	if got := countMethods([]pkg{p}); !maps.Equal(got, want) {
		t.Errorf("counts are %v, want %v", got, want)
	}
	if got := largeTypes(map[string]int{"x.T": maxMethods, "x.U": maxMethods + 1}); len(got) != 1 || !strings.HasPrefix(got[0], "x.U has 61") {
		t.Errorf("of two types, %q are large", got)
	}
}
