package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSchema checks every setting against the rules for descriptions.
func TestSchema(t *testing.T) {
	key := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	each(schema(), nil, func(s *spec, path []string) {
		at := joinPath(path)
		if !strings.HasSuffix(s.doc, ".") || strings.ToUpper(s.doc[:1]) != s.doc[:1] {
			t.Errorf("%s: the description is no sentence: %q", at, s.doc)
		}
		if !key.MatchString(s.key) {
			t.Errorf("%s is no name for a setting", at)
		}
		if s.typeName() == "" {
			t.Errorf("%s: unknown %q", at, s.is)
		}
		if s.name != "" && checks[s.name] == nil {
			t.Errorf("%s: there is no check %q", at, s.name)
		}
		if s.pointer && s.fallback != "" {
			t.Errorf("%s has a default that never counts", at)
		}
		if s.kind < listKind && !s.needed {
			checkDefault(t, at, s)
		}
		if s.limits != "" {
			checkLimits(t, at, s)
		}
	})
}

// each calls f for every setting, including tables.
func each(s *spec, path []string, f func(*spec, []string)) {
	for _, m := range s.members {
		at := append(slices.Clip(path), m.key)
		f(m, at)
		each(m, at, f)
		if m.elem != nil {
			each(m.elem, at, f)
		}
	}
}

func checkDefault(t *testing.T, at string, s *spec) {
	v := reflect.New(s.typ).Elem()
	if s.fallback != "" {
		if err := s.parse(v, s.fallback); err != nil {
			t.Errorf("%s: the default %q cannot be read: %v", at, s.fallback, err)
		}
	}
	if err := s.check(v); err != nil && !s.pointer {
		t.Errorf("%s: the default is not allowed: %v", at, err)
	}
}

func checkLimits(t *testing.T, at string, s *spec) {
	if s.elem != nil {
		s = s.elem
	}
	low, high, ok := strings.Cut(s.limits, "..")
	edge := reflect.New(s.typ).Elem()
	for _, limit := range []string{low, high} {
		if limit == "" {
			continue
		}
		if err := s.parse(edge, limit); err != nil || !ok {
			t.Errorf("%s: the range %q cannot be read: %v", at, s.limits, err)
		} else if err := s.checkRange(edge); err != nil {
			t.Errorf("%s: %s itself is not in the range: %v", at, limit, err)
		}
	}
}

// TestEveryFieldIsASetting finds fields without a key.
func TestEveryFieldIsASetting(t *testing.T) {
	seen := make(map[reflect.Type]bool)
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if _, scalar := scalars[typ.Kind()]; !scalar && typ.Kind() != reflect.Struct {
			t.Errorf("settings cannot be of type %s", typ)
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		keys := make(map[string]bool)
		for i := range typ.NumField() {
			f := typ.Field(i)
			k := f.Tag.Get("key")
			if k == "" || keys[k] || !f.IsExported() {
				t.Errorf("%s.%s has no key of its own", typ, f.Name)
			}
			keys[k] = true
			look(f.Type)
		}
	}
	look(reflect.TypeFor[Config]())
}

func TestDocs(t *testing.T) {
	page := filepath.Join("..", "..", "..", "docs", "configuration.md")
	if update() {
		if err := os.WriteFile(page, []byte(documentation()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), documentation()); diff != "" {
		t.Errorf("docs/configuration.md is out of date; regenerate it with FIRN_UPDATE=1 go test ./internal/ops/config\n%s", diff)
	}
	for _, f := range Schema() {
		if short := f.Path[strings.LastIndexByte(f.Path, '.')+1:]; !strings.Contains(string(text), "`"+short+"`") && !f.Table {
			t.Errorf("the page does not mention %s", f.Path)
		}
	}
}

// TestExample checks that the example in the documentation is valid.
func TestExample(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, []string{"HOME=/home/u"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Agents["coder"].Fallbacks[0] != "ollama/qwen3" || s.Agents["main"].Workspace != "/home/u/notes" || s.Agents["main"].Model != "anthropic/claude-sonnet-4-5" {
		t.Errorf("agents do not have the defaults: %+v", s.Agents)
	}
}

// TestAllSettingsRoundTrip formats every setting and parses it again.
func TestAllSettingsRoundTrip(t *testing.T) {
	first := Default("/home/u/.firn")
	text := ""
	walk(schema(), reflect.ValueOf(first), nil, func(l leaf) {
		if encoded := formatValue(l.spec, l.value); encoded != "" && l.path[0] != "agents" {
			text += joinPath(l.path) + " = " + encoded + "\n"
		}
	})
	s, problems := assemble("/etc/firn.toml", []byte(text), variables{}, nil, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if changes := Diff(first, s.Config); len(changes) > 0 {
		t.Errorf("the defaults differ after writing: %v", changes)
	}
}
