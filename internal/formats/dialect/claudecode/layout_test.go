package claudecode

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// home returns a home built from the corpus.
func home(t testing.TB) fstest.MapFS {
	h := fstest.MapFS{"settings.json": {Data: []byte(`{"model":"x"}`)}}
	for name, file := range corpus(t) {
		h[path.Join("projects/-home-u-p", name)] = file
	}
	return h
}

// found lists the transcripts of a home by ID.
func found(t testing.TB, h fs.FS) map[firn.ID]dialect.Transcript {
	t.Helper()
	all := make(map[firn.ID]dialect.Transcript)
	for tr, err := range New().Layout().Transcripts(h) {
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := all[tr.ID]; twice || tr.ID.Check() != nil {
			t.Errorf("the id %q is not unique or no id: %v", tr.ID, tr.Parts)
		}
		all[tr.ID] = tr
	}
	return all
}

// TestListOfSDK compares the metadata of files with the SDK's list of sessions.
func TestListOfSDK(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/listSessions.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		SessionID, CWD, GitBranch string
		CreatedAt, FileSize       int64
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	h := home(t)
	all, seen := found(t, h), 0
	for _, want := range list {
		tr, ok := all[firn.ID(want.SessionID)]
		if !ok {
			continue // three of the listed files are too large for testdata
		}
		seen++
		file := h[tr.Parts[0]]
		entries := scanAll(t, tr.Parts[0], file.Data)
		header := entries[0].Body.(*firn.Header)
		if tr.Sub || header.CWD != want.CWD || entries[0].Time.UnixMilli() != want.CreatedAt || int64(len(file.Data)) != want.FileSize {
			t.Errorf("%s: %+v at %v, want %+v", tr.ID, header, entries[0].Time, want)
		}
		branch := ""
		for _, e := range entries {
			if b := textField(e.Extra, "gitBranch"); b != "" && branch == "" {
				branch = b
			}
		}
		if branch != want.GitBranch {
			t.Errorf("%s: branch %q, want %q", tr.ID, branch, want.GitBranch)
		}
	}
	if seen != 5 {
		t.Errorf("%d sessions of the list were found", seen)
	}
}

func TestTranscripts(t *testing.T) {
	h := home(t)
	const id = "258c7280-ae70-4798-800f-63464d01a85d"
	dir := "projects/-home-u-p/" + id
	h[dir+"/custom-title.json"] = &fstest.MapFile{Data: []byte(`{"customTitle":"Named"}`)}
	h[dir+"/subagents/agent-a881341.meta.json"] = &fstest.MapFile{Data: []byte(`{"agentType":"Explore","description":"look around"}`)}
	h[dir+"/subagents/deep/agent-x.jsonl"] = &fstest.MapFile{}
	h["projects/-other/"+id+".jsonl"] = h["projects/-home-u-p/"+id+".jsonl"]
	h["projects/-other/notes.txt"] = &fstest.MapFile{}
	h["projects/_Users_me/of-cersei.jsonl"] = &fstest.MapFile{}
	all := found(t, h)
	main := all[id]
	if main.Title != "Named" || main.Name != id || main.Sub {
		t.Errorf("the session is %+v", main)
	}
	sub := all[id+".agent-a881341"]
	if !sub.Sub || sub.Parent != id || sub.Title != "look around" || sub.Row == nil || sub.Name != "agent-a881341" {
		t.Errorf("the sub-agent is %+v", sub)
	}
	if deep := all[id+".agent-x"]; !deep.Sub || deep.Parent != id {
		t.Errorf("the deeper sub-agent is %+v", deep)
	}
	if _, ok := all["of-cersei"]; ok {
		t.Error("a session of Cersei was found")
	}
	twice := 0
	for _, tr := range all {
		if tr.Name == id {
			twice++
		}
		if tr.Name == "agent-test-hash-123" && (!tr.Sub || tr.Parent == "") {
			t.Errorf("the sub-agent in the project's folder is %+v", tr)
		}
	}
	if twice != 2 {
		t.Errorf("the session in two projects was found %d times", twice)
	}
	for _, tr := range all {
		if entries := scanAll(t, tr.Parts[0], h[tr.Parts[0]].Data); tr.Sub && len(h[tr.Parts[0]].Data) > 0 && len(live(entries)) == 0 {
			t.Errorf("the sub-agent %s has no messages", tr.ID)
		}
	}
}

