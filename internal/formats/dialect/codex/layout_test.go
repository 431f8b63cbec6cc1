package codex

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

	"pgregory.net/rapid"
)

const (
	thread = "01a1e121-bc52-7613-ad59-b80dc54c94a9"
	other  = "5973b6c0-94b8-487b-a530-2aeb6098ae0e"
)

func home(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return fsys
}

func list(fsys fs.FS) (lines []string) {
	for t, err := range New().Layout().Transcripts(fsys) {
		if err != nil {
			lines = append(lines, t.Name+": error")
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s cwd=%s title=%q parent=%s sub=%t archived=%t packed=%t", t.ID, t.Parts[0], t.CWD, t.Title, t.Parent, t.Sub, t.Archived, t.Compressed))
	}
	return lines
}

func TestTranscripts(t *testing.T) {
	corpus := fixtures(t)
	day := "sessions/2026/11/15/rollout-2026-11-15T21-34-06-"
	got := list(home(map[string]string{
		day + thread + ".jsonl":     string(corpus["rollout-2026-11-15T21-34-06-"+thread+".jsonl"]),
		day + thread + ".jsonl.zst": "\x28\xb5\x2f\xfd",
		day + thread + "_abc.jsonl": "",
		"sessions/2025/05/07/rollout-2025-05-07T17-24-21-" + other + ".jsonl.zst":                  "\x28\xb5\x2f\xfd",
		"sessions/2026/11/15/.rollout.jsonl":                                                       "",
		"sessions/2026/11/15/notes.txt":                                                            "",
		"sessions/2026/11/15/" + thread + ".jsonl":                                                 "",
		"archived_sessions/rollout-2026-11-15T21-34-06-" + thread + ".jsonl":                       "",
		"archived_sessions/rollout-2026-08-01T18-07-04-019fbcca-9fd4-7d20-83dc-0762b2f839b3.jsonl": string(corpus["kenn-agentsview_traex_rollout_subagent.jsonl"]),
		indexFile: `{"id":"` + thread + `","thread_name":"old","updated_at":"2026-11-15T00:00:00Z"}` + "\nnot JSON\n" +
			`{"id":"` + thread + `","thread_name":"new","updated_at":"2026-11-16T00:00:00Z"}` + "\n" + `{"id":"` + thread + `","thread_name":" "}` + "\n" + `{"id":"tor`,
	}))
	want := []string{
		other + " sessions/2025/05/07/rollout-2025-05-07T17-24-21-" + other + `.jsonl.zst cwd= title="" parent= sub=false archived=false packed=true`,
		thread + ".jsonl: error",
		thread + " " + day + thread + `.jsonl cwd=/home/user/project title="new" parent= sub=false archived=false packed=false`,
		thread + "_abc " + day + thread + `_abc.jsonl cwd= title="new" parent= sub=false archived=false packed=false`,
		`019fbcca-9fd4-7d20-83dc-0762b2f839b3 archived_sessions/rollout-2026-08-01T18-07-04-019fbcca-9fd4-7d20-83dc-0762b2f839b3.jsonl cwd=/home/user/code/api title="" parent=019fbc4a-48b9-7472-a0da-6d92901383db sub=true archived=true packed=false`,
		"rollout-2026-11-15T21-34-06-" + thread + " archived_sessions/rollout-2026-11-15T21-34-06-" + thread + `.jsonl cwd= title="new" parent= sub=false archived=true packed=false`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTranscriptLongFirstLine reads the metadata of a first line that is longer than the
// prefix read.
func TestTranscriptLongFirstLine(t *testing.T) {
	line := `{"timestamp":"2026-11-15T21:34:06.962Z","type":"session_meta","payload":{"id":"x","timestamp":"2026-11-15T21:34:06.934Z","cwd":"/a","thread_source":"subagent","base_instructions":{"text":"` + strings.Repeat("x", 2*maxPrefix) + `"}}}`
	for tr, err := range New().Layout().Transcripts(home(map[string]string{"sessions/rollout-2026-11-15T21-34-06-" + thread + ".jsonl": line})) {
		if err != nil || tr.CWD != "/a" || !tr.Sub || tr.Created.IsZero() {
			t.Errorf("listed: %+v, %v", tr, err)
		}
	}
}

func TestOwns(t *testing.T) {
	for file, want := range map[string]bool{
		"session_index.jsonl": true, "archived_sessions/x": true, "sessions/2026/11/15/x": true, "sessions/rollout-2026-11-15T21-34-06-" + thread + ".jsonl": true,
		"sessions/crab_user_1.jsonl": false, "sessions/--home--/x.jsonl": false, "config.toml": false, "projects/x": false,
	} {
		if got := New().Layout().Owns(home(map[string]string{file: ""})); got != want {
			t.Errorf("a home with %s is owned: %t, want %t", file, got, want)
		}
	}
}

func TestPlace(t *testing.T) {
	l := New().Layout()
	to := dialect.Target{Session: thread, CWD: "/../..", Title: "../x", Created: began}
	first, err := l.Place(home(nil), to)
	if want := "sessions/2026/11/15/rollout-2026-11-15T10-00-00-" + thread + ".jsonl"; err != nil || first != want {
		t.Fatalf("Place = %s, %v; want %s", first, err, want)
	}
	if got := strings.Join(l.Resume(first, to), " "); got != "codex resume "+thread {
		t.Errorf("Resume = %s", got)
	}
	second, err := l.Place(home(map[string]string{"archived_sessions/rollout-2020-01-01T00-00-00-" + thread + ".jsonl.zst": ""}), to)
	n, ok := parseName(second)
	if err != nil || !ok || n.thread == thread || !dialect.IsUUID(n.thread) {
		t.Errorf("Place next to an archived one = %s, %v", second, err)
	}
	if got := l.Resume(second, to); got[2] != n.thread {
		t.Errorf("Resume = %s", got)
	}
}

func TestPlaceHostile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		to := dialect.Target{Session: firn.ID(rapid.String().Draw(rt, "id")), Created: time.UnixMilli(rapid.Int64().Draw(rt, "time"))}
		fsys := fstest.MapFS{}
		for range 3 {
			at, err := New().Layout().Place(fsys, to)
			if err != nil {
				rt.Fatal(err)
			}
			if _, ok := parseName(at); !ok || !fs.ValidPath(at) || fsys[at] != nil {
				rt.Fatalf("placed at %q", at)
			}
			fsys[at] = &fstest.MapFile{}
		}
		if n := len(list(fsys)); n != 3 {
			rt.Fatalf("%d are listed, want 3", n)
		}
	})
}

