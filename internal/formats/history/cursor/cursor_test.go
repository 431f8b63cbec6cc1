package cursor_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/internal/formats/history/cursor"
	"firn.dev/internal/formats/history/historytest"
)

// schema and rows follow published descriptions of Cursor's editor, versions 0.50 to 3.
const schema = `
create table ItemTable (key text unique on conflict replace, value blob);
create table cursorDiskKV (key text unique on conflict replace, value blob);
insert into ItemTable values('cursorAuth/accessToken','secret token');
`

const rows = `
insert into cursorDiskKV values
('composerData:aaaa-1','{"_v":16,"composerId":"aaaa-1","name":"Reading a note","createdAt":1775230580000,"lastUpdatedAt":1775230590000,"modelConfig":{"modelName":"claude-x"},"blobEncryptionKey":"key","originalFileStates":{"f":"old"},"unknown":1,"workspaceIdentifier":{"uri":{"fsPath":"/w"}},"fullConversationHeadersOnly":[{"bubbleId":"b1","type":1},{"bubbleId":"b2","type":2},{"bubbleId":"b3","type":2},{"bubbleId":"b4","type":2},{"bubbleId":"gone","type":2},{"bubbleId":"b5","type":2},{"bubbleId":"b6","type":2}]}'),
('bubbleId:aaaa-1:b1','{"_v":3,"type":1,"bubbleId":"b1","text":"please read note.txt","createdAt":"2026-04-03T15:36:21.000Z","images":["data:image/png;base64,aGk=",{"path":"/x.png"},{"mimeType":"image/png","data":"aGk="}]}'),
('bubbleId:aaaa-1:b2','{"type":2,"capabilityType":30,"thinking":{"text":"I will read it.","signature":"s"},"createdAt":1775230582000}'),
('bubbleId:aaaa-1:b3','{"type":2,"capabilityType":15,"toolFormerData":{"toolCallId":"c1","name":"read_file_v2","status":"completed","rawArgs":"{\"path\":\"note.txt\"}","result":"{\"contents\":\"hello glacier\"}"}}'),
('bubbleId:aaaa-1:b4','{"type":2,"toolFormerData":{"name":"run_terminal_cmd","status":"error","params":"{\"command\":\"x\"}","error":"not run"}}'),
('bubbleId:aaaa-1:b5','{"type":2,"text":"It says hello glacier.","tokenCount":{"inputTokens":100,"outputTokens":12},"modelInfo":{"modelName":"gpt-y"}}'),
('bubbleId:aaaa-1:b6','{"type":2,"capabilityType":22,"toolFormerData":{"additionalData":{}}}'),
('bubbleId:aaaa-1:b9','{"type":1,"text":"before a checkpoint"}'),
('composerData:bbbb-2','{"composerId":"bbbb-2","isArchived":true,"subagentInfo":{"parentComposerId":"aaaa-1"},"createdAt":"1775230600000","fullConversationHeadersOnly":[{"bubbleId":"c1"},{"bubbleId":"c2"}],"conversationMap":{"c2":{"type":2,"text":"","errorDetails":{"message":"rate limited"}}}}'),
('bubbleId:bbbb-2:c1','{"type":1,"text":"look","workspaceUris":["file:///home/u/a%20b"]}'),
('composerData:cccc-3','{"composerId":"cccc-3","subtitle":"Old form","conversation":[{"bubbleId":"d1","type":1,"text":"hi"},{"bubbleId":"d2","type":2,"text":"ho","thinking":"bare"},7]}'),
('composerData:dddd-4','{"composerId":"dddd-4","text":"a draft","fullConversationHeadersOnly":[]}'),
('composerData:eeee-5',null),
('composerData:ffff-6','{"cut');
`

const sessions = `
aaaa-1 "Reading a note" in "/w"
  title: "Reading a note"
  custom cursor:session
  user: "please read note.txt" | image image/png aGk= | opaque image | image image/png aGk=
  assistant: thinking "I will read it." (cursor/claude-x stop)
  assistant: call c1 read_file_v2 {"path":"note.txt"} (cursor/claude-x toolUse)
  toolResult: result c1 read_file_v2 "hello glacier"
  assistant: call b4 run_terminal_cmd {"command":"x"} (cursor/claude-x toolUse)
  toolResult: failed b4 run_terminal_cmd "not run"
  assistant: "It says hello glacier." (cursor/gpt-y stop 100+12)
  custom cursor:bubble
  custom cursor:bubble
bbbb-2 "" in "/home/u/a b" parent aaaa-1 sub archived
  custom cursor:session
  user: "look"
  assistant:  (cursor/ error) error rate limited
cccc-3 "Old form" in ""
  title: "Old form"
  custom cursor:session
  user: "hi"
  assistant: thinking "bare" | "ho" (cursor/ stop)
  custom cursor:bubble
`

