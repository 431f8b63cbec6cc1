package claw0

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// tree returns a file system of the given files.
func tree(files map[string]string) fstest.MapFS {
	m := make(fstest.MapFS)
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return m
}

const seedFile = ".sessions/transcripts/main_cli_user_6916a7a2e793.jsonl"

// workspace has sessions of both versions.
func workspace(t testing.TB) fstest.MapFS {
	return tree(map[string]string{
		"MEMORY.md":               "x",
		".sessions/sessions.json": read(t, "seedversion_sessions.json"),
		seedFile:                  read(t, "seedversion_main_cli_user.jsonl"),
		".sessions/transcripts/a_b_c_aaaaaaaaaaaa.jsonl":           header + user1,
		".sessions/transcripts/headless.jsonl":                     user1,
		".sessions/agents/luna/sessions.json":                      read(t, "currentversion_sessions.json"),
		".sessions/agents/luna/sessions/ba3c6d0fa450.jsonl":        read(t, "currentversion.jsonl"),
		".sessions/agents/luna/sessions/unlisted.jsonl":            "",
		".sessions/agents/luna/sessions/6916a7a2e793.jsonl":        "",
		".sessions/agents/luna/sessions/notes.txt":                 "x",
		".sessions/agents/luna/sessions/bad name?.jsonl":           "",
		".sessions/agents/luna/sessions/deeper/ba3c6d0fa450.jsonl": "",
	})
}

func TestTranscripts(t *testing.T) {
	var all []string
	ids := make(map[firn.ID]bool)
	for tr, err := range New(Options{}).Layout().Transcripts(workspace(t)) {
		if err != nil || ids[tr.ID] || tr.ID.Check() != nil {
			t.Errorf("%v has an ID that is in use or empty: %v", tr, err)
		}
		ids[tr.ID] = true
		id := string(tr.ID)
		if dialect.IsUUID(id) {
			id = "made"
		}
		all = append(all, fmt.Sprintf("%s|%s|%s|%s|%s|%s|%t", id, tr.Name, tr.Title, tr.Agent, tr.Key, tr.Updated.Format("05.000"), tr.Row != nil))
	}
	slices.Sort(all)
	equal(t, "transcripts", all, []string{
		"6916a7a2e793|main:cli:user||main|agent:main:cli:direct:user|47.796|true",
		"aaaaaaaaaaaa|main:cli:user||main|agent:main:cli:direct:user|00.000|false", // not in the index
		"ba3c6d0fa450|ba3c6d0fa450|initial|luna||49.019|true",
		"headless|headless||||00.000|false",
		"made|6916a7a2e793||luna||00.000|false",
		"made|bad name?||luna||00.000|false",
		"unlisted|unlisted||luna||00.000|false",
	})
	for range New(Options{}).Layout().Transcripts(workspace(t)) {
		break // stopping early must work
	}
	damaged := workspace(t)
	damaged[".sessions/sessions.json"].Data = []byte(`{"main:cli`)
	n := 0
	for _, err := range New(Options{}).Layout().Transcripts(damaged) {
		if n++; err != nil {
			t.Errorf("after a damaged index: %v", err)
		}
	}
	if n != len(all) {
		t.Errorf("with a damaged index there are %d sessions, want %d", n, len(all))
	}
}

func TestOwns(t *testing.T) {
	whole := workspace(t)
	sub := func(dir string) fs.FS {
		inner, err := fs.Sub(whole, dir)
		if err != nil {
			t.Fatal(err)
		}
		return inner
	}
	for _, c := range []struct {
		name string
		home fs.FS
		want bool
	}{
		{"a workspace", whole, true},
		{"the folder itself", sub(".sessions"), true},
		{"the checkout around it", tree(map[string]string{"workspace/.sessions/sessions.json": "{}"}), true},
		{"the first version", tree(map[string]string{".sessions/transcripts/x.jsonl": ""}), true},
		{"the current version", tree(map[string]string{".sessions/agents/main/sessions.json": "{}"}), true},
		{"the current version, from within", tree(map[string]string{"agents/main/sessions.json": "{}"}), true},
		{"OpenClaw", tree(map[string]string{"agents/main/sessions/sessions.json": "{}", "agents/main/sessions/x.jsonl": ""}), false},
		{"transcripts of another tool", tree(map[string]string{"transcripts/x.jsonl": ""}), false},
		{"empty", tree(nil), false},
		{"a file of that name", tree(map[string]string{".sessions": ""}), false},
	} {
		if got := New(Options{}).Layout().Owns(c.home); got != c.want {
			t.Errorf("%s: Owns = %t", c.name, got)
		}
	}
}

// TestVersionOfHome checks which version a home has.
func TestVersionOfHome(t *testing.T) {
	first := tree(map[string]string{".sessions/transcripts/x.jsonl": ""})
	current := tree(map[string]string{".sessions/agents/main/sessions.json": "{}"})
	for _, start := range []bool{false, true} {
		tool := New(Options{Current: start})
		if tool.In(first).options.Current || !tool.In(current).options.Current || tool.In(workspace(t)).options.Current != start || tool.In(tree(nil)).options.Current != start {
			t.Errorf("started with %t, a home does not record its version", start)
		}
	}
}

