package zed_test

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"firn.dev/internal/formats/history/historytest"
	"firn.dev/internal/formats/history/zed"
)

// schema and threads follow the published source of Zed, version 0.3.0 of its threads.
const schema = `create table threads (id text primary key, summary text not null, updated_at text not null, data_type text not null, data blob not null, parent_id text, folder_paths text, folder_paths_order text, created_at text);
`

const thread = `{"title":"Reading a note","updated_at":"2026-04-03T15:40:00+00:00","version":"0.3.0","model":{"provider":"anthropic","model":"claude-x"},"request_token_usage":{"u1":{"input_tokens":100,"output_tokens":12,"cache_read_input_tokens":5}},"unknown":1,"messages":[
{"User":{"id":"u1","content":[{"Text":"please read"},{"Mention":{"uri":{"File":{"abs_path":"/w/note.txt"}},"content":"note.txt"}},{"Image":{"source":"aGk=","size":{"width":1,"height":1}}},{"Hologram":1}]}},
{"Agent":{"content":[{"Thinking":{"text":"I will.","signature":"s"}},{"RedactedThinking":"r"},{"ToolUse":{"id":"c1","name":"read_file","raw_input":"{}","input":{"path":"note.txt"},"is_input_complete":true}},{"ToolUse":{"id":"c2","name":"terminal","raw_input":"{\"a\":1}","input":null}}],"tool_results":{"c0":{"tool_use_id":"c0","tool_name":"lost","is_error":false,"content":"late"},"c2":{"tool_use_id":"c2","tool_name":"terminal","is_error":true,"content":[{"Text":"one"},{"Image":{"source":"aGk="}}],"output":{"x":1}},"c1":{"tool_use_id":"c1","tool_name":"read_file","is_error":false,"content":{"Text":"hello glacier"},"output":null}},"reasoning_details":null}},
"Resume",
{"Agent":{"content":[{"Text":"It says hello glacier."}],"tool_results":{}}},
7]}`

const earlier = `{"version":"0.2.0","summary":"Old","updated_at":"2025-06-01T10:00:00Z","request_token_usage":[{"input_tokens":1}],"messages":[
{"id":0,"role":"system","segments":[{"type":"text","text":"be brief"}]},
{"id":1,"role":"user","segments":[{"type":"text","text":"go"}],"context":"a file"},
{"id":2,"role":"assistant","segments":[{"type":"thinking","text":"hm"},{"type":"RedactedThinking","data":[1,2]},{"type":"text","text":"ok"}],"tool_uses":[{"id":"c1","name":"grep","input":{"q":"x"}}],"tool_results":[{"tool_use_id":"c1","is_error":true,"content":"none"}]},
{"id":3,"role":"user","segments":[],"tool_results":[{"tool_use_id":"c9","is_error":false,"content":"older"}]}]}`

// insert returns the statement that stores a thread.
func insert(t *testing.T, id, kind, data, more string) string {
	t.Helper()
	plain := []byte(data)
	if kind == "zstd" {
		zip, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		plain = zip.EncodeAll(plain, nil)
	}
	return "insert or replace into threads values('" + id + "','Title of " + id + "','2026-04-03T15:40:00+00:00','" + kind + "',x'" + hex.EncodeToString(plain) + "'," + more + ");\n"
}

const sessions = `
a "Title of a" in "/w/b"
  title: "Title of a"
  custom zed:thread
  user: "please read" | "note.txt" | image image/png aGk= | opaque Hologram
  assistant: thinking "I will." | thinking "" | call c1 read_file {"path":"note.txt"} | call c2 terminal {"a":1} (anthropic/claude-x toolUse 100+12)
  toolResult: result c1 read_file "hello glacier"
  toolResult: failed c2 terminal "one" image image/png aGk=
  toolResult: result c0 lost "late"
  custom zed:message
  assistant: "It says hello glacier." (anthropic/claude-x stop)
  custom zed:message
b "Title of b" in "" parent a sub
  title: "Title of b"
  custom zed:thread
  context zed:system: "be brief"
  user: "a file" | "go"
  assistant: thinking "hm" | thinking "" | "ok" | call c1 grep {"q":"x"} (/ toolUse)
  toolResult: failed c1 grep "none"
  toolResult: result c9  "older"
`

