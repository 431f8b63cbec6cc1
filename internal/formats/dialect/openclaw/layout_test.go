package openclaw_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialect/openclaw"
	"firn.dev/internal/formats/dialect/pi"

	"github.com/google/go-cmp/cmp"
)

var tool = openclaw.New(pi.New(native.New()))

var when = time.Date(2026, 11, 15, 2, 40, 15, 42e6, time.UTC)

const dir = "agents/main/sessions/"

func file(data string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(data)} }

func sample(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, "openclaw", "sessions.sample.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// home returns a home of OpenClaw with the recorded table and files for its rows.
func home(t testing.TB) fstest.MapFS {
	return fstest.MapFS{
		"openclaw.json":       file("{}"),
		dir + "sessions.json": file(sample(t)),
		dir + "0b9a2f3e-1111-4111-8111-000000000001.jsonl":                                      file(""),
		dir + "0b9a2f3e-1111-4111-8111-000000000002-topic-7.jsonl":                              file(""),
		dir + "0b9a2f3e-1111-4111-8111-000000000002-topic-8.jsonl":                              file(""),
		dir + "0b9a2f3e-1111-4111-8111-000000000001.jsonl.reset.2026-01-24T04-00-00.000Z":       file(""),
		dir + "0b9a2f3e-1111-4111-8111-000000000003.jsonl.deleted.2026-01-25T04-00-00Z":         file(""),
		dir + "0b9a2f3e-1111-4111-8111-000000000004.jsonl.deleted.2026-01-25T04-00-00.000Z.zst": file(""),
		dir + "2026-01-24T04-00-00-000Z_forked.jsonl":                                           file(""),
		dir + "x.jsonl.lock":         file("{}"),
		dir + "x.jsonl.bak-12-34":    file("{}"),
		dir + "sessions.json.12.tmp": file("{}"),
		dir + "notes.txt":            file(""),
		"agents/ops/sessions/0b9a2f3e-1111-4111-8111-000000000001.jsonl": file(""),
		"agents/ops/sessions/sessions.json":                              file("not JSON"),
		"sessions/old.jsonl":                                             file(""),
	}
}

func transcripts(t testing.TB, home fs.FS) map[string]dialect.Transcript {
	t.Helper()
	all := make(map[string]dialect.Transcript)
	ids := make(map[firn.ID]bool)
	for tr, err := range tool.Layout().Transcripts(home) {
		if err != nil {
			t.Fatal(err)
		}
		if ids[tr.ID] || tr.ID.Check() != nil {
			t.Errorf("%s has the id %q", tr.Parts, tr.ID)
		}
		ids[tr.ID] = true
		all[strings.TrimPrefix(tr.Parts[0], dir)] = tr
	}
	return all
}

func TestTranscripts(t *testing.T) {
	all := transcripts(t, home(t))
	if len(all) != 9 {
		t.Errorf("there are %d transcripts", len(all))
	}
	one := all["0b9a2f3e-1111-4111-8111-000000000001.jsonl"]
	if one.ID != "0b9a2f3e-1111-4111-8111-000000000001" || one.Key != "agent:main:main" || one.Agent != "main" || one.Archived ||
		!one.Updated.Equal(time.UnixMilli(1769240000000)) || !strings.Contains(string(one.Row), `"memoryFlushAt": 1769230000000`) {
		t.Errorf("the main session reads as %+v", one)
	}
	topic := all["0b9a2f3e-1111-4111-8111-000000000002-topic-7.jsonl"]
	if topic.ID != "0b9a2f3e-1111-4111-8111-000000000002" || topic.Key != "agent:main:telegram:group:-100123:topic:7" || topic.Title != "telegram:g-team" {
		t.Errorf("a topic reads as %+v", topic)
	}
	if other := all["0b9a2f3e-1111-4111-8111-000000000002-topic-8.jsonl"]; other.Key != "" || other.Name != topic.Name || other.ID != "0b9a2f3e-1111-4111-8111-000000000002-topic-8" {
		t.Errorf("another topic reads as %+v", other)
	}
	reset := all["0b9a2f3e-1111-4111-8111-000000000001.jsonl.reset.2026-01-24T04-00-00.000Z"]
	if !reset.Archived || reset.Key != "" || reset.Compressed || reset.ID != "0b9a2f3e-1111-4111-8111-000000000001.reset.2026-01-24T04-00-00.000Z" {
		t.Errorf("a session that was reset reads as %+v", reset)
	}
	if gone := all["0b9a2f3e-1111-4111-8111-000000000003.jsonl.deleted.2026-01-25T04-00-00Z"]; !gone.Archived || gone.ID != "0b9a2f3e-1111-4111-8111-000000000003" {
		t.Errorf("a deleted session reads as %+v", gone)
	}
	if packed := all["0b9a2f3e-1111-4111-8111-000000000004.jsonl.deleted.2026-01-25T04-00-00.000Z.zst"]; !packed.Archived || !packed.Compressed {
		t.Errorf("a packed session reads as %+v", packed)
	}
	if forked := all["2026-01-24T04-00-00-000Z_forked.jsonl"]; forked.ID != "forked" {
		t.Errorf("a fork reads as %+v", forked)
	}
	if twin := all["agents/ops/sessions/0b9a2f3e-1111-4111-8111-000000000001.jsonl"]; twin.Agent != "ops" || !dialect.IsUUID(string(twin.ID)) {
		t.Errorf("a session of the same name reads as %+v", twin)
	}
	if old := all["sessions/old.jsonl"]; old.Agent != "main" || old.ID != "old" {
		t.Errorf("a session of an old home reads as %+v", old)
	}
}

func TestSubAgents(t *testing.T) {
	table := `{"agent:main:main":{"sessionId":"p","updatedAt":1},
		"agent:main:subagent:u":{"sessionId":"c","updatedAt":2,"spawnedBy":"agent:main:main","label":"search","sessionStartedAt":1769240000000,"archivedAt":5}}`
	all := transcripts(t, fstest.MapFS{dir + "sessions.json": file(table), dir + "p.jsonl": file(""), dir + "c.jsonl": file("")})
	if c := all["c.jsonl"]; !c.Sub || c.Parent != "p" || c.Title != "search" || !c.Archived || c.Created.UnixMilli() != 1769240000000 {
		t.Errorf("a sub-agent's session reads as %+v", c)
	}
}

func TestOwns(t *testing.T) {
	with := func(names ...string) fstest.MapFS {
		h := fstest.MapFS{}
		for _, name := range names {
			h[name] = file("{}")
		}
		return h
	}
	for name, test := range map[string]struct {
		home fstest.MapFS
		want bool
	}{
		"OpenClaw":              {home(t), true},
		"Clawdbot":              {with("clawdbot.json"), true},
		"Clawdia":               {with("clawdia.json"), true},
		"without its settings":  {with(dir+"sessions.json", "agents/main/agent/auth-profiles.json"), true},
		"firn":                  {with(dir+"sessions.json", "config.toml"), false},
		"firn without settings": {fstest.MapFS{dir + "sessions.json": file("{}"), dir + "x.jsonl": file(`{"type":"session","version":3,"id":"x","firn":1}`)}, false},
		"without anything else": {with(dir+"sessions.json", dir+"x.jsonl"), true},
		"pi":                    {with("settings.json", "auth.json", "sessions/--w--/x.jsonl"), false},
		"nothing":               {with(), false},
	} {
		if got := tool.Layout().Owns(test.home); got != test.want {
			t.Errorf("%s: Owns = %t", name, got)
		}
	}
	if want := []string{".openclaw", ".clawdbot", ".clawdia"}; !slices.Equal(tool.Layout().Homes(), want) {
		t.Errorf("Homes = %q", tool.Layout().Homes())
	}
}

func TestPlace(t *testing.T) {
	for _, test := range []struct{ session, agent, key, want string }{
		{"new", "", "", dir + "new.jsonl"},
		{"new", "Ops Team!", "", "agents/ops-team/sessions/new.jsonl"},
		{"new", "../..", "", dir + "new.jsonl"},
		{"new", strings.Repeat("a", 100), "", "agents/" + strings.Repeat("a", 64) + "/sessions/new.jsonl"},
		{"new", "", "agent:main:telegram:group:-1:topic:7", dir + "new-topic-7.jsonl"},
		{"new", "", "agent:main:x:group:y:topic:a b/(é)", dir + "new-topic-a%20b%2F(%C3%A9).jsonl"},
		{"0b9a2f3e-1111-4111-8111-000000000001", "", "", dir + "0b9a2f3e-1111-4111-8111-000000000001-2.jsonl"},
		{"0B9A2F3E-1111-4111-8111-000000000003", "", "", dir + "0B9A2F3E-1111-4111-8111-000000000003-2.jsonl"}, // archived
		{"../x", "", "", dir + dialect.UUID("openclaw", "../x") + ".jsonl"},
		{"a-topic-b", "", "", dir + dialect.UUID("openclaw", "a-topic-b") + ".jsonl"},
		{"a.jsonl", "", "", dir + dialect.UUID("openclaw", "a.jsonl") + ".jsonl"},
	} {
		got, err := tool.Layout().Place(home(t), dialect.Target{Session: firn.ID(test.session), Agent: test.agent, Key: test.key})
		if err != nil || got != test.want || !fs.ValidPath(got) {
			t.Errorf("Place(%q, %q, %q) = %q, %v; want %q", test.session, test.agent, test.key, got, err, test.want)
		}
	}
}

// TestPlaceOfImported checks that the name of a transcript that OpenClaw imported into its
// database and moved away is not used again.
func TestPlaceOfImported(t *testing.T) {
	const first, archive = "0b9a2f3e-1111-4111-8111-00000000000a", "agents/main/session-sqlite-import-archive/"
	for name, want := range map[string]string{
		archive + "agent_main_main." + first + ".jsonl.imported-1769860000000": dir + first + "-2.jsonl",
		archive + first + ".jsonl": dir + first + "-2.jsonl",
		archive + "agent_main_main.x" + first + ".jsonl.imported-1769860000000":                        dir + first + ".jsonl",
		"agents/ops/session-sqlite-import-archive/agent_ops_main." + first + ".jsonl.imported-1769860": dir + first + ".jsonl",
	} {
		got, err := tool.Layout().Place(fstest.MapFS{name: &fstest.MapFile{}}, dialect.Target{Session: first})
		if err != nil || got != want {
			t.Errorf("beside %s the place is %s, %v, want %s", name, got, err, want)
		}
	}
}

// rows reads a table as another program would.
func rows(t *testing.T, data []byte) map[string]map[string]any {
	t.Helper()
	var all map[string]map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return all
}

func index(t *testing.T, h fs.FS, path string, to dialect.Target) []byte {
	t.Helper()
	files, err := tool.Layout().Index(h, path, to)
	if err != nil || len(files) != 1 || files[0].Path != dir+"sessions.json" {
		t.Fatalf("Index = %v, %v", files, err)
	}
	return files[0].Data
}

func TestIndexOfNewSession(t *testing.T) {
	got := index(t, fstest.MapFS{}, dir+"s1.jsonl", dialect.Target{Session: "s1", Title: "A \"title\"", Updated: when})
	want := `{
  "agent:main:firn-s1": {
    "sessionId": "s1",
    "updatedAt": 1794710415042,
    "displayName": "A \"title\""
  }
}`
	if string(got) != want {
		t.Errorf("the table reads\n%s\nwant\n%s", got, want)
	}
	h := fstest.MapFS{dir + "sessions.json": file(string(got))}
	if again := index(t, h, dir+"s1.jsonl", dialect.Target{Session: "s1", Updated: when}); string(again) != want {
		t.Errorf("entered again it reads\n%s", again)
	}
	renamed := strings.Replace(want, `A \"title\"`, "Other", 1)
	if again := index(t, h, dir+"s1.jsonl", dialect.Target{Session: "s1", Title: "Other", Updated: when}); string(again) != renamed {
		t.Errorf("renamed it reads\n%s", again)
	}
	next := index(t, h, dir+"s2.jsonl", dialect.Target{Session: "s2", Key: "agent:main:firn-s1", Title: "Other", Updated: when})
	if want := strings.Replace(want, `"sessionId": "s1"`, `"sessionId": "s2"`, 1); string(next) != want {
		t.Errorf("with the next session of the key it reads\n%s", next)
	}
}

// TestIndexLabel checks that the label, which OpenClaw shows first, is set, and replaced by
// a title that is too long for it.
func TestIndexLabel(t *testing.T) {
	h := fstest.MapFS{dir + "sessions.json": file(`{"agent:main:firn-s1":{"sessionId":"s1","updatedAt":1,"label":"old"}}`)}
	long := strings.Repeat("long ", 20) + "title"
	for title, want := range map[string]string{"new": `"label": "new"`, long: `"displayName": "` + long + `"`} {
		got := string(index(t, h, dir+"s1.jsonl", dialect.Target{Session: "s1", Title: title, Updated: when}))
		if !strings.Contains(got, want) || strings.Contains(got, "old") {
			t.Errorf("the table reads\n%s\nwant %s", got, want)
		}
	}
}

func TestIndexKeepsOtherFields(t *testing.T) {
	before := rows(t, []byte(sample(t)))
	to := dialect.Target{Session: "0b9a2f3e-1111-4111-8111-000000000001", Key: "agent:main:main", Title: "x", Updated: when}
	got := index(t, home(t), dir+"0b9a2f3e-1111-4111-8111-000000000001.jsonl", to)
	before["agent:main:main"]["updatedAt"] = float64(when.UnixMilli())
	before["agent:main:main"]["displayName"] = "x"
	if diff := cmp.Diff(before, rows(t, got)); diff != "" {
		t.Errorf("more was changed (-want +got):\n%s", diff)
	}
	if strings.Index(string(got), `"memoryFlushAt"`) > strings.Index(string(got), `"deliveryContext"`) || !strings.HasSuffix(string(got), "\n  }\n}") {
		t.Errorf("the table is laid out differently:\n%s", got)
	}
	earlier := to
	earlier.Updated = time.UnixMilli(5)
	if at := rows(t, index(t, home(t), dir+"0b9a2f3e-1111-4111-8111-000000000001.jsonl", earlier))["agent:main:main"]["updatedAt"]; at != 1769240000000.0 {
		t.Errorf("updatedAt moved back to %v", at)
	}
}

func TestIndexOfAnotherSessionUnderTheKey(t *testing.T) {
	to := dialect.Target{Session: "s2", Key: "Agent:main:main", Updated: when}
	row := rows(t, index(t, home(t), dir+"s2.jsonl", to))["agent:main:main"]
	if row["sessionId"] != "s2" || row["sessionFile"] != "/home/u/.clawdbot/agents/main/sessions/s2.jsonl" || row["thinkingLevel"] != "low" {
		t.Errorf("the row is %v", row)
	}
	for _, name := range []string{"totalTokens", "compactionCount", "memoryFlushAt", "systemSent"} {
		if row[name] != nil {
			t.Errorf("%s of the other session is still %v", name, row[name])
		}
	}
}

// TestIndexGenerations checks that both spellings of a key are equal and that the existing
// one is kept.
func TestIndexGenerations(t *testing.T) {
	for there, output := range map[string]string{
		"agent:main:dm:alice":               "agent:main:direct:alice",
		"agent:main:direct:alice":           "agent:main:dm:alice",
		"agent:main:telegram:dm:5":          "agent:main:telegram:direct:5",
		"agent:main:telegram:work:direct:5": "agent:main:telegram:work:direct:5",
	} {
		h := fstest.MapFS{dir + "sessions.json": file(`{"` + there + `":{"sessionId":"a","x":1e400}}`)}
		got := string(index(t, h, dir+"a.jsonl", dialect.Target{Session: "a", Key: output}))
		if !strings.Contains(got, there) || strings.Count(got, "sessionId") != 1 || !strings.Contains(got, `"x": 1e400`) {
			t.Errorf("%s shown as %s: %s", there, output, got)
		}
	}
	h := fstest.MapFS{dir + "sessions.json": file(`{"agent:main:telegram:group:dm":{"sessionId":"a"}}`)}
	if got := string(index(t, h, dir+"b.jsonl", dialect.Target{Session: "b", Key: "agent:main:telegram:group:direct"})); strings.Count(got, "sessionId") != 2 {
		t.Errorf("a group that is called dm: %s", got)
	}
}

func TestIndexOfFilesWithOtherNames(t *testing.T) {
	row := rows(t, index(t, home(t), dir+"s3-topic-9.jsonl", dialect.Target{Session: "s3", Key: "agent:main:telegram:group:-1:topic:9"}))["agent:main:telegram:group:-1:topic:9"]
	if row["sessionId"] != "s3" || row["sessionFile"] != "s3-topic-9.jsonl" {
		t.Errorf("the row of a topic is %v", row)
	}
}

// TestIndexRefusesDamage checks that an invalid table is not rewritten: all other rows
// would be lost.
func TestIndexRefusesDamage(t *testing.T) {
	for _, data := range []string{"not JSON", `{"a":{}`, `[]`, `{"a":{},}`} {
		h := fstest.MapFS{dir + "sessions.json": file(data), dir + "x.jsonl": file("")}
		if files, err := tool.Layout().Index(h, dir+"x.jsonl", dialect.Target{Session: "x"}); !errors.Is(err, firn.ErrCorrupt) || files != nil {
			t.Errorf("%q: Index = %v, %v; want ErrCorrupt", data, files, err)
		}
		if len(transcripts(t, h)) != 1 {
			t.Errorf("%q: the transcript next to it is not found", data)
		}
	}
	for _, data := range []string{"", " \n", "\xef\xbb\xbf{}"} {
		h := fstest.MapFS{dir + "sessions.json": file(data)}
		if got := rows(t, index(t, h, dir+"x.jsonl", dialect.Target{Session: "x"})); len(got) != 1 {
			t.Errorf("%q: %v", data, got)
		}
	}
}

func TestRetentionSettings(t *testing.T) {
	const day = 24 * time.Hour
	for config, want := range map[string]time.Duration{
		``:   0,
		`{}`: 0,
		`{"session":{"maintenance":{"mode":"warn","pruneAfter":"7d"}}}`:     0,
		`{"session":{"maintenance":{"mode":"enforce"}}}`:                    30 * day,
		`{"session":{"maintenance":{"mode":"enforce","pruneAfter":"7d"}}}`:  7 * day,
		`{"session":{"maintenance":{"mode":"enforce","pruneAfter":"36h"}}}`: 36 * time.Hour,
		`{"session":{"maintenance":{"mode":"enforce","pruneAfter":"90m"}}}`: 90 * time.Minute,
		`{"session":{"maintenance":{"mode":"enforce","pruneAfter":14}}}`:    14 * day,
		`{"session":{"maintenance":{"mode":"enforce","pruneAfter":"??"}}}`:  30 * day,
		`{"session":{"maintenance":{"mode":"enforce","pruneDays":3}}}`:      3 * day,
	} {
		if got := tool.Layout().Retention(fstest.MapFS{"openclaw.json": file(config)}); got != want {
			t.Errorf("%s: Keeps = %s, want %s", config, got, want)
		}
	}
	database := fstest.MapFS{"agents/main/agent/openclaw-agent.sqlite": file("")}
	if got := tool.Layout().Retention(database); got != 30*day {
		t.Errorf("with a database: Keeps = %s", got)
	}
}

func TestResume(t *testing.T) {
	l := tool.Layout()
	got := l.Resume("/h/"+dir+"s1-2-topic-7.jsonl", dialect.Target{Session: "s1", Key: "agent:main:main"})
	if want := []string{"openclaw", "agent", "--local", "--session-id", "s1-2", "--message", "Go on."}; !slices.Equal(got, want) {
		t.Errorf("Resume = %q", got)
	}
	if _, more := l.Part("x", 1<<40, 1); more || !slices.Equal(l.SideFiles(), []string{"agents/*/sessions/sessions.json", "sessions/sessions.json"}) {
		t.Error("OpenClaw has parts or further files")
	}
}

// FuzzTranscripts lists arbitrary homes and tables, and adds a session.
func FuzzTranscripts(f *testing.F) {
	f.Add("x.jsonl", "x-topic-7.jsonl", "x.jsonl.reset.2026-01-24T04-00-00.000Z", `{"agent:main:main":{"sessionId":"x","updatedAt":1}}`)
	f.Add("a.jsonl", "A.jsonl", "a.jsonl.zst", sample(f))
	f.Fuzz(func(t *testing.T, a, b, c, table string) {
		h := fstest.MapFS{dir + "sessions.json": file(table)}
		for _, name := range []string{a, b, c} {
			if name = dir + name; fs.ValidPath(name) {
				h[name] = file("")
			}
		}
		tool.Layout().Owns(h)
		tool.Layout().Retention(h)
		ids := make(map[firn.ID]bool)
		for tr, err := range tool.Layout().Transcripts(h) {
			if err != nil {
				continue
			}
			if ids[tr.ID] || tr.ID.Check() != nil {
				t.Fatalf("%q has the id %q", tr.Parts, tr.ID)
			}
			ids[tr.ID] = true
		}
		files, err := tool.Layout().Index(h, dir+"new.jsonl", dialect.Target{Session: "new", Key: "agent:main:x"})
		if err != nil {
			return
		}
		h[dir+"sessions.json"], h[dir+"new.jsonl"] = file(string(files[0].Data)), file("")
		found := false
		for tr := range tool.Layout().Transcripts(h) {
			found = found || tr.ID == "new" && tr.Key != ""
		}
		if !found {
			t.Fatalf("the recorded session is not found:\n%s", files[0].Data)
		}
	})
}
