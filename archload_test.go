package firn_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the path of this module.
const module = "firn.dev"

// room is a line of the table of imports.
type room struct {
	pkg    string
	may    []string
	reason string
}

// family is a set of packages that must not import each other. Those in shared may
// be imported by the package suite.
type family struct {
	pkg    string
	shared []string
	suite  string
	reason string
}

// moduleRule is a line of the table of third-party modules.
type moduleRule struct {
	prefix string
	in     []string
	reason string
}

// restriction lists operations that are restricted to their owners.
type restriction struct {
	what   []string
	in     []string
	owners []string
	why    string
	except []exception
}

// exception temporarily allows a package a restricted operation.
type exception struct {
	pkg, reason string
}

// pkg is a directory of Go files as checked by the tables.
type pkg struct {
	path  string
	files []file
}

// file is a Go file as checked by the tables.
type file struct {
	path  string
	test  bool
	lines int
	tree  *ast.File
	set   *token.FileSet
}

// loadModule returns all Go files of the module, for every operating system. They are parsed
// once; tests only read them.
func loadModule(t *testing.T) []pkg {
	t.Helper()
	packages, err := parsedModule()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

var parsedModule = sync.OnceValues(parseModule)

func parseModule() ([]pkg, error) {
	byPath := make(map[string]*pkg)
	var order []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parseFile(filepath.ToSlash(name), source)
		if err != nil {
			return err
		}
		dir := path.Dir(f.path)
		if byPath[dir] == nil {
			byPath[dir] = &pkg{path: dir}
			order = append(order, dir)
		}
		byPath[dir].files = append(byPath[dir].files, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	packages := make([]pkg, len(order))
	for i, dir := range order {
		packages[i] = *byPath[dir]
	}
	if !slices.Contains(order, ".") || !slices.Contains(order, "store") {
		return nil, fmt.Errorf("wrong directory: found only %v", order)
	}
	return packages, nil
}

// skipDir skips the directories that the go command skips, and node_modules.
func skipDir(name string) error {
	if name == "." {
		return nil
	}
	if base := filepath.Base(name); base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return fs.SkipDir // another module
	}
	return nil
}

func parseFile(name string, source []byte) (file, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	lines := strings.Count(string(source), "\n")
	return file{path: name, test: strings.HasSuffix(name, "_test.go"), lines: lines, tree: tree, set: set}, nil
}

// parsePackage returns a package with one file, parsed from text.
func parsePackage(t *testing.T, name, source string) pkg {
	t.Helper()
	f, err := parseFile(name, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return pkg{path: path.Dir(name), files: []file{f}}
}

// match reports whether a pattern of the tables matches a package.
func match(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == below || strings.HasPrefix(pkg, below+"/")
	}
	if family, ok := strings.CutSuffix(pattern, "/*"); ok {
		return path.Dir(pkg) == family && pkg != "."
	}
	return pattern == pkg
}

func matchAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, pkg) })
}

// findViolations returns the violations of the packages, one sentence each.
func findViolations(packages []pkg) []string {
	return slices.Concat(checkImports(packages), checkModules(packages), checkRestrictions(packages, restrictions))
}

// checkImports checks imports within the module against the tables.
func checkImports(packages []pkg) []string {
	var violations []string
	for _, p := range packages {
		if !slices.ContainsFunc(p.files, func(f file) bool { return !f.test }) {
			continue // only tests, which may import anything
		}
		i := slices.IndexFunc(rooms, func(r room) bool { return match(r.pkg, p.path) })
		if i < 0 {
			violations = append(violations, fmt.Sprintf("package %s has no line in the table of rooms", p.path))
			continue
		}
		for _, im := range importsOf(p, false) {
			ours, ok := ourPackage(im.path)
			if !ok {
				continue
			}
			if reason := importRefusal(rooms[i], p.path, ours); reason != "" {
				violations = append(violations, fmt.Sprintf("%s: %s may not import %s: %s", im.at, p.path, im.path, reason))
			}
		}
	}
	return violations
}

// importRefusal returns why a package of a room may not import another package, "" if it may.
func importRefusal(r room, from, to string) string {
	for _, f := range families {
		if match(f.pkg, from) && match(f.pkg, to) && (from != f.suite || !slices.Contains(f.shared, to)) {
			return f.reason
		}
		if strings.TrimSuffix(f.pkg, "/*") == from && match(f.pkg, to) {
			return f.reason
		}
	}
	for _, n := range narrow {
		if match(n.pkg, from) && !matchAny(n.may, to) {
			return n.reason
		}
	}
	if match(r.pkg, to) || matchAny(r.may, to) {
		return ""
	}
	return r.reason
}

