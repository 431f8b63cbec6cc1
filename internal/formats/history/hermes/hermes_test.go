package hermes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/formats/history/hermes"
	"firn.dev/internal/formats/history/historytest"
)

// schema and rows follow the published schema of Hermes Agent, version 30, with the columns
// that hold sessions.
const schema = `
create table schema_version (version integer not null);
insert into schema_version values(30);
create table system_prompts (hash text primary key, prompt text not null);
create table sessions (id text primary key, source text not null, model text, model_config text, system_prompt text, system_prompt_hash text, parent_session_id text, started_at real not null, ended_at real, end_reason text, message_count integer default 0, cwd text, billing_provider text, title text, archived integer not null default 0);
create table messages (id integer primary key autoincrement, session_id text not null, role text not null, content text, tool_call_id text, tool_calls text, tool_name text, timestamp real not null, token_count integer, finish_reason text, reasoning text, reasoning_content text, reasoning_details text, codex_reasoning_items text, codex_message_items text, observed integer default 0, _compressed_summary integer not null default 0, active integer not null default 1, compacted integer not null default 0, display_kind text, display_identity blob);
create table tokens (secret text);
insert into tokens values('not a session');
`

const rows = `
insert into system_prompts values('h1','You are Hermes.');
insert into sessions values
('20260403_153620_5a3e2f','cli','hermes-4','{}',null,'h1',null,1775230580.25,null,null,4,'/w','nous','Reading a note',0),
('20260403_160000_aaaaaa','subagent','hermes-4','{"_delegate_from":"20260403_153620_5a3e2f"}',null,null,'20260403_153620_5a3e2f',1775232000,1775232100.5,'done',1,null,'nous',null,1),
('20260403_170000_bbbbbb','telegram',null,null,'Old prompt',null,null,1775235600,null,null,8,null,null,'Compacted',0);
insert into messages(session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, finish_reason, reasoning, reasoning_details) values
('20260403_153620_5a3e2f','user',char(0)||'json:[{"type":"text","text":"please read note.txt"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},{"type":"hologram"}]',null,null,null,1775230581,null,null,null),
('20260403_153620_5a3e2f','assistant','',null,'[{"id":"c1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"cat note.txt\"}"}},{"id":"c2"}]',null,1775230582,'tool_calls','I will read it.',null),
('20260403_153620_5a3e2f','tool','hello glacier','c1',null,'terminal',1775230583,null,null,null),
('20260403_153620_5a3e2f','assistant','It says hello glacier.',null,null,null,1775230584,'stop',null,'[{"type":"reasoning.text","text":"Easy."}]'),
('20260403_153620_5a3e2f','oracle','?',null,null,null,1775230585,null,null,null),
('20260403_160000_aaaaaa','user','look around',null,'[',null,1775232001,null,null,null);
insert into messages(session_id, role, content, timestamp, active, compacted, _compressed_summary, display_kind) values
('20260403_170000_bbbbbb','user','first',1775235601,0,1,0,null),
('20260403_170000_bbbbbb','assistant','second',1775235602,0,1,0,null),
('20260403_170000_bbbbbb','user','third',1775235603,0,1,0,null),
('20260403_170000_bbbbbb','user','first',1775235601,1,0,0,null),
('20260403_170000_bbbbbb','user','[CONTEXT COMPACTION] they spoke',1775235604,1,0,1,null),
('20260403_170000_bbbbbb','user','third',1775235603,1,0,0,null),
('20260403_170000_bbbbbb','user','undone',1775235605,0,0,0,null),
('20260403_170000_bbbbbb','user','[note of the gateway]',1775235606,1,0,0,'hidden');
insert into messages(session_id, role, content, timestamp, finish_reason, codex_message_items, tool_calls) values
('20260403_170000_bbbbbb','assistant','',1775235607,'length','[{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"hm"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"the reply"}]}]','[');
`

