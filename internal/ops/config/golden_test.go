package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// update reports whether expected output is written instead of compared: FIRN_UPDATE=1 go
// test ./internal/ops/config
func update() bool { return os.Getenv("FIRN_UPDATE") != "" }

// scene is one testdata file: settings and their expected results.
type scene struct {
	t       *testing.T
	name    string
	archive *txtar.Archive
	dir     string
}

func scenes(t *testing.T, pattern string, run func(*scene)) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenes in %s: %v", pattern, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			s := &scene{t: t, name: name, archive: archive, dir: t.TempDir()}
			run(s)
			if update() {
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// section returns a file of the archive.
func (s *scene) section(name string) (string, bool) {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return string(f.Data), true
		}
	}
	return "", false
}

// lines returns the non-empty lines of a file of the archive.
func (s *scene) lines(name string) []string {
	text, _ := s.section(name)
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// file writes the settings and returns their path.
func (s *scene) file() string {
	path := filepath.Join(s.dir, FileName)
	if text, ok := s.section(FileName); ok {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return path
}

// open reads the settings of the archive.
func (s *scene) open() (*Settings, error) {
	flags := make(map[string]string)
	for _, line := range s.lines("flags") {
		name, value, _ := strings.Cut(line, "=")
		flags[name] = value
	}
	return Open(s.file(), append([]string{"HOME=/home/u"}, s.lines("env")...), flags)
}

// expect compares a file of the archive with the actual result.
func (s *scene) expect(name, got string) {
	s.t.Helper()
	got = strings.ReplaceAll(got, s.dir+string(filepath.Separator), "")
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	want, ok := s.section(name)
	if update() {
		s.put(name, got)
		return
	}
	if !ok {
		s.t.Fatalf("%s does not mention %s, which is\n%s", s.name, name, got)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s is not as expected (-want +got)\n%s", name, diff)
	}
}

func (s *scene) put(name, text string) {
	for i := range s.archive.Files {
		if s.archive.Files[i].Name == name {
			s.archive.Files[i].Data = []byte(text)
			return
		}
	}
	s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// TestLoad reads valid and invalid files. The expected result is either all values with
// their origins, or all problems.
func TestLoad(t *testing.T) {
	scenes(t, "testdata/load/*.txtar", func(s *scene) {
		settings, err := s.open()
		var reported strings.Builder
		if err != nil {
			fmt.Fprintln(&reported, err)
			if settings == nil {
				s.t.Fatal("there are no settings to check")
			}
		} else {
			for _, e := range settings.All() {
				if e.Origin.Layer != FromDefault {
					fmt.Fprintf(&reported, "%s = %s (%s)\n", e.Path, e.Text, e.Origin)
				}
			}
		}
		for _, w := range settings.Warnings {
			fmt.Fprintln(&reported, "warning:", w)
		}
		if settings.DefaultAgent == "" || settings.Defaults.Model == "" || settings.Store.Sync == "" {
			s.t.Error("an invalid setting has no default")
		}
		s.expect("want", reported.String())
	})
}

// TestSet changes files. Each line of the section set is applied in turn; rejected ones
// leave the file unchanged.
func TestSet(t *testing.T) {
	scenes(t, "testdata/set/*.txtar", func(s *scene) {
		path := s.file()
		settings, _ := Open(path, append([]string{"HOME=/home/u"}, s.lines("env")...), nil)
		if settings == nil {
			s.t.Fatal("there are no settings")
		}
		var refused strings.Builder
		for _, line := range s.lines("set") {
			key, value, _ := strings.Cut(line, " = ")
			before, _ := os.ReadFile(path)
			next, err := settings.Set(key, value)
			after, _ := os.ReadFile(path)
			if err != nil {
				fmt.Fprintf(&refused, "%s: %v\n", key, err)
				if string(before) != string(after) {
					s.t.Errorf("%s was refused, and the file changed", key)
				}
				continue
			}
			if e, err := next.Explain(key); err != nil || e.Origin.Layer == FromDefault {
				s.t.Errorf("%s is set, but it is %v, %v", key, e, err)
			}
			settings = next
		}
		after, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		s.expect("after", string(after))
		s.expect("refused", refused.String())
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			s.t.Errorf("the file is %v, %v: want it for its owner alone", info.Mode(), err)
		}
	})
}