func TestEditor(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "globalStorage/state.vscdb", schema+rows)
	historytest.Equal(t, historytest.Run(t, cursor.New(), home), sessions)
	dir := historytest.Mirror(t, cursor.New(), home, filepath.Join(t.TempDir(), "m"))
	data, err := os.ReadFile(filepath.Join(dir, "firn-records", "aaaa-1.jsonl"))
	if err != nil || strings.Contains(string(data), "EncryptionKey") || strings.Contains(string(data), "originalFileStates") || !strings.Contains(string(data), `"unknown":1`) || !strings.Contains(string(data), "before a checkpoint") {
		t.Errorf("the mirror holds %s, %v", data, err)
	}
}

// TestHeaders reads what newer versions keep in a table of headers.
func TestHeaders(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "globalStorage/state.vscdb", schema+rows+`
create table composerHeaders (composerId text primary key, workspaceId text, value text);
insert into composerHeaders values('cccc-3','w','{"name":"New title","workspaceIdentifier":{"uri":{"path":"/new"}}}');`)
	if got := historytest.Describe(t, cursor.New(), home); !strings.Contains(got, `cccc-3 "New title" in "/new"`) {
		t.Errorf("the headers are not read:\n%s", got)
	}
}

// Messages of the command line, after published descriptions.
var messages = []string{
	`{"role":"system","content":"You are Cursor."}`,
	`{"role":"user","content":[{"type":"text","text":"<user_info>\nWorkspace Path: /home/ann/demo\n</user_info>"}]}`,
	`{"role":"user","content":[{"type":"text","text":"<user_query>\nplease read note.txt\n</user_query>"}],"providerOptions":{"cursor":{"requestId":"r1"}}}`,
	`{"id":"1","role":"assistant","content":[{"type":"reasoning","text":"I will.","signature":"s"},{"type":"tool-call","toolCallId":"t1","toolName":"Shell","args":{"command":"cat note.txt"}}],"providerOptions":{"cursor":{"modelName":"claude-z"}}}`,
	`{"role":"tool","id":"t1","content":[{"type":"tool-result","toolCallId":"t1","toolName":"Shell","result":"hello glacier"}]}`,
	`{"id":"1","role":"assistant","content":[{"type":"text","text":"It says hello glacier."},{"type":"hologram"}]}`,
}

// statements returns the statements that add messages, the last of them not in the root, and
// set the root.
func statements(n int, drop ...int) string {
	var root, all strings.Builder
	for i, m := range messages[:n] {
		id := strings.Repeat("0", 62) + hex.EncodeToString([]byte{byte(i + 1)})
		all.WriteString("insert or replace into blobs values('" + id + "', cast('" + strings.ReplaceAll(m, "'", "''") + "' as blob));\n")
		if len(drop) == 0 || drop[0] != i {
			root.WriteString("0a20" + id)
		}
	}
	root.WriteString("1005" + "190000000000000000" + "25000000ff" + "4a03612f62") // other fields
	id := strings.Repeat("f", 62) + hex.EncodeToString([]byte{byte(n)})
	all.WriteString("insert or replace into blobs values('" + id + "', x'" + root.String() + "');\n")
	meta := `{"agentId":"x","latestRootBlobId":"` + id + `","name":"New Agent","createdAt":1775230580000,"lastUsedModel":"gpt-w"}`
	return all.String() + "insert or replace into meta values('0','" + hex.EncodeToString([]byte(meta)) + "');"
}

const storeSchema = "create table blobs (id text primary key, data blob); create table meta (key text primary key, value text);\n"

const storeFile = "chats/36e6f82a4f9ae16e/f1ff7b74-0a28-4dd4-a452-e01ae080eb20/store.db"

