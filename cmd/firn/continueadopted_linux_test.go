package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/internal/formats/history/historytest"
)

// recordTools has a home with a session for every tool whose sessions are read as records.
// The directory is relative to the user's home, testdata to the packages of the tools.
var recordTools = []struct{ name, dir, testdata, id, file, database, text string }{
	{name: "gemini", dir: ".gemini", testdata: "gemini", id: "d62832ea-e6f2-4af9-a301-1101ec4a74af", file: "tmp/w/chats/session-2026-11-18T00-22-d62832ea.jsonl"},
	{name: "copilot", dir: ".copilot", testdata: "copilot", id: "292f4f0a-91b1-4384-b0f2-281d38fbbffd", file: "session-state/292f4f0a-91b1-4384-b0f2-281d38fbbffd/events.jsonl"},
	{name: "cline", dir: ".cline/data", testdata: "cline", id: "1794964122832_0kw8q", file: "sessions/1794964122832_0kw8q/1794964122832_0kw8q.messages.json"},
	{name: "roo", dir: ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline", id: "1767323045000", file: "tasks/1767323045000/api_conversation_history.json",
		text: `[{"role":"user","content":[{"type":"text","text":"please read note.txt"}],"ts":1767323045000},{"role":"assistant","content":[{"type":"text","text":"hello glacier"}]}]`},
	{name: "opencode", dir: ".local/share/opencode", id: "ses_e13faf606ffetuCMP0PubTSphg", file: "opencode.db", database: `
create table session (id text primary key, project_id text not null, parent_id text, slug text not null, directory text not null, title text not null, version text not null, time_created integer not null, time_updated integer not null, time_archived integer);
create table message (id text primary key, session_id text not null, time_created integer not null, time_updated integer not null, data text not null);
create table part (id text primary key, message_id text not null, session_id text not null, time_created integer not null, time_updated integer not null, data text not null);
insert into session values('ses_e13faf606ffetuCMP0PubTSphg','1b0f',null,'gentle-orchid','/w','Reading a note','1.18.33',1794961115641,1794961137000,null);
insert into message values('msg_1','ses_e13faf606ffetuCMP0PubTSphg',1794961116050,1794961134710,'{"role":"user","time":{"created":1794961116050}}'), ('msg_2','ses_e13faf606ffetuCMP0PubTSphg',1794961122415,1794961133688,'{"role":"assistant","modelID":"fake","providerID":"fake","time":{"created":1794961122415,"completed":1794961133671},"finish":"stop"}');
insert into part values('prt_1','msg_1','ses_e13faf606ffetuCMP0PubTSphg',1,1,'{"type":"text","text":"please read note.txt"}'), ('prt_2','msg_2','ses_e13faf606ffetuCMP0PubTSphg',1,1,'{"type":"text","text":"hello glacier"}');`},
	{name: "crush", dir: ".crush", id: "6f2a4c1e", file: "crush.db", database: `
create table sessions (id text primary key, parent_session_id text, title text not null, message_count integer not null default 0, cost real not null default 0.0, updated_at integer not null, created_at integer not null);
create table messages (id text primary key, session_id text not null, role text not null, parts blob not null default '[]', model text, provider text, is_summary_message integer not null default 0, created_at integer not null, updated_at integer not null, finished_at integer);
insert into sessions values('6f2a4c1e','','Reading',2,0.5,1794961137,1794961115);
insert into messages values('m1','6f2a4c1e','user','[{"type":"text","data":{"text":"please read note.txt"}}]',null,null,0,1794961116,1794961116,null), ('m2','6f2a4c1e','assistant','[{"type":"text","data":{"text":"hello glacier"}},{"type":"finish","data":{"reason":"end_turn","time":1}}]','fake','p',0,1794961117,1794961117,null);`},
	{name: "goose", dir: ".local/share/goose", id: "20260102_1", file: "sessions/sessions.db", database: `
create table sessions (id text primary key, name text not null default '', description text not null default '', user_set_name boolean default false, session_type text not null default 'user', working_dir text not null, created_at timestamp default current_timestamp, updated_at timestamp default current_timestamp, extension_data text default '{}');
create table messages (id integer primary key autoincrement, session_id text not null, role text not null, content_json text not null, created_timestamp integer not null, timestamp timestamp default '2026-01-02 03:04:05', tokens integer, metadata_json text);
insert into sessions values('20260102_1','Reading','',0,'user','/w','2026-01-02 03:04:05','2026-01-02 03:05:05','{}');
insert into messages(session_id, role, content_json, created_timestamp) values('20260102_1','user','[{"type":"text","text":"please read note.txt"}]',1767323045), ('20260102_1','assistant','[{"type":"text","text":"hello glacier"}]',1767323046);`},
	{name: "zed", dir: ".local/share/zed", id: "3f2a", file: "threads/threads.db", database: `
create table threads (id text primary key, summary text not null, updated_at text not null, data_type text not null, data blob not null);
insert into threads values('3f2a','Reading','2026-04-03T15:40:00Z','json','{"version":"0.3.0","messages":[{"User":{"id":"u1","content":[{"Text":"please read note.txt"}]}},{"Agent":{"content":[{"Text":"hello glacier"}],"tool_results":{}}}]}');`},
	{name: "cursor", dir: ".config/Cursor/User", id: "aaaa-1", file: "globalStorage/state.vscdb", database: `
create table cursorDiskKV (key text unique on conflict replace, value blob);
insert into cursorDiskKV values('composerData:aaaa-1','{"name":"Reading","createdAt":1775230580000,"fullConversationHeadersOnly":[{"bubbleId":"b1"},{"bubbleId":"b2"}]}'),
('bubbleId:aaaa-1:b1','{"type":1,"text":"please read note.txt"}'), ('bubbleId:aaaa-1:b2','{"type":2,"text":"hello glacier"}');`},
	{name: "aider", dir: "work/project", id: "8f26be22-7dfa-86a7-b2a7-0552434fd0d5", file: ".aider.chat.history.md",
		text: "\n# aider chat started at 2026-06-09 14:01:00\n\n\n#### please read note.txt  \n\nhello glacier\n\n"},
	{name: "hermes", dir: ".hermes", id: "20260403_153620_5a3e2f", file: "state.db", database: `
create table sessions (id text primary key, source text not null, model text, parent_session_id text, started_at real not null, ended_at real, title text);
create table messages (id integer primary key autoincrement, session_id text not null, role text not null, content text, tool_call_id text, tool_calls text, timestamp real not null);
insert into sessions values('20260403_153620_5a3e2f','cli','m',null,1775230580,null,'Reading');
insert into messages(session_id, role, content, timestamp) values('20260403_153620_5a3e2f','user','please read note.txt',1775230581), ('20260403_153620_5a3e2f','assistant','hello glacier',1775230582);`},
}