func TestPlace(t *testing.T) {
	home := workspace(t)
	for _, c := range []struct {
		to      dialect.Target
		current bool
		want    string
	}{
		{dialect.Target{Session: "aaaaaaaaaaaa", Key: "agent:main:cli:direct:user"}, false, ".sessions/transcripts/main_cli_user_aaaaaaaaaaaa.jsonl"},
		{dialect.Target{Session: "aaaaaaaaaaaa", Key: "agent:main:main"}, false, ".sessions/transcripts/main_firn_main_aaaaaaaaaaaa.jsonl"},
		{dialect.Target{Session: "aaaaaaaaaaaa", Key: "x:y:z"}, false, ".sessions/transcripts/x_y_z_aaaaaaaaaaaa.jsonl"},
		{dialect.Target{Session: "aaaaaaaaaaaa"}, false, ".sessions/transcripts/main_cli_user_aaaaaaaaaaaa_aaaaaaaaaaaa.jsonl"},
		{dialect.Target{Session: "aaaaaaaaaaaa", Key: "../../x\x00/ü"}, false, ".sessions/transcripts/.._.._x____aaaaaaaaaaaa.jsonl"},
		{dialect.Target{Session: "aaaaaaaaaaaa", Agent: "Luna"}, true, ".sessions/agents/luna/sessions/aaaaaaaaaaaa.jsonl"},
		{dialect.Target{Session: "aaaaaaaaaaaa", Agent: ".."}, true, ".sessions/agents/main/sessions/aaaaaaaaaaaa.jsonl"},
		{dialect.Target{Session: "6916a7a2e793", Key: "main:cli:user"}, false, ""},
		{dialect.Target{Session: "ba3c6d0fa450", Agent: "luna"}, true, ""},
		{dialect.Target{Session: firn.ID(strings.Repeat("x", 300)), Key: strings.Repeat("y", 500)}, false, ""},
	} {
		got, err := New(Options{Current: c.current}).Layout().Place(home, c.to)
		if err != nil || c.want != "" && got != c.want || !fs.ValidPath(got) || len(got) > 250 {
			t.Errorf("Place(%s, %.20s) = %s, %v; want %s", c.to.Session, c.to.Key, got, err, c.want)
		}
		if _, there := home[got]; there {
			t.Errorf("Place(%s) = %s, which exists", c.to.Session, got)
		}
	}
	if got, err := New(Options{}).Layout().Place(tree(map[string]string{"transcripts/x_aaaaaaaaaaaa.jsonl": ""}), dialect.Target{Session: "bbbbbbbbbbbb", Key: "a:b:c"}); err != nil || got != "transcripts/a_b_c_bbbbbbbbbbbb.jsonl" {
		t.Errorf("in the folder itself Place = %s, %v", got, err)
	}
}

// indexed returns the rows of the new index.
func indexed(t *testing.T, home fs.FS, name string, to dialect.Target) map[string]string {
	t.Helper()
	files, err := New(Options{}).Layout().Index(home, name, to)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, f := range files {
		all[f.Path] = string(f.Data)
	}
	return all
}