func TestStore(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, storeFile, storeSchema+statements(len(messages)))
	historytest.Put(t, home, "chats/36e6f82a4f9ae16e/empty/store.db", "")
	historytest.Equal(t, historytest.Run(t, cursor.New(), home), `
f1ff7b74-0a28-4dd4-a452-e01ae080eb20 "New Agent" in "/home/ann/demo"
  title: "New Agent"
  custom cursor:session
  context cursor:context: "You are Cursor."
  context cursor:context: "<user_info>\nWorkspace Path: /home/ann/demo\n</user_info>"
  user: "please read note.txt"
  assistant: thinking "I will." | call t1 Shell {"command":"cat note.txt"} (cursor/claude-z toolUse)
  toolResult: result t1 Shell "hello glacier"
  assistant: "It says hello glacier." | opaque hologram (cursor/gpt-w stop)
`)
	historytest.Put(t, home, filepath.Dir(storeFile)+"/meta.json", `{"title":"A title","cwd":"/other","updatedAtMs":1775230590000,"isSubagent":false}`)
	if got := historytest.Describe(t, cursor.New(), home); !strings.Contains(got, `"A title" in "/other"`) {
		t.Errorf("the description is not read:\n%s", got)
	}
}

// TestStoreGrowth adds messages, and drops one from the root, as a summary does: it stays in
// the mirror.
func TestStoreGrowth(t *testing.T) {
	home := t.TempDir()
	db := historytest.Database(t, home, storeFile, storeSchema)
	var steps []func()
	for n := range messages {
		steps = append(steps, func() { historytest.Exec(t, db, statements(n+1)) })
	}
	steps = append(steps, func() { historytest.Exec(t, db, statements(len(messages), 3)) })
	historytest.Growth(t, cursor.New(), home, steps...)
	if got := historytest.Describe(t, cursor.New(), home); strings.Contains(got, "I will.") || strings.Count(got, "custom cursor:message") != 1 {
		t.Errorf("the dropped message: %s", got)
	}
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	db := historytest.Database(t, home, "globalStorage/state.vscdb", schema)
	do := func(statements string) func() { return func() { historytest.Exec(t, db, statements) } }
	historytest.Growth(t, cursor.New(), home, do(rows), do(`update cursorDiskKV set value = replace(value, 'Reading a note', 'New')`),
		do(`insert into cursorDiskKV values('bubbleId:cccc-3:d3','{"type":1,"text":"more"}')`))
}

func TestDamage(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, storeFile, storeSchema+statements(3))
	historytest.Database(t, home, "chats/a/b/store.db", "create table blobs (id text);")
	historytest.Database(t, home, "chats/a/c/store.db", storeSchema+`insert into blobs values('00', x'0aff'), ('01', cast('{"role":"user","content":"no root"}' as blob)); insert into meta values('0','not hex');`)
	historytest.Put(t, home, "globalStorage/state.vscdb", "SQLite format 3\x00 cut")
	got := historytest.Describe(t, cursor.New(), home)
	for _, part := range []string{"read globalStorage/state.vscdb", "corrupt", "has no blobs.data; firn reads the schema of Cursor CLI", `user: "no root"`, "please read note.txt"} {
		if !strings.Contains(got, part) {
			t.Errorf("missing %q in:\n%s", part, got)
		}
	}
}

// TestOtherEditor does not take the folder of another editor for Cursor's.
func TestOtherEditor(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "globalStorage/state.vscdb", "create table ItemTable (key text, value blob);")
	if cursor.New().Layout().Owns(os.DirFS(home)) {
		t.Error("a database without Cursor's table is Cursor's")
	}
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, cursor.New(), `{"type":"bubble","id":"b","timestamp":"2026-01-01T00:00:00Z","data":{"type":2,"thinking":"x","toolFormerData":{"name":"n","rawArgs":"{}","result":"{\"output\":\"o\"}"}}}`,
		`{"type":"message","id":"m","data":{"role":"user","content":[{"type":"text","text":"<user_query>q</user_query>"},{"type":"tool-result","toolCallId":"t","result":{"a":1}}]}}`,
		`{"type":"session","id":"s","data":{"lastUsedModel":"m"}}`, `{"type":"bubble","id":"b","listed":false,"data":{"type":1,"images":[{},"x"]}}`)
}

// FuzzStore reads roots and messages of any bytes.
func FuzzStore(f *testing.F) {
	f.Add([]byte(`{"role":"user","content":"x"}`), []byte("\x0a\x201"))
	f.Fuzz(func(t *testing.T, data, root []byte) {
		home := t.TempDir()
		historytest.Database(t, home, storeFile, storeSchema+"insert into blobs values('a', x'"+hex.EncodeToString(data)+"'), ('r', x'"+hex.EncodeToString(root)+"'); insert into meta values('0','"+hex.EncodeToString([]byte(`{"latestRootBlobId":"r"}`))+"');")
		historytest.Describe(t, cursor.New(), home)
	})
}
