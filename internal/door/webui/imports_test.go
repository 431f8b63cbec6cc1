package webui

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestNoImportCycles checks for import cycles, which the bundler accepts
// even if a module is evaluated before its dependencies. Shared code belongs in a separate
// file.
func TestNoImportCycles(t *testing.T) {
	sources := importsOf(t, os.DirFS("src"))
	if len(sources) < 50 || len(sources["app.tsx"]) < 10 {
		t.Fatalf("found %d sources, of which app.tsx imports %q", len(sources), sources["app.tsx"])
	}
	if c := circle(sources); c != nil {
		t.Errorf("sources import each other in a circle: %s", strings.Join(c, " -> "))
	}
}

func TestImportCyclesAreFound(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	cases := map[string]struct {
		sources fstest.MapFS
		want    string
	}{
		"none": {fstest.MapFS{"a.ts": file(`import { b } from "./b";`), "b.ts": file("import { c } from \"preact\";\nexport const b = 1;")}, ""},
		"twice the same": {fstest.MapFS{
			"a.ts": file("import \"./b\";\nimport \"./c\";"), "b.ts": file(`import "./d";`), "c.ts": file(`import "./d";`), "d.ts": file(""),
		}, ""},
		"of types":        {fstest.MapFS{"a.tsx": file(`import { b } from "./b";`), "b.ts": file(`import type { A } from "./a";`)}, "a.tsx b.ts a.tsx"},
		"over many lines": {fstest.MapFS{"a.ts": file("import {\n  b,\n} from './b';"), "b.ts": file(`export * from "./a";`)}, "a.ts b.ts a.ts"},
		"over a folder":   {fstest.MapFS{"a.ts": file(`import "./p";`), "p/index.tsx": file(`import "./q";`), "p/q.ts": file(`import "../a";`)}, "a.ts p/index.tsx p/q.ts a.ts"},
		"after the start": {fstest.MapFS{"a.ts": file(`import "./b";`), "b.ts": file(`import "./c";`), "c.ts": file(`import "./b";`)}, "b.ts c.ts b.ts"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(circle(importsOf(t, c.sources)), " "); got != c.want {
				t.Errorf("the circle is %q, want %q", got, c.want)
			}
		})
	}
}

// importLine matches the end of an import or export of a local file.
var importLine = regexp.MustCompile(`(?m)(?:\bfrom|^import)\s*["'](\.[^"']*)["']`)

// importsOf returns the local imports of every source.
func importsOf(t *testing.T, src fs.FS) map[string][]string {
	t.Helper()
	sources := map[string][]string{}
	err := fs.WalkDir(src, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".ts", ".tsx"}, path.Ext(name)) {
			return err
		}
		body, err := fs.ReadFile(src, name)
		for _, m := range importLine.FindAllSubmatch(body, -1) {
			to := path.Join(path.Dir(name), string(m[1]))
			if file := sourceAt(src, to); file != "" {
				sources[name] = append(sources[name], file)
			} else if path.Ext(to) != ".css" {
				t.Errorf("%s imports %s, which does not exist", name, m[1])
			}
		}
		slices.Sort(sources[name])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// sourceAt returns the file for an import without an extension.
func sourceAt(src fs.FS, name string) string {
	for _, ending := range []string{".ts", ".tsx", "/index.ts", "/index.tsx"} {
		if _, err := fs.Stat(src, name+ending); err == nil {
			return name + ending
		}
	}
	return ""
}

// circle returns an import cycle, or nil.
func circle(sources map[string][]string) []string {
	done := map[string]bool{}
	var walk func(way []string, to string) []string
	walk = func(way []string, to string) []string {
		if i := slices.Index(way, to); i >= 0 {
			return append(slices.Clone(way[i:]), to)
		}
		if done[to] {
			return nil
		}
		for _, next := range sources[to] {
			if c := walk(append(way, to), next); c != nil {
				return c
			}
		}
		done[to] = true
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if c := walk(nil, name); c != nil {
			return c
		}
	}
	return nil
}