func TestOwns(t *testing.T) {
	for name, c := range map[string]struct {
		fs   fstest.MapFS
		want bool
	}{
		"the corpus":         {home(t), true},
		"nothing":            {fstest.MapFS{}, false},
		"projects of others": {fstest.MapFS{"projects/_Users_me/x.jsonl": {}}, false},
		"no sessions yet":    {fstest.MapFS{"projects/x": {Mode: fs.ModeDir}, "history.jsonl": {}}, true},
		"Windows":            {fstest.MapFS{"projects/C--Users-me/x.jsonl": {}}, true},
	} {
		if got := New().Layout().Owns(c.fs); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestProjectDir(t *testing.T) {
	long := "/" + strings.Repeat("a/", 150)
	for cwd, want := range map[string]string{
		"/home/u/my_p.x": "-home-u-my-p-x", "C:\\Users\\me": "C--Users-me", "/ü/😀": "-----", "": "-", "/../..": "------",
	} {
		if got := projectDir(cwd); got != want {
			t.Errorf("projectDir(%q) = %q, want %q", cwd, got, want)
		}
	}
	name := projectDir(long)
	if len(name) > longestName+8 || name[:longestName] != strings.Repeat("-a", 100) {
		t.Errorf("a long name is %q", name)
	}
	if got := projectDir("/" + strings.Repeat("abcdefgh/", 29) + "xy"); got != strings.Repeat("-abcdefgh", 23)[:200]+"-"+hashOf("/"+strings.Repeat("abcdefgh/", 29)+"xy") {
		t.Errorf("the hash is not that of JavaScript: %s", got)
	}
}

// hashOf computes the hash as a loop over code units with wide integers.
func hashOf(s string) string {
	var h uint32
	for _, c := range s {
		h = 31*h + uint32(c)
	}
	n := int64(int32(h))
	if n < 0 {
		n = -n
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	out := ""
	for ; n > 0; n /= 36 {
		out = string(digits[n%36]) + out
	}
	return out
}

func TestPlace(t *testing.T) {
	h := home(t)
	l := New().Layout()
	seen := make(map[string]bool)
	for _, cwd := range []string{"/home/u/p", "/", "", "../../etc", "/" + strings.Repeat("x", 300), "/a\x00b/\xff"} {
		to := dialect.Target{Session: "not-a-uuid", CWD: cwd, Title: "../../\n"}
		name, err := l.Place(h, to)
		if err != nil || !fs.ValidPath(name) || !strings.HasPrefix(name, "projects/") || strings.Count(name, "/") != 2 {
			t.Errorf("Place(%q) = %q, %v", cwd, name, err)
		}
		if !dialect.IsUUID(strings.TrimSuffix(path.Base(name), ".jsonl")) {
			t.Errorf("%s is not named by a UUID", name)
		}
		if seen[name] || h[name] != nil {
			t.Errorf("%s already exists", name)
		}
		seen[name] = true
		h[name] = &fstest.MapFile{}
	}
	const id = "258c7280-ae70-4798-800f-63464d01a85d"
	if name, err := l.Place(h, dialect.Target{Session: id, CWD: "/x"}); err != nil || strings.Contains(name, id) {
		t.Errorf("a session with that ID exists: %s, %v", name, err)
	}
	if name, _ := l.Place(fstest.MapFS{}, dialect.Target{Session: id, CWD: "/x"}); name != "projects/-x/"+id+".jsonl" {
		t.Errorf("a new home: %s", name)
	}
	long := "/" + strings.Repeat("y", 300)
	native := fstest.MapFS{"projects/" + projectDir(long)[:longestName] + "-bunhash/a.jsonl": {}}
	if name, _ := l.Place(native, dialect.Target{Session: id, CWD: long}); !strings.Contains(name, "-bunhash/") {
		t.Errorf("another build's folder is not found: %s", name)
	}
}

func TestIndexAndSideFiles(t *testing.T) {
	l := New().Layout()
	file := "projects/-x/u.jsonl"
	h := fstest.MapFS{"projects/-x/u/custom-title.json": {Data: []byte(`{"by":{"n":1.0},"customTitle":"old"}`)}}
	files, err := l.Index(h, file, dialect.Target{Title: "new"})
	if err != nil || len(files) != 1 || string(files[0].Data) != `{"by":{"n":1.0},"customTitle":"new"}` || files[0].Path != "projects/-x/u/custom-title.json" {
		t.Errorf("Index: %v, %v", files, err)
	}
	for _, c := range []struct {
		fs    fs.FS
		title string
	}{{fstest.MapFS{}, "new"}, {h, "old"}, {h, ""}} {
		if files, err := l.Index(c.fs, file, dialect.Target{Title: c.title}); err != nil || files != nil {
			t.Errorf("Index without need: %v, %v", files, err)
		}
	}
	if got := l.Resume(file, dialect.Target{}); !slices.Equal(got, []string{"claude", "--resume", "u"}) {
		t.Errorf("Resume: %v", got)
	}
	for settings, want := range map[string]time.Duration{
		`{}`: 30 * 24 * time.Hour, `{"cleanupPeriodDays":7}`: 7 * 24 * time.Hour, `{"cleanupPeriodDays":0}`: 1, `{"cleanupPeriodDays":99999999}`: 0,
		`{"cleanupPeriodDays":"x"}`: 30 * 24 * time.Hour, `{`: 30 * 24 * time.Hour, `{"cleanupPeriodDays":-1}`: 30 * 24 * time.Hour,
	} {
		if got := l.Retention(fstest.MapFS{"settings.json": {Data: []byte(settings)}}); got != want {
			t.Errorf("Keeps with %s: %v, want %v", settings, got, want)
		}
	}
	if _, more := l.Part(file, 1<<40, 1); more || !slices.Equal(l.Homes(), []string{".claude"}) || l.Retention(fstest.MapFS{}) != 30*24*time.Hour {
		t.Error("there is more than one part, another home, or other settings")
	}
}

// FuzzTranscripts checks that every transcript found in an arbitrary home has a unique ID
// and a file.
func FuzzTranscripts(f *testing.F) {
	f.Add("projects/-a/x.jsonl\nprojects/-a/agent-1.jsonl\nprojects/-a/x/subagents/agent-2.jsonl", `{"sessionId":"x"}`)
	f.Add("projects/-a/..jsonl\nprojects/b\nprojects/-a/con.jsonl/y", `{"customTitle":1}`)
	f.Fuzz(func(t *testing.T, names, content string) {
		h := fstest.MapFS{}
		for name := range strings.SplitSeq(names, "\n") {
			if fs.ValidPath(name) {
				h[name] = &fstest.MapFile{Data: []byte(content)}
			}
		}
		seen := make(map[firn.ID]bool)
		for tr, err := range New().Layout().Transcripts(h) {
			if err != nil {
				continue
			}
			if seen[tr.ID] || tr.ID.Check() != nil || len(tr.Parts) != 1 {
				t.Errorf("%+v", tr)
			}
			seen[tr.ID] = true
			if _, err := fs.Stat(h, tr.Parts[0]); err != nil {
				t.Error(err)
			}
		}
		if name, err := New().Layout().Place(h, dialect.Target{Session: "s", CWD: content}); err != nil || h[name] != nil || !fs.ValidPath(name) {
			t.Errorf("Place: %q, %v", name, err)
		}
	})
}
