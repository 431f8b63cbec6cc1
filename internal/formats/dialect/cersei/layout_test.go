package cersei

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// claudeLine is a line of Claude Code.
const claudeLine = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"x"},"uuid":"u","timestamp":"2026-04-03T10:00:00.000Z","sessionId":"s"}` + "\n"

// tree returns a file system of the given files.
func tree(files map[string]string) fstest.MapFS {
	m := make(fstest.MapFS)
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return m
}

// home returns a folder that Cersei shares with Claude Code, with all naming schemes of
// projects.
func home(t testing.TB) fstest.MapFS {
	transcript, part := read(t, "abc12345-transcript.jsonl"), read(t, "abc12345-transcript_part2.jsonl")
	return tree(map[string]string{
		"settings.json":                              `{}`,
		"history.jsonl":                              `{"display":"x"}`,
		"projects/_Users_foo_p/abc12345.jsonl":       transcript,
		"projects/_Users_foo_p/abc12345_part2.jsonl": part,
		"projects/_Users_foo_p/abc12345_part3.jsonl": part,
		"projects/_Users_foo_p/abc12345_part5.jsonl": part,
		"projects/_Users_foo_p/lost_part2.jsonl":     part,
		"projects/_Users_foo_p/memory/MEMORY.md":     "x",
		"projects/_Users_foo_p/memory/x.jsonl":       transcript,
		"projects/Users-foo-p/abc12345.jsonl":        transcript,
		"projects/-Users-foo-p/docs.jsonl":           transcript,
		"projects/-Users-foo-p/claude.jsonl":         claudeLine,
		"projects/-Users-foo-p/claude_part2.jsonl":   claudeLine,
		"projects/-Users-foo-p/empty.jsonl":          "",
		"projects/-Users-foo-p/a b.jsonl":            transcript,
	})
}

// list describes the transcripts of a home.
func list(home fs.FS) (all []string) {
	for t, err := range New(Options{}).Layout().Transcripts(home) {
		fault := ""
		if err != nil {
			fault = " fault"
		}
		all = append(all, fmt.Sprintf("%s %s %s%s", t.Name, t.CWD, strings.Join(t.Parts, "+"), fault))
	}
	slices.Sort(all)
	return all
}

func TestTranscripts(t *testing.T) {
	equal(t, "transcripts", list(home(t)), []string{
		"a b /project projects/-Users-foo-p/a b.jsonl",
		"abc12345 /project projects/Users-foo-p/abc12345.jsonl",
		"abc12345 /project projects/_Users_foo_p/abc12345.jsonl+projects/_Users_foo_p/abc12345_part2.jsonl+projects/_Users_foo_p/abc12345_part3.jsonl",
		"abc12345_part5  projects/_Users_foo_p/abc12345_part5.jsonl fault",
		"docs /project projects/-Users-foo-p/docs.jsonl",
		"lost  projects/_Users_foo_p/lost_part2.jsonl",
	})
	equal(t, "bare messages anywhere", list(tree(map[string]string{"my-session.jsonl": read(t, "my-session-jsonlmemory.jsonl"), "x.txt": "x"})), []string{"my-session  my-session.jsonl"})
	ids := make(map[firn.ID]bool)
	for tr, err := range New(Options{}).Layout().Transcripts(home(t)) {
		if ids[tr.ID] || tr.ID.Check() != nil {
			t.Errorf("%s has the ID %s, which is in use or empty", tr.Parts[0], tr.ID)
		}
		ids[tr.ID] = true
		if err != nil && !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", tr.Parts[0], err)
		}
	}
	if !ids["abc12345"] || !ids["docs"] {
		t.Errorf("sessions do not keep their names: %v", ids)
	}
	for range New(Options{}).Layout().Transcripts(home(t)) {
		break // stopping early must work
	}
}

func TestOwns(t *testing.T) {
	l := New(Options{}).Layout()
	for _, c := range []struct {
		name string
		home fs.FS
		want bool
	}{
		{"shared", home(t), true},
		{"Claude Code's", tree(map[string]string{"projects/-p/a.jsonl": claudeLine, "settings.json": "{}"}), false},
		{"one project", tree(map[string]string{"abc.jsonl": read(t, "abc12345-transcript.jsonl")}), true},
		{"bare messages", tree(map[string]string{"abc.jsonl": read(t, "my-session-jsonlmemory.jsonl")}), true},
		{"empty", tree(nil), false},
		{"something else", tree(map[string]string{"a.jsonl": `{"type":"session","id":"x","timestamp":"t","cwd":"/"}`}), false},
	} {
		if got := l.Owns(c.home); got != c.want {
			t.Errorf("%s: Owns = %t", c.name, got)
		}
	}
}

func TestPlace(t *testing.T) {
	h := home(t)
	h["projects/_p/abc.jsonl"] = &fstest.MapFile{}
	h["projects/_p/abc-2.jsonl"] = &fstest.MapFile{}
	h["projects/_p/Def_part2.jsonl"] = &fstest.MapFile{}
	long := "/" + strings.Repeat("é/", 200)
	for _, c := range []struct {
		session, cwd string
		claude       bool
		want         string
	}{
		{"new", "/Users/foo/my project.v1", false, "projects/_Users_foo_my_project.v1/new.jsonl"},
		{"abc", "/p", false, "projects/_p/abc-3.jsonl"},
		{"def", "/p", false, "projects/_p/def-2.jsonl"},
		{"new", "", false, "projects/_/new.jsonl"},
		{"new", "..", false, "projects/__/new.jsonl"},
		{"new", "../../etc", false, "projects/.._.._etc/new.jsonl"},
		{"new", "C:\\x\x00\xff", false, "projects/C__x__/new.jsonl"},
		{"../x", "/p", false, "projects/_p/" + dialect.UUID("cersei", "../x") + ".jsonl"},
		{"new", "/Users/foo.p", true, "projects/-Users-foo-p/" + dialect.UUID("cersei", "new") + ".jsonl"},
		{"new", long, false, ""},
	} {
		got, err := New(Options{ForClaude: c.claude}).Layout().Place(h, dialect.Target{Session: firn.ID(c.session), CWD: c.cwd})
		if err != nil || c.want != "" && got != c.want || !fs.ValidPath(got) {
			t.Errorf("Place(%s, %.20q) = %s, %v; want %s", c.session, c.cwd, got, err, c.want)
		}
		if _, there := h[got]; there || len(path.Base(path.Dir(got))) > 255 {
			t.Errorf("Place(%s, %.20q) = %s, which cannot be", c.session, c.cwd, got)
		}
	}
	uuid := "a1b2c3d4-0000-4000-8000-000000000001"
	h["projects/_p/"+uuid+".jsonl"] = &fstest.MapFile{}
	got, err := New(Options{}).Layout().Place(h, dialect.Target{Session: firn.ID(uuid), CWD: "/p"})
	if name := strings.TrimSuffix(path.Base(got), ".jsonl"); err != nil || name == uuid || !dialect.IsUUID(name) {
		t.Errorf("next to a session with the same ID the name is %s, %v", got, err)
	}
}

// TestClaudeFolder checks Claude Code's folder names: a dash for each UTF-16 unit, and a
// hash if the name would be too long.
func TestClaudeFolder(t *testing.T) {
	if got := claudeFolder("/a_b.ü😀"); got != "-a-b----" {
		t.Errorf("the folder is %s", got)
	}
	if got := claudeFolder("/" + strings.Repeat("x", 199)); len(got) != 200 {
		t.Errorf("the folder is %s", got)
	}
	if got := claudeFolder("/" + strings.Repeat("x", 200)); len(got) < 202 || got[200] != '-' {
		t.Errorf("the folder is %s", got)
	}
}

func TestPart(t *testing.T) {
	l := New(Options{}).Layout()
	for _, c := range []struct {
		path       string
		size, more int64
		want       string
	}{
		{"projects/_p/a.jsonl", 49_999_000, 1000, ""},
		{"projects/_p/a.jsonl", 49_999_000, 1001, "projects/_p/a_part2.jsonl"},
		{"projects/_p/a_part2.jsonl", 50_000_000, 1, "projects/_p/a_part3.jsonl"},
		{"projects/_p/a_part9.jsonl", 50_000_000, 1, "projects/_p/a_part10.jsonl"},
		{"a.jsonl", 0, 60_000_000, ""},
		{"a.jsonl", 1, 60_000_000, "a_part2.jsonl"},
		{"a_part02.jsonl", 50_000_000, 1, "a_part02_part2.jsonl"},
	} {
		if got, ok := l.Part(c.path, c.size, c.more); got != c.want || ok != (c.want != "") {
			t.Errorf("Part(%s, %d, %d) = %s, %t; want %s", c.path, c.size, c.more, got, ok, c.want)
		}
	}
}

func TestRest(t *testing.T) {
	l := New(Options{}).Layout()
	if files, err := l.Index(home(t), "projects/_p/a.jsonl", dialect.Target{}); err != nil || len(files) != 0 {
		t.Errorf("Index = %v, %v", files, err)
	}
	if got := l.Resume("projects/_p/abc_part2.jsonl", dialect.Target{}); !slices.Equal(got, []string{"abstract", "--resume", "abc"}) {
		t.Errorf("Resume = %q", got)
	}
	if got := New(Options{ForClaude: true}).Layout().Resume("projects/-p/abc.jsonl", dialect.Target{}); got[0] != "claude" {
		t.Errorf("Resume = %q", got)
	}
	if l.Retention(home(t)) != 0 || !slices.Equal(l.Homes(), []string{".claude"}) {
		t.Error("Cersei keeps sessions forever, in .claude")
	}
	names := make(map[string]bool)
	for _, limit := range New(Options{ForClaude: true}).Limits() {
		if names[limit.Name] || limit.Name == "" || limit.Becomes == "" {
			t.Errorf("the limit %+v is incomplete or a duplicate", limit)
		}
		names[limit.Name] = true
	}
}

// FuzzTranscripts lists arbitrary file names.
func FuzzTranscripts(f *testing.F) {
	f.Add("projects/_p/a_part2.jsonl", "projects/_p/a_part99999999999999999999.jsonl", "_part2.jsonl", read(f, "abc12345-transcript.jsonl"))
	f.Add("projects", "projects.jsonl", ".jsonl", claudeLine)
	f.Fuzz(func(t *testing.T, a, b, c, data string) {
		home := make(fstest.MapFS)
		for _, name := range []string{a, b, c} {
			if fs.ValidPath(name) && name != "." {
				home[name] = &fstest.MapFile{Data: []byte(data)}
			}
		}
		l := New(Options{}).Layout()
		l.Owns(home)
		ids := make(map[firn.ID]bool)
		for tr := range l.Transcripts(home) {
			if tr.ID.Check() != nil || ids[tr.ID] || len(tr.Parts) == 0 {
				t.Fatalf("a transcript is %+v", tr)
			}
			ids[tr.ID] = true
		}
		got, err := l.Place(home, dialect.Target{Session: firn.ID(a), CWD: b})
		if _, there := home[got]; err != nil || there || !fs.ValidPath(got) {
			t.Fatalf("Place = %q, %v", got, err)
		}
	})
}