const sessions = `
20260403_153620_5a3e2f "Reading a note" in "/w"
  title: "Reading a note"
  custom hermes:session
  context hermes:context: "You are Hermes."
  user: "please read note.txt" | image image/png aGk= | opaque hologram
  assistant: thinking "I will read it." | call c1 terminal {"command":"cat note.txt"} | opaque tool_call (nous/hermes-4 toolUse)
  toolResult: result c1 terminal "hello glacier"
  assistant: thinking "Easy." | "It says hello glacier." (nous/hermes-4 stop)
  custom hermes:message
20260403_160000_aaaaaa "" in "" parent 20260403_153620_5a3e2f sub archived
  custom hermes:session
  user: "look around"
20260403_170000_bbbbbb "Compacted" in ""
  title: "Compacted"
  custom hermes:session
  context hermes:context: "Old prompt"
  user: "first"
  assistant: "second" (/ stop)
  user: "third"
  custom hermes:message
  compaction: "[CONTEXT COMPACTION] they spoke"
  user: "third"
  custom hermes:message
  context hermes:hidden: "[note of the gateway]"
  assistant: "the reply" | opaque tool_call (/ length)
`

func TestRead(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "state.db", schema+rows)
	historytest.Equal(t, historytest.Run(t, hermes.New(), home), sessions)
}

// TestMirrorHoldsSessionsOnly mirrors a session: other tables are not copied, and columns that
// firn does not know are.
func TestMirrorHoldsSessionsOnly(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "state.db", schema+rows+`alter table messages add column mood text default 'calm';`)
	dir := historytest.Mirror(t, hermes.New(), home, filepath.Join(t.TempDir(), "m"))
	data, err := os.ReadFile(filepath.Join(dir, "firn-records", "20260403_153620_5a3e2f.jsonl"))
	if err != nil || strings.Contains(string(data), "not a session") || strings.Count(string(data), `"mood":"calm"`) != 5 || !strings.Contains(string(data), `"timestamp":"2026-04-03T15:36:21Z"`) {
		t.Errorf("the mirror holds %s, %v", data, err)
	}
}

// log is a transcript of a version before the database, with a line that was cut off.
const log = `{"role":"session_meta","tools":[],"model":"hermes-4","platform":"telegram","timestamp":"2026-04-03T15:36:20.000001"}
{"role":"user","content":[{"type":"text","text":"an old question"}],"timestamp":"2026-04-03T15:36:21"}
{"role":"assistant","content":"an old answer","reasoning":"hm","finish_reason":"stop","tool_calls":[{"id":"c1","function":{"name":"memory","arguments":{"a":1}}}],"timestamp":"2026-04-03T15:36:22"}
{"role":"tool","content":"saved","tool_call_id":"c1","timestamp":"2026-04-03T15:36:23"}
{"role":"assistant","content":"cut o`

const snapshot = `{
 "session_id": "20260404_1", "model": "hermes-4", "platform": "cli", "session_start": "2026-04-04T10:00:00", "last_updated": "2026-04-04T10:05:00",
 "system_prompt": "You are Hermes.", "tools": [{"x": 1}],
 "messages": [{"role": "user", "content": "hi", "unknown": 1}, {"role": "assistant", "content": "hello", "finish_reason": "stop"}]
}`

func TestTranscripts(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, "sessions/20260403_153620_123456.jsonl", log)
	historytest.Put(t, home, "sessions/session_20260404_1.json", snapshot)
	historytest.Put(t, home, "sessions/sessions.json", `{"agent:main":{}}`)
	historytest.Put(t, home, "config.yaml", "model: x\n")
	historytest.Equal(t, historytest.Run(t, hermes.New(), home), `
20260403_153620_123456 "" in ""
  custom hermes:message
  user: "an old question"
  assistant: thinking "hm" | "an old answer" | call c1 memory {"a":1} (/hermes-4 stop)
  toolResult: result c1 memory "saved"
  custom hermes:message
20260404_1 "" in ""
  custom hermes:session
  context hermes:context: "You are Hermes."
  user: "hi"
  assistant: "hello" (/hermes-4 stop)
`)
}

