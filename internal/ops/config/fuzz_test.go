package config

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
)

// seeds adds all settings files of the other tests.
func seeds(f *testing.F, add func(text string)) {
	names, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name == FileName {
				add(string(file.Data))
			}
		}
	}
	for _, text := range []string{example, "", "\xff", "a", "[", "[[a]]", "a.b.c = 1", "x = [[[[]]]]", "\ufeffhome = 1", "[agents.a.b]\n[agents.a]", "[[agents]]\n[agents.x]", "agents = [{x = 1}]\n"} {
		add(text)
	}
}

// FuzzLoad reads arbitrary text. It must not panic, every problem must have a place, and
// valid settings must survive being written and read again.
func FuzzLoad(f *testing.F) {
	seeds(f, func(text string) { f.Add(text, "FIRN_LOG__LEVEL", "warn") })
	f.Add("", "FIRN_SESSION__RESET", "{ mode = 'x' }")
	f.Add("", "gateway.socket", "a//b/../c")
	f.Add("", "FIRN_AGENTS__A__TOOLS__ALLOW", "[1,{},[]]")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		var flags map[string]string
		if !strings.HasPrefix(name, prefix) {
			flags = map[string]string{name: value}
		}
		s, problems := assemble("firn.toml", []byte(text), variables{"HOME": "/home/u", name: value}, flags, nil)
		for _, p := range problems {
			if p.Message == "" || p.Place() == "" || p.Line < 0 || p.Line > strings.Count(text, "\n")+1 || p.Column < 0 {
				t.Fatalf("a problem without a place or a message: %#v", p)
			}
		}
		if s.Config.Defaults.Model == "" || s.Store.Sync == "" || s.DefaultAgent == "" || s.Gateway.Drain < 0 {
			t.Fatalf("an invalid setting has no default: %+v", s.Config)
		}
		for _, e := range s.All() {
			if _, err := s.Explain(e.Path); err != nil && !strings.ContainsAny(e.Path, `\"`) {
				t.Fatalf("%s is listed and not found: %v", e.Path, err)
			}
		}
		if len(problems) > 0 {
			return
		}
		var b strings.Builder
		for _, m := range schema().members {
			b.WriteString(m.key + " = " + formatValue(m, reflect.ValueOf(s.Config).Field(m.index)) + "\n")
		}
		again, problems := assemble("firn.toml", []byte(b.String()), variables{"HOME": "/home/u"}, nil, nil)
		if len(problems) > 0 {
			t.Fatalf("valid settings are invalid after writing: %v\n%s", problems, b.String())
		}
		if changes := Diff(s.Config, again.Config); len(changes) > 0 {
			t.Fatalf("written down it differs: %v", changes)
		}
	})
}

// FuzzSet makes arbitrary changes. Everything else in the file, including comments, must
// stay the same.
func FuzzSet(f *testing.F) {
	seeds(f, func(text string) {
		for _, line := range []string{"home=/x", "log.level=warn", "agents.main.reset.at_hour=5", "cron.0.message=x", `models."a/b".window=3`, "gateway.allowed_hosts=a,b"} {
			path, value, _ := strings.Cut(line, "=")
			f.Add(text, path, value)
		}
	})
	f.Fuzz(func(t *testing.T, text, path, value string) {
		after, err := edit("f", []byte(text), path, value)
		if err != nil {
			var problems Problems
			if errors.As(err, &problems) && len(problems) == 0 {
				t.Fatal("refused for no reason")
			}
			return
		}
		segments, err := splitPath(path)
		if err != nil {
			t.Fatal(err)
		}
		now, problem := parseDocument("f", after)
		if problem != nil || now.root.at(now.numbered(segments)) == nil && !strings.HasSuffix(path, "id") {
			t.Fatalf("%s is not in\n%s\n%v", path, after, problem)
		}
		if before, _ := parseDocument("f", []byte(text)); before.root.at(before.numbered(segments)) == nil {
			for line := range strings.Lines(text) {
				if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "#") && !strings.Contains(string(after), trimmed) {
					t.Fatalf("the comment %q is missing from\n%s", trimmed, after)
				}
			}
		}
	})
}

// odd reports whether a character must be escaped in a path.
func odd(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune("\\\"'", r) }

// FuzzValues checks that formatted values can be parsed again.
func FuzzValues(f *testing.F) {
	for _, text := range []string{"1h", "5d", "1.5w", "10mb", "3kib", "0", "-1", "1e9"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseDuration(text); err == nil {
			if again, err := parseDuration(formatDuration(d)); err != nil || again != d || d < 0 {
				t.Errorf("%q is %v, written %s, read %v, %v", text, d, formatDuration(d), again, err)
			}
		}
		if b, err := parseBytes(text); err == nil {
			if again, err := parseBytes(b.String()); err != nil || again != b || b < 0 {
				t.Errorf("%q is %d, written %s, read %d, %v", text, b, b, again, err)
			}
		}
		if segments, err := splitPath(text); err == nil && utf8.ValidString(text) && !strings.ContainsFunc(text, odd) {
			if again, err := splitPath(joinPath(segments)); err != nil || !reflect.DeepEqual(again, segments) {
				t.Errorf("the path %q is %q, and then %q, %v", text, segments, again, err)
			}
		}
	})
}