func TestIndex(t *testing.T) {
	l := New().Layout()
	at := "sessions/2026/11/15/rollout-2026-11-15T10-00-00-" + thread + ".jsonl"
	to := dialect.Target{Title: " A \"name\" ", Updated: began.Add(500 * time.Millisecond)}
	for _, c := range []struct{ before, want string }{
		{"", ""}, {"{\"id\":\"x\",\"odd\":1}\n", "{\"id\":\"x\",\"odd\":1}\n"}, {`{"id":"torn`, "{\"id\":\"torn\n"},
	} {
		fsys := fstest.MapFS{}
		if c.before != "" {
			fsys[indexFile] = &fstest.MapFile{Data: []byte(c.before)}
		}
		files, err := l.Index(fsys, at, to)
		want := c.want + `{"id":"` + thread + `","thread_name":"A \"name\"","updated_at":"2026-11-15T10:00:00.5Z"}` + "\n"
		if err != nil || len(files) != 1 || files[0].Path != indexFile || string(files[0].Data) != want {
			t.Errorf("Index = %q, %v; want %q", files, err, want)
			continue
		}
		fsys[indexFile] = &fstest.MapFile{Data: files[0].Data}
		if files, err := l.Index(fsys, at, to); err != nil || len(files) > 0 {
			t.Errorf("a name that is known is written again: %q, %v", files, err)
		}
	}
	if files, err := l.Index(home(nil), at, dialect.Target{}); err != nil || len(files) > 0 {
		t.Errorf("no title makes an index: %q, %v", files, err)
	}
	if part, ok := l.Part(at, 1<<40, 1); ok || l.Retention(home(nil)) != 0 {
		t.Errorf("a part %q, or a time to live", part)
	}
}

func FuzzTranscripts(f *testing.F) {
	f.Add("2026/11/15/rollout-2026-11-15T10-00-00-"+thread+".jsonl", "rollout-2026-11-15T10-00-00-x_y.jsonl.zst", []byte(`{"type":"session_meta","payload":{"id":"x"}}`))
	f.Add("x.jsonl", "rollout-.jsonl", []byte(`{"id":"x","thread_name":"y"}`))
	f.Fuzz(func(t *testing.T, a, b string, data []byte) {
		fsys := fstest.MapFS{indexFile: &fstest.MapFile{Data: data}}
		for _, name := range []string{"sessions/" + a, "archived_sessions/" + b} {
			if fs.ValidPath(name) {
				fsys[name] = &fstest.MapFile{Data: data}
			}
		}
		New().Layout().Owns(fsys)
		seen := make(map[firn.ID]bool)
		for tr, err := range New().Layout().Transcripts(fsys) {
			if err != nil {
				continue
			}
			if tr.ID.Check() != nil || seen[tr.ID] || len(tr.Parts) != 1 {
				t.Fatalf("listed: %+v", tr)
			}
			seen[tr.ID] = true
		}
	})
}