// TestTranscriptBesideDatabase reads a session that began before the database from its
// transcript, as long as that has more messages, and other sessions from the database of their
// profile.
func TestTranscriptBesideDatabase(t *testing.T) {
	home := t.TempDir()
	historytest.Put(t, home, "sessions/20260403_153620_5a3e2f.jsonl", log)
	historytest.Put(t, home, "sessions/20260403_160000_aaaaaa.jsonl", log)
	historytest.Database(t, home, "profiles/work/state.db", schema+strings.ReplaceAll(rows, "('20260403_", "('20260405_"))
	historytest.Database(t, home, "state.db", schema+rows)
	got := historytest.Run(t, hermes.New(), home)
	for _, want := range []string{"It says hello glacier.", "20260405_153620_5a3e2f", "20260403_160000_aaaaaa \"\" in \"\" parent 20260403_153620_5a3e2f sub archived\n  custom hermes:message\n  user: \"an old question\""} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "an old question"); n != 1 {
		t.Errorf("the transcript was read %d times:\n%s", n, got)
	}
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	db := historytest.Database(t, home, "state.db", schema)
	do := func(statements string) func() { return func() { historytest.Exec(t, db, statements) } }
	historytest.Growth(t, hermes.New(), home, do(rows), do(`update sessions set title = 'New', message_count = 9`),
		do(`insert into messages(session_id, role, content, timestamp) values('20260403_153620_5a3e2f','user','more',1775230600)`),
		do(`update messages set active = 0, compacted = 1 where session_id = '20260403_153620_5a3e2f'`))
}

func TestGrowingTranscript(t *testing.T) {
	home := t.TempDir()
	var steps []func()
	for n := range len(log) / 40 {
		steps = append(steps, func() { historytest.Put(t, home, "sessions/a.jsonl", log[:40*(n+1)]) })
	}
	historytest.Growth(t, hermes.New(), home, steps...)
}

func TestDamage(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "profiles/old/state.db", `create table sessions (id text); create table messages (id text);`)
	historytest.Database(t, home, "profiles/good/state.db", schema+rows)
	historytest.Put(t, home, "profiles/bad/state.db", "SQLite format 3\x00 cut")
	historytest.Put(t, home, "sessions/session_cut.json", snapshot[:200])
	got := historytest.Describe(t, hermes.New(), home)
	for _, part := range []string{"has no messages.session_id; firn reads the schema of Hermes Agent", "profiles/bad/state.db", "session_cut.json: corrupt", "hello glacier"} {
		if !strings.Contains(got, part) {
			t.Errorf("missing %q in:\n%s", part, got)
		}
	}
}

func TestRetention(t *testing.T) {
	home := t.TempDir()
	for _, c := range []struct {
		config string
		want   time.Duration
	}{
		{"", 90 * 24 * time.Hour},
		{"sessions:\n  auto_prune: false # keep\n", 0},
		{"other:\n  retention_days: 3\nsessions:\n\n  # comment\n  retention_days: \"30\"\nnext:\n  retention_days: 5\n", 30 * 24 * time.Hour},
		{"sessions:\n  retention_days: -1\n", 90 * 24 * time.Hour},
	} {
		historytest.Put(t, home, "config.yaml", c.config)
		if got := hermes.New().Layout().Retention(os.DirFS(home)); got != c.want {
			t.Errorf("%q: %v, want %v", c.config, got, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, hermes.New(), `{"type":"session","id":"s","data":{"model":"m"}}`+"\n"+`{"type":"message","id":"1","timestamp":"2026-01-01T00:00:00Z","data":{"role":"assistant","content":"x","tool_calls":"[{\"id\":\"c\",\"function\":{\"name\":\"n\",\"arguments\":\"{}\"}}]","reasoning_details":"[{}]"}}`,
		`{"type":"message","id":"2","data":{"role":"user","parts":"[{\"type\":\"text\",\"text\":\"t\"}]","active":0,"compacted":1}}`+"\n"+`{"type":"message","id":"3","data":{"role":"user","_compressed_summary":1,"content":"s"}}`,
		`{"type":"system","id":"system","text":"z"}`)
}