func TestRead(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "threads/threads.db", schema+insert(t, "a", "zstd", thread, `null,'/w/a'||char(10)||'/w/b','1,0','2026-04-03T15:36:00+00:00'`)+insert(t, "b", "json", earlier, `'a',null,null,null`))
	historytest.Equal(t, historytest.Run(t, zed.New(), home), sessions)
}

// TestFirstSchema reads a database without the columns that later versions added.
func TestFirstSchema(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "threads/threads.db", `create table threads (id text primary key, summary text not null, updated_at text not null, data_type text not null, data blob not null);
insert into threads values('c','First','2025-05-01T00:00:00Z','json','{"messages":[{"role":"user","segments":[{"type":"text","text":"hi"}]}]}');`)
	if got := historytest.Run(t, zed.New(), home); !strings.Contains(got, `c "First" in ""`) || !strings.Contains(got, `user: "hi"`) {
		t.Errorf("the first schema: %s", got)
	}
	for tr, err := range zed.New().Layout().Transcripts(os.DirFS(home)) {
		if err != nil || tr.Created.Format(time.DateOnly) != "2025-05-01" {
			t.Errorf("the thread was created %v, %v; want the only time that is known", tr.Created, err)
		}
	}
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	db := historytest.Database(t, home, "threads/threads.db", schema)
	var steps []func()
	head, rest, _ := strings.Cut(thread, "\n")
	messages := strings.Split(strings.TrimSuffix(rest, "\n7]}"), "\n")
	for n := range messages {
		text := head + strings.TrimSuffix(strings.Join(messages[:n+1], ""), ",") + "]}"
		steps = append(steps, func() { historytest.Exec(t, db, insert(t, "a", "zstd", text, "null,null,null,null")) })
	}
	historytest.Growth(t, zed.New(), home, steps...)
}

func TestDamage(t *testing.T) {
	home := t.TempDir()
	db := historytest.Database(t, home, "threads/threads.db", schema+insert(t, "a", "zstd", thread, `null,null,null,null`)+
		insert(t, "cut", "json", thread[:200], `null,null,null,null`)+insert(t, "new", "brotli", thread, `null,null,null,null`))
	historytest.Exec(t, db, `insert into threads values('zip','x','','zstd',x'28b52ffd00',null,null,null,null)`)
	got := historytest.Describe(t, zed.New(), home)
	for _, part := range []string{"the thread cut: corrupt: it is not a JSON object", `its data is of type "brotli"`, "the thread zip: corrupt", "hello glacier"} {
		if !strings.Contains(got, part) {
			t.Errorf("missing %q in:\n%s", part, got)
		}
	}
	other := t.TempDir()
	historytest.Put(t, other, "threads/threads.db", "SQLite format 3\x00 cut")
	if got := historytest.Describe(t, zed.New(), other); !strings.Contains(got, "error: read threads/threads.db") {
		t.Errorf("a damaged database: %s", got)
	}
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, zed.New(), `{"type":"thread","id":"t","data":{"model":{"model":"m"},"request_token_usage":{"u":{"input_tokens":1}}}}`+"\n"+`{"type":"message","id":"1","data":{"User":{"id":"u","content":[{"Text":"x"}]}}}`+"\n"+`{"type":"message","id":"2","data":{"Agent":{"content":[{"ToolUse":{"id":"c","name":"n","input":{}}}],"tool_results":{"c":{"content":[{"Text":"r"}]}}}}}`,
		`{"type":"message","id":"1","data":{"role":"user","segments":[{"type":"text","text":"x"}],"tool_results":[{"tool_use_id":"c"}]}}`, `{"type":"message","id":"1","data":"Resume"}`)
}
