package firn_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// systems are those for which a release has a binary, except the ones that have the same
// sources as another: on macOS and Windows no source depends on the architecture.
var systems = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}

// TestSystems type-checks every source, including tests, for the systems whose sources
// differ. Nothing is compiled: only the declarations of imports are read, so that four systems
// take less time than compiling for one.
func TestSystems(t *testing.T) {
	t.Parallel()
	pattern, least, systems := "./...", 100, systems
	if testing.Short() { // the most different one, on the most different architecture
		pattern, least, systems = "./internal/disk/vfs", 1, []string{"windows/amd64"}
	}
	for _, system := range []string{"darwin", "windows"} {
		intel, arm := sourcesFor(t, system+"/amd64"), sourcesFor(t, system+"/arm64")
		if intel != arm {
			t.Errorf("on %s, the sources depend on the architecture: %s, %s", system, intel, arm)
		}
	}
	slots := make(chan struct{}, min(2, runtime.GOMAXPROCS(0))) // one takes about 1 GB
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			ours, faults, err := newReading(system).all(pattern)
			if err != nil {
				t.Fatal(err)
			}
			if ours < least {
				t.Errorf("only %d packages were examined", ours)
			}
			for _, fault := range faults {
				t.Error(fault)
			}
		})
	}
}

// sourcesFor lists the files of all packages on a system.
func sourcesFor(t *testing.T, system string) string {
	goos, goarch, _ := strings.Cut(system, "/")
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}}{{.GoFiles}}{{.TestGoFiles}}{{.XTestGoFiles}}", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		t.Fatalf("list the files for %s: %v", system, err)
	}
	return string(out)
}

// TestSystemsFindsFaults checks that errors on a single system are found.
func TestSystemsFindsFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":          "module firn.dev\n\ngo 1.26\n",
		"a.go":            "package a\n\nvar _ = here\n",
		"a_linux.go":      "package a\n\nconst here = 1\n",
		"a_test.go":       "package a\n\nimport \"os\"\n",
		"b/b_windows.go":  "package b\n\nfunc B() int { return \"\" }\n",
		"c/c_test.go":     "package c_test\n\nimport \"firn.dev/b\"\n\nvar _ = b.B\n",
		"b/b.go":          "package b\n",
		"b/b_internal.go": "package b\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for system, want := range map[string][]string{
		"linux/arm64":   {`"os" imported and not used`, "undefined: b.B"},
		"windows/amd64": {"undefined: here", `"os" imported and not used`, "cannot use"},
	} {
		r := newReading(system)
		r.dir = dir
		_, faults, err := r.all("./...")
		if err != nil {
			t.Fatal(err)
		}
		content := fmt.Sprint(faults)
		for _, w := range want {
			if !strings.Contains(content, w) {
				t.Errorf("on %s nothing reports %q: %s", system, w, content)
			}
		}
		if system == "linux/arm64" && strings.Contains(content, "undefined: here") {
			t.Errorf("on %s a fault of another system is reported: %s", system, content)
		}
	}
}

// reading holds the sources as one system sees them.
type reading struct {
	system string
	dir    string
	files  *token.FileSet
	known  map[string]*types.Package
	faults []error
}

func newReading(system string) *reading {
	return &reading{system: system, dir: ".", files: token.NewFileSet(), known: map[string]*types.Package{"unsafe": types.Unsafe}}
}

// listed is a package in the output of go list. A tested package occurs several times:
// plain, with its test files, and in the tests of others.
type listed struct {
	ImportPath string
	Dir        string
	Name       string
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct{ Main bool }
	Error      *struct{ Err string }
}

func (l *listed) ours() bool { return l.Module != nil && l.Module.Main }

// all checks the packages that match a pattern and all their imports, which go list lists
// first. It returns the number of them in this module.
func (r *reading) all(pattern string) (ours int, faults []error, err error) {
	goos, goarch, _ := strings.Cut(r.system, "/")
	cmd := exec.Command("go", "list", "-e", "-deps", "-test", "-json=ImportPath,Dir,Name,GoFiles,ImportMap,Module,Error", pattern)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0", "GOFLAGS=")
	var output strings.Builder
	cmd.Stderr = &output
	out, err := cmd.Output()
	if err != nil {
		return 0, nil, fmt.Errorf("list the packages for %s: %w: %s", r.system, err, output.String())
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return ours, r.faults, nil
		} else if err != nil {
			return 0, nil, fmt.Errorf("read the output of go list: %w", err)
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") {
			continue // the second is a main that go test writes
		}
		if p.ours() {
			ours++
		}
		r.check(&p)
	}
}

// check type-checks a package, and records errors if it is in this module.
func (r *reading) check(p *listed) {
	note := func(err error) {
		if p.ours() {
			r.faults = append(r.faults, fmt.Errorf("%s: %w", p.ImportPath, err))
		}
	}
	if p.Error != nil {
		note(errors.New(p.Error.Err))
	}
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(r.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			note(err)
			continue
		}
		parsed = append(parsed, f)
	}
	_, goarch, _ := strings.Cut(r.system, "/")
	config := types.Config{
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			if known, ok := r.known[path]; ok {
				return known, nil
			}
			return nil, fmt.Errorf("%s is not among the packages", path)
		}),
		Sizes:            types.SizesFor("gc", goarch),
		IgnoreFuncBodies: !p.ours(),
		Error:            note,
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")         // "a [b.test]" is a as the tests of b see it
	known, _ := config.Check(path, r.files, parsed, nil) // errors are reported one by one by Error
	r.known[p.ImportPath] = known
}

// importer is a function that finds packages.
type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
