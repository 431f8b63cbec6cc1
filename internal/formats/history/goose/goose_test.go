package goose_test

import (
	"strings"
	"testing"

	"firn.dev/internal/formats/history/goose"
	"firn.dev/internal/formats/history/historytest"
)

// schema and rows follow the published source of Goose, version 5 of its schema.
const schema = `
create table schema_version (version integer primary key, applied_at timestamp default current_timestamp);
insert into schema_version(version) values(5);
create table sessions (id text primary key, name text not null default '', description text not null default '', user_set_name boolean default false, session_type text not null default 'user', working_dir text not null, created_at timestamp default current_timestamp, updated_at timestamp default current_timestamp, extension_data text default '{}');
create table messages (id integer primary key autoincrement, session_id text not null, role text not null, content_json text not null, created_timestamp integer not null, timestamp timestamp default '2026-01-02 03:04:05', tokens integer, metadata_json text);
`

const rows = `
insert into sessions values('20260102_1','Reading','',0,'user','/w','2026-01-02 03:04:05','2026-01-02 03:05:05','{}'), ('20260102_2','','Old title',0,'sub_agent','/w','2026-01-02T03:04:06Z',null,'{}');
insert into messages(session_id, role, content_json, created_timestamp, metadata_json) values
('20260102_1','user','[{"type":"text","text":"read note.txt"},{"type":"image","data":"aGk=","mimeType":"image/png"}]',1767323045,'{"userVisible":true,"agentVisible":true}'),
('20260102_1','assistant','[{"type":"thinking","thinking":"I will.","signature":"s"},{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"developer__shell","arguments":{"command":"cat note.txt"}}}},{"type":"toolRequest","id":"c2","toolCall":{"status":"success","value":{"name":"x"}}},{"type":"toolRequest","id":"c3","toolCall":{"status":"error","error":"bad"}}]',1767323046,null),
('20260102_1','user','[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":[{"type":"text","text":"hello glacier"}]}},{"type":"toolResponse","id":"c2","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"two"}],"isError":true}}},{"type":"toolResponse","id":"c3","toolResult":{"status":"error","error":"not run"}}]',1767323047,null),
('20260102_1','assistant','[{"type":"text","text":"It says hello glacier."},{"type":"hologram"}]',1767323048,null),
('20260102_1','assistant','[',1767323049,null),
('20260102_1','oracle','[]',1767323050,null);
`

func TestRead(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "sessions/sessions.db", schema+rows)
	historytest.Equal(t, historytest.Run(t, goose.New(), home), `
20260102_1 "Reading" in "/w"
  title: "Reading"
  custom goose:session
  user: "read note.txt" | image image/png aGk=
  assistant: thinking "I will." | call c1 developer__shell {"command":"cat note.txt"} | call c2 x {} | opaque toolRequest (/ toolUse)
  toolResult: result c1 developer__shell "hello glacier"
  toolResult: failed c2 x "two"
  toolResult: failed c3  "not run"
  assistant: "It says hello glacier." | opaque hologram (/ stop)
  custom goose:message
  custom goose:message
20260102_2 "Old title" in "/w" sub
  title: "Old title"
  custom goose:session
`)
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	db := historytest.Database(t, home, "sessions/sessions.db", schema)
	do := func(statements string) func() { return func() { historytest.Exec(t, db, statements) } }
	historytest.Growth(t, goose.New(), home, do(rows), do(`update sessions set name = 'New'`),
		do(`insert into messages(session_id, role, content_json, created_timestamp) values('20260102_2','user','[{"type":"text","text":"more"}]',1767323060)`))
}

func TestOldSchema(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "sessions/sessions.db", `
create table sessions (id text primary key, description text not null default '', working_dir text not null, created_at timestamp, updated_at timestamp);
create table messages (id integer primary key autoincrement, session_id text not null, role text not null, content_json text not null, created_timestamp integer not null);
insert into sessions values('s','First','/w','2025-10-01 00:00:00','2025-10-01 00:00:00');`)
	if got := historytest.Run(t, goose.New(), home); !strings.Contains(got, `s "First" in "/w"`) {
		t.Errorf("the first version: %s", got)
	}
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, goose.New(), `{"type":"message","id":"1","role":"user","created":1,"content":[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":[{"type":"text","text":"x"}]}},{"type":"text","text":"y"}]}`,
		`{"type":"message","id":"2","role":"assistant","content":[{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"n","arguments":{}}}}]}`)
}