// TestContinueAdoptedRecords continues a mirrored session of every tool whose sessions are
// read as records. The tool's raw files are imported or refused with a hint, never taken for
// those of another tool.
func TestContinueAdoptedRecords(t *testing.T) {
	for _, tool := range recordTools {
		t.Run(tool.name, func(t *testing.T) {
			home, user := t.TempDir(), t.TempDir()
			dir := filepath.Join(user, filepath.FromSlash(tool.dir))
			switch {
			case tool.testdata != "":
				if err := os.CopyFS(dir, os.DirFS(filepath.Join("../../internal/formats/history", tool.testdata, "testdata"))); err != nil {
					t.Fatal(err)
				}
			case tool.database != "":
				if err := historytest.Database(t, dir, tool.file, tool.database).Close(); err != nil {
					t.Fatal(err)
				}
			default:
				historytest.Put(t, dir, tool.file, tool.text)
			}
			run := func(args ...string) (string, error) {
				cmd := firnCommand(home, args...)
				cmd.Env = append(cmd.Env, "HOME="+user, "XDG_DATA_HOME=", "COPILOT_HOME=", "HERMES_HOME=", "FIRN_MODEL=firn/offline")
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			out, err := run("import", filepath.Join(dir, filepath.FromSlash(tool.file)))
			if err == nil || !strings.Contains(out, "firn adopt "+dir+" --yes") {
				t.Errorf("import of a raw file: %v\n%s", err, out)
			}
			copied := filepath.Join(t.TempDir(), filepath.Base(tool.file))
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(tool.file)))
			if err != nil {
				t.Fatal(err)
			}
			historytest.Put(t, filepath.Dir(copied), filepath.Base(copied), string(data))
			for _, args := range [][]string{{copied}, {copied, "--from", owner(tool.name)}} {
				if out, err := run(append([]string{"import"}, args...)...); err == nil || !strings.Contains(out, "firn adopt") {
					t.Errorf("import of a copied file %v: %v\n%s", args, err, out)
				}
			}
			if out, err := run("adopt", "--yes"); err != nil || !strings.Contains(out, "1 new") {
				t.Fatalf("%v\n%s", err, out)
			}
			if out, err := run("chat", "-r", tool.id, "-p", "what is 6*7"); err != nil || !strings.Contains(out, "6*7 = 42") {
				t.Fatalf("%v\n%s", err, out)
			}
			if out, err := run("cat", tool.id); err != nil || !strings.Contains(out, "hello glacier") || !strings.Contains(out, "6*7 = 42") {
				t.Errorf("the continued session: %v\n%s", err, out)
			}
			if out, err := run("ls", "--json"); err != nil || !strings.Contains(out, `"total": 1`) {
				t.Errorf("the sessions: %v\n%s", err, out)
			}
			verify(t, home)
		})
	}
}