// checkModules checks imports of third-party modules against their tables.
func checkModules(packages []pkg) []string {
	var violations []string
	for _, p := range packages {
		for _, im := range append(importsOf(p, false), importsOf(p, true)...) {
			if _, ok := ourPackage(im.path); ok || isStandard(im.path) || mayImportModule(p.path, im) {
				continue
			}
			violations = append(violations, fmt.Sprintf("%s: no line of the table allows %s to import %s", im.at, p.path, im.path))
		}
	}
	return violations
}

func mayImportModule(pkg string, im imported) bool {
	for _, g := range slices.Concat(modules, testModules) {
		if strings.HasPrefix(im.path+"/", strings.TrimSuffix(g.prefix, "/")+"/") && matchAny(g.in, pkg) {
			return true
		}
	}
	return im.test && slices.ContainsFunc(testModules, func(g moduleRule) bool {
		return strings.HasPrefix(im.path+"/", strings.TrimSuffix(g.prefix, "/")+"/")
	})
}

// checkRestrictions checks the packages against a table of restrictions.
func checkRestrictions(packages []pkg, table []restriction) []string {
	var violations []string
	for _, p := range packages {
		operations := operationsOf(p)
		for _, d := range table {
			if !matchAny(d.in, p.path) || matchAny(d.owners, p.path) {
				continue
			}
			if slices.ContainsFunc(d.except, func(e exception) bool { return match(e.pkg, p.path) }) {
				continue
			}
			for _, f := range operations {
				if slices.ContainsFunc(d.what, f.is) {
					violations = append(violations, fmt.Sprintf("%s: %s: %s", f.at, f.describe(), d.why))
				}
			}
		}
	}
	return violations
}

// imported is an import and its position.
type imported struct {
	path, name string
	test       bool
	at         token.Position
}

func importsOf(p pkg, tests bool) []imported {
	var all []imported
	for _, f := range p.files {
		if f.test == tests {
			all = append(all, f.imports()...)
		}
	}
	return all
}

func (f file) imports() []imported {
	var all []imported
	for _, spec := range f.tree.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the compiler reports this better
		}
		name, _, _ := strings.Cut(path.Base(target), ".")
		if spec.Name != nil {
			name = spec.Name.Name
		}
		all = append(all, imported{path: target, name: name, test: f.test, at: f.set.Position(spec.Pos())})
	}
	return all
}

// ourPackage returns the directory of an import, if it is in this module.
func ourPackage(target string) (string, bool) {
	if target == module {
		return ".", true
	}
	return strings.CutPrefix(target, module+"/")
}

// isStandard reports whether an import is of the standard library: its first
// element has no dot.
func isStandard(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	return !strings.Contains(first, ".")
}

// operation is an operation that a file performs.
type operation struct {
	what string
	at   token.Position
}

// is reports whether the operation matches a pattern, which may end in a *.
func (f operation) is(what string) bool {
	if begin, ok := strings.CutSuffix(what, "*"); ok {
		return strings.HasPrefix(f.what, begin)
	}
	return f.what == what
}

func (f operation) describe() string {
	if target, ok := strings.CutPrefix(f.what, "import "); ok {
		return "imports " + target
	}
	if strings.HasPrefix(f.what, "func ") {
		return "has " + f.what
	}
	return "uses " + f.what
}

// operationsOf lists the operations of a package outside its tests: its imports, the names it
// uses of other packages, and its init functions.
func operationsOf(p pkg) []operation {
	var operations []operation
	for _, f := range p.files {
		if f.test {
			continue
		}
		names := make(map[string]string)
		for _, im := range f.imports() {
			if im.name == "." {
				operations = append(operations, operation{"import . " + im.path, im.at})
				continue
			}
			names[im.name] = im.path
			operations = append(operations, operation{"import " + im.path, im.at})
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && names[x.Name] != "" {
					operations = append(operations, operation{names[x.Name] + "." + n.Sel.Name, f.set.Position(n.Pos())})
				}
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					operations = append(operations, operation{"func init", f.set.Position(n.Pos())})
				}
			}
			return true
		})
	}
	return operations
}
