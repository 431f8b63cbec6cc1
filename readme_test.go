package firn_test

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLibraryShowsTheExamples checks that the code in docs/library.md equals compiled and
// tested code.
func TestLibraryShowsTheExamples(t *testing.T) {
	rest := readFile(t, "docs/library.md")
	for _, example := range []string{"examples/agent/main.go", "examples/quickstart/main.go"} {
		_, after, found := strings.Cut(rest, "```go\n")
		shown, after, closed := strings.Cut(after, "```")
		if !found || !closed {
			t.Fatalf("docs/library.md does not show %s", example)
		}
		rest = after
		_, code, found := strings.Cut(readFile(t, example), "\t// README: begin\n")
		tested, _, closed := strings.Cut(code, "\t// README: end\n")
		if !found || !closed {
			t.Fatalf("%s does not mark the part that the README shows", example)
		}
		if want := strings.ReplaceAll("\n"+tested, "\n\t", "\n")[1:]; shown != want {
			t.Errorf("docs/library.md shows\n%s\nbut %s contains\n%s", shown, example, want)
		}
	}
}

// claim matches a test that the README cites as evidence.
var claim = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z]*)`")

// TestReadmeNamesTests checks that every test cited as evidence in the README and the
// documents exists.
func TestReadmeNamesTests(t *testing.T) {
	there := definedTests(t)
	there["TestSentRandomly"] = true // in proving/interop/sdk, a module of its own
	for _, doc := range []string{"README.md", "docs/compare.md", "docs/seeds.md"} {
		named := claim.FindAllStringSubmatch(readFile(t, doc), -1)
		if len(named) == 0 {
			t.Errorf("%s names no tests", doc)
		}
		for _, m := range named {
			if !there[m[1]] {
				t.Errorf("%s names %s, which does not exist", doc, m[1])
			}
		}
	}
}

// TestRaceSkipsExist checks that each pattern of tests that make check-race skips matches one.
func TestRaceSkipsExist(t *testing.T) {
	list := regexp.MustCompile(`(?m)^ONEBYONE := (.+)$`).FindStringSubmatch(readFile(t, "Makefile"))
	if list == nil {
		t.Fatal("the Makefile has no list")
	}
	there := slices.Collect(maps.Keys(definedTests(t)))
	for _, skip := range strings.Split(list[1], "|") {
		if !slices.ContainsFunc(there, regexp.MustCompile("^Test"+skip+"$").MatchString) {
			t.Errorf("no test matches %s", skip)
		}
	}
}

// definedTests returns the names of all tests, fuzz targets and benchmarks of the module.
func definedTests(t *testing.T) map[string]bool {
	t.Helper()
	there := make(map[string]bool)
	for _, p := range loadModule(t) {
		for _, f := range p.files {
			for _, d := range f.tree.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
					there[fn.Name.Name] = true
				}
			}
		}
	}
	return there
}

// link matches a Markdown link within this repository.
var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinksResolve checks the links between the documents of the repository.
func TestLinksResolve(t *testing.T) {
	followed := 0
	for _, name := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(readFile(t, name), -1) {
			followed++
			if _, err := os.Stat(path.Join(path.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			}
		}
	}
	if followed == 0 {
		t.Error("no links found")
	}
}

// TestPackedLinksResolve checks that links in the files of a release archive
// (tools/release.sh) lead to packed files.
func TestPackedLinksResolve(t *testing.T) {
	release := readFile(t, "tools/release.sh")
	packed := func(name string) bool {
		if top, _, below := strings.Cut(name, "/"); below || !strings.Contains(name, ".") {
			return strings.Contains(release, "git ls-files -z docs examples") && (top == "docs" || top == "examples") || name == "LICENSE"
		}
		return strings.Contains(release, " "+name+" ")
	}
	followed := 0
	for _, name := range documents(t) {
		if !packed(name) {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(readFile(t, name), -1) {
			followed++
			if to := path.Join(path.Dir(name), m[1]); !packed(to) {
				t.Errorf("%s links to %s, which is in no release archive", name, to)
			}
		}
	}
	if followed < 50 {
		t.Errorf("only %d links were followed", followed)
	}
}

// documents lists the Markdown files of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}
	for _, dir := range []string{"docs", "docs/decisions", "docs/formats", "docs/tutorials"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".md") {
				names = append(names, path.Join(dir, f.Name()))
			}
		}
	}
	return names
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