// TestAdoptListRecords lists a session by the time of its last event, reports a damaged
// database once and with exit code 9, and suggests --in-place for no tool that is only read.
func TestAdoptListRecords(t *testing.T) {
	home, user := t.TempDir(), t.TempDir()
	dir := filepath.Join(user, ".copilot")
	if err := os.CopyFS(dir, os.DirFS("../../internal/formats/history/copilot/testdata")); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, int) {
		cmd := firnCommand(home, args...)
		cmd.Env = append(cmd.Env, "HOME="+user, "XDG_DATA_HOME=", "COPILOT_HOME=", "FIRN_MODEL=firn/offline")
		out, _ := cmd.CombinedOutput() // the exit code is returned
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run("adopt", "--json"); code != 0 || strings.Count(out, `": "2026-11-18T00:21:`) != 2 {
		t.Errorf("the list: exit code %d\n%s", code, out)
	}
	if out, code := run("--home", dir, "chat", "-p", "hi"); code == 0 || strings.Contains(out, "--in-place") || !strings.Contains(out, "firn adopt") {
		t.Errorf("chat in a tool's home: exit code %d\n%s", code, out)
	}
	historytest.Put(t, user, ".local/share/opencode/opencode.db", "not a database")
	if out, code := run("adopt"); code != 9 || strings.Count(out, "opencode.db") != 1 || !strings.Contains(out, "corrupt") {
		t.Errorf("the list with a damaged database: exit code %d\n%s", code, out)
	}
}

// owner returns the name of the format of a tool: Roo Code has that of Cline.
func owner(tool string) string {
	if tool == "roo" {
		return "cline"
	}
	return tool
}

// TestContinuedInBoth continues a mirrored session in firn and then in the tool. The next
// mirroring adds the tool's messages on a branch: they are found, and the head stays.
func TestContinuedInBoth(t *testing.T) {
	home, user := t.TempDir(), t.TempDir()
	const id = "5f6f4c7e-1111-4222-8333-444455556666"
	file := filepath.Join(user, ".claude/projects/-w", id+".jsonl")
	var lines []string
	say := func(uuid, parent, text string) {
		t.Helper()
		lines = append(lines, `{"parentUuid":`+parent+`,"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"`+id+`","version":"2.0.0","type":"user","message":{"role":"user","content":"`+text+`"},"uuid":"`+uuid+`","timestamp":"2026-01-02T03:04:05.000Z"}`+"\n")
		historytest.Put(t, filepath.Dir(file), filepath.Base(file), strings.Join(lines, ""))
	}
	end := func(code int, args ...string) string {
		t.Helper()
		cmd := firnCommand(home, args...)
		cmd.Env = append(cmd.Env, "HOME="+user, "CLAUDE_CONFIG_DIR=", "FIRN_MODEL=firn/offline")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code {
			t.Fatalf("firn %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run := func(args ...string) string { t.Helper(); return end(0, args...) }
	say("u1", "null", "about penguins")
	run("adopt", "--yes")
	run("chat", "-r", id, "-p", "what is 6*7")
	say("u2", `"u1"`, "about walruses")
	if out := run("adopt", "--yes"); !strings.Contains(out, "1 entry added on another branch") || !strings.Contains(out, "firn rewind "+id+" u2") {
		t.Errorf("adopt printed %s", out)
	}
	if out := run("search", "walruses"); !strings.Contains(out, "about walruses") {
		t.Errorf("search printed %s", out)
	}
	say("u3", `"u2"`, "about seals")
	if out := run("import", file); !strings.Contains(out, "on another branch") || !strings.Contains(out, "to continue there: firn rewind") {
		t.Errorf("import printed %s", out)
	}
	if out := run("cat", id); !strings.Contains(out, "6*7 = 42") || strings.Contains(out, "seals") {
		t.Errorf("the branch is %s", out)
	}
	if out := run("adopt", "--yes"); strings.Contains(out, id) {
		t.Errorf("adopt again printed %s", out)
	}
	run("rewind", id, "u3")
	if out := run("cat", id); !strings.Contains(out, "about seals") || strings.Contains(out, "6*7") {
		t.Errorf("the other branch is %s", out)
	}
	// Entries that cannot be added are reported as an error, and the next run tries again.
	lines[0] = strings.Replace(lines[0], "penguins", "puffins", 1)
	say("u4", `"u3"`, "about whales, which are larger")
	for range 2 {
		if out := end(9, "adopt", "--yes"); !strings.Contains(out, "could not be added: ") || !strings.Contains(out, "to try now: firn import "+filepath.Join(home, "sources")) {
			t.Errorf("adopt of another transcript printed %s", out)
		}
	}
	verify(t, home)
}

// TestImportManyAsks imports a directory with many transcripts only with --yes, and does not
// look into the index and the mirrors of a firn home.
func TestImportManyAsks(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	for i := range 501 {
		historytest.Put(t, dir, fmt.Sprintf("x/%d.jsonl", i), "not a transcript\n")
	}
	out, err := firnCommand(home, "import", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "501 transcripts") || !strings.Contains(string(out), "--yes imports them") {
		t.Errorf("import: %v\n%s", err, out)
	}
	historytest.Put(t, dir, "h/agents/main/keep", "")
	historytest.Put(t, dir, "h/index/a.jsonl", "x\n")
	historytest.Put(t, dir, "h/sources/b.jsonl", "x\n")
	out, err = firnCommand(home, "import", dir, "--plan").CombinedOutput()
	if err != nil || strings.Contains(string(out), "a.jsonl") || strings.Contains(string(out), "b.jsonl") {
		t.Errorf("the plan: %v\n%.300s", err, out)
	}
}