// TestIndexUnchanged checks that the index of unchanged sessions is byte for byte the one
// that claw0 wrote.
func TestIndexUnchanged(t *testing.T) {
	when := func(s string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	home := workspace(t)
	got := indexed(t, home, seedFile, dialect.Target{Session: "6916a7a2e793", Updated: when("2026-11-15T02:40:47.796873+00:00")})
	if want := read(t, "seedversion_sessions.json"); len(got) != 1 || got[".sessions/sessions.json"] != want {
		t.Errorf("the index is\n%q\nwant\n%s", got, want)
	}
	got = indexed(t, home, ".sessions/agents/luna/sessions/ba3c6d0fa450.jsonl", dialect.Target{Session: "ba3c6d0fa450", Updated: when("2026-11-15T02:40:49.019828+00:00")})
	if want := read(t, "currentversion_sessions.json"); len(got) != 1 || got[".sessions/agents/luna/sessions.json"] != want {
		t.Errorf("the index is\n%q\nwant\n%s", got, want)
	}
}

func TestIndexNew(t *testing.T) {
	home := workspace(t)
	home[".sessions/sessions.json"].Data = []byte(`{"main:cli:user": {"session_key": "main:cli:user", "transcript_file": "main_cli_user_6916a7a2e793.jsonl", "mood": {"x": [1.50, {}]}}}`)
	const name = ".sessions/transcripts/main_cli_user_bbbbbbbbbbbb.jsonl"
	home[name] = &fstest.MapFile{Data: []byte(header + user1 + saying + user2)}
	got := indexed(t, home, name, dialect.Target{Session: "bbbbbbbbbbbb", Key: "agent:main:cli:direct:user", Created: noon, Updated: noon.Add(time.Second)})
	want := `{
  "main:cli:user": {
    "session_key": "main:cli:user",
    "transcript_file": "main_cli_user_6916a7a2e793.jsonl",
    "mood": {
      "x": [
        1.50,
        {}
      ]
    }
  },
  "main:cli:user_bbbbbbbbbbbb": {
    "session_key": "main:cli:user_bbbbbbbbbbbb",
    "session_id": "bbbbbbbbbbbb",
    "created_at": "2026-11-15T02:40:47+00:00",
    "updated_at": "2026-11-15T02:40:48+00:00",
    "message_count": 2,
    "transcript_file": "main_cli_user_bbbbbbbbbbbb.jsonl"
  }
}`
	if got[".sessions/sessions.json"] != want {
		t.Errorf("the index is\n%s\nwant\n%s", got[".sessions/sessions.json"], want)
	}
	got = indexed(t, home, ".sessions/agents/new/sessions/cccccccccccc.jsonl", dialect.Target{Title: "T", Created: noon, Updated: noon, Messages: 7})
	want = `{
  "cccccccccccc": {
    "label": "T",
    "created_at": "2026-11-15T02:40:47+00:00",
    "last_active": "2026-11-15T02:40:47+00:00",
    "message_count": 7
  }
}`
	if got[".sessions/agents/new/sessions.json"] != want {
		t.Errorf("the index is\n%s\nwant\n%s", got[".sessions/agents/new/sessions.json"], want)
	}
}

// TestIndexDamaged checks that an unreadable index is rebuilt and its contents are kept.
func TestIndexDamaged(t *testing.T) {
	home := workspace(t)
	home[".sessions/sessions.json"].Data = []byte(`{"main:cli`)
	got := indexed(t, home, seedFile, dialect.Target{Session: "6916a7a2e793", Updated: noon})
	if got[".sessions/sessions.json.corrupt"] != `{"main:cli` {
		t.Errorf("the previous content is lost: %q", got)
	}
	for _, want := range []string{`"main_cli_user_6916a7a2e793.jsonl"`, `"a_b_c_aaaaaaaaaaaa.jsonl"`} {
		if strings.Count(got[".sessions/sessions.json"], want) != 1 {
			t.Errorf("the index does not name %s once:\n%s", want, got[".sessions/sessions.json"])
		}
	}
}

func TestRest(t *testing.T) {
	l := New(Options{}).Layout()
	if next, ok := l.Part(seedFile, 1<<40, 1); ok || next != "" {
		t.Errorf("Part = %s", next)
	}
	if first, current := l.Resume(seedFile, dialect.Target{}), l.Resume(".sessions/agents/a/sessions/b.jsonl", dialect.Target{}); first[1] == current[1] {
		t.Errorf("both versions are started as %q", first)
	}
	if l.Retention(workspace(t)) != 0 || len(l.Homes()) != 0 || !slices.Contains(l.SideFiles(), ".sessions/sessions.json") {
		t.Error("claw0 keeps sessions forever, anywhere, with an index next to them")
	}
	names := make(map[string]bool)
	for _, limit := range New(Options{}).Limits() {
		if names[limit.Name] || limit.Name == "" || limit.Becomes == "" {
			t.Errorf("the limit %+v is incomplete or a duplicate", limit)
		}
		names[limit.Name] = true
	}
}

// FuzzTranscripts lists arbitrary file names and indexes.
func FuzzTranscripts(f *testing.F) {
	f.Add(seedFile, ".sessions/agents/a/sessions/b.jsonl", "x:y:z", read(f, "seedversion_sessions.json"), header)
	f.Add(".sessions/transcripts/_.jsonl", "agents/a/sessions.json", "agent:", `{"a":5}`, "")
	f.Fuzz(func(t *testing.T, a, b, key, index, data string) {
		home := make(fstest.MapFS)
		for name, text := range map[string]string{a: data, b: data, ".sessions/sessions.json": index, ".sessions/agents/a/sessions.json": index} {
			if fs.ValidPath(name) && name != "." {
				home[name] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		for _, current := range []bool{false, true} {
			l := New(Options{Current: current}).Layout()
			l.Owns(home)
			ids := make(map[firn.ID]bool)
			for tr := range l.Transcripts(home) {
				if tr.ID.Check() != nil || ids[tr.ID] || len(tr.Parts) != 1 {
					t.Fatalf("a transcript is %+v", tr)
				}
				ids[tr.ID] = true
				if _, err := l.Index(home, tr.Parts[0], dialect.Target{Session: tr.ID, Key: key}); err != nil {
					t.Fatal(err)
				}
			}
			to := dialect.Target{Session: firn.ID(a), Key: key, Agent: b}
			got, err := l.Place(home, to)
			if _, there := home[got]; err != nil || there || !fs.ValidPath(got) {
				t.Fatalf("Place = %q, %v", got, err)
			}
		}
	})
}
