package crush_test

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/history/crush"
	"firn.dev/internal/formats/history/historytest"
)

// schema and rows follow the published migrations and types of Crush 0.96.
const schema = `
create table sessions (id text primary key, parent_session_id text, title text not null, message_count integer not null default 0, cost real not null default 0.0, updated_at integer not null, created_at integer not null);
create table messages (id text primary key, session_id text not null, role text not null, parts blob not null default '[]', model text, provider text, is_summary_message integer not null default 0, created_at integer not null, updated_at integer not null, finished_at integer);
`

const rows = `
insert into sessions values('6f2a','','Reading',4,0.5,1794961137,1794961115), ('6f2a-sub','6f2a','Look',0,0,1794961137,1794961116);
insert into messages values
('m1','6f2a','user','[{"type":"text","data":{"text":"read note.txt"}},{"type":"binary","data":{"Path":"a.png","MIMEType":"image/png","Data":"aGk="}}]',null,null,0,1794961116,1794961116,null),
('m2','6f2a','assistant','[{"type":"reasoning","data":{"thinking":"I will.","signature":"s"}},{"type":"tool_call","data":{"id":"c1","name":"view","input":"{\"file_path\":\"/w/note.txt\"}","finished":true}},{"type":"finish","data":{"reason":"tool_use","time":1}}]','fake','p',0,1794961117,1794961117,null),
('m3','6f2a','tool','[{"type":"tool_result","data":{"tool_call_id":"c1","name":"view","content":"hello glacier","metadata":"{\"lines\":1}","is_error":false}}]',null,null,0,1794961118,1794961118,null),
('m5','6f2a','assistant','[{"type":"text","data":{"text":"a summary"}},{"type":"finish","data":{"reason":"end_turn","time":1}}]','fake','p',1,1794961120,1794961120,null),
('m6','6f2a','assistant','[{"type":"hologram","data":{}},{"type":"finish","data":{"reason":"error","time":1,"message":"Bad","details":"gateway"}}]','fake','p',0,1794961121,1794961121,null),
('m7','6f2a','oracle','[]',null,null,0,1794961122,1794961122,null),
('m8','6f2a','user','[{"type":',null,null,0,1794961123,1794961123,null);
`

// compressed is the statement for an answer in the compressed form.
func compressed(t *testing.T) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	parts := w.EncodeAll([]byte(`[{"type":"text","data":{"text":"It says hello glacier."}},{"type":"finish","data":{"reason":"end_turn","time":1}}]`), nil)
	return "insert into messages values('m4','6f2a','assistant',x'" + hex.EncodeToString(parts) + "','fake','p',0,1794961119,1794961119,null);"
}

func TestRead(t *testing.T) {
	home := filepath.Join(t.TempDir(), ".crush")
	historytest.Database(t, home, "crush.db", schema+rows+compressed(t))
	historytest.Equal(t, historytest.Run(t, crush.New(), home), `
6f2a "Reading" in ""
  title: "Reading"
  custom crush:session
  user: "read note.txt" | image image/png aGk=
  assistant: thinking "I will." | call c1 view {"file_path":"/w/note.txt"} (p/fake toolUse)
  toolResult: result c1 view "hello glacier"
  assistant: "It says hello glacier." (p/fake stop)
  compaction: "a summary"
  assistant: opaque hologram (p/fake error) error Bad gateway
  custom crush:message
  custom crush:message
6f2a-sub "Look" in "" parent 6f2a sub
  title: "Look"
  custom crush:session
`)
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	db := historytest.Database(t, home, "crush.db", schema)
	do := func(statements string) func() { return func() { historytest.Exec(t, db, statements) } }
	historytest.Growth(t, crush.New(), home, do(rows), do(compressed(t)),
		do(`update messages set parts = '[{"type":"text","data":{"text":"more"}}]' where id = 'm8'`), do(`update sessions set title = 'New'`))
}

func TestDamage(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "crush.db", schema+rows+"update messages set parts = x'28b52ffd00' where id = 'm1'; insert into sessions values('good','','Good',0,0,1,1)")
	got := historytest.Describe(t, crush.New(), home)
	if !strings.Contains(got, "parts of message m1") || !strings.Contains(got, `good "Good"`) {
		t.Errorf("with damaged parts: %s", got)
	}
	other := t.TempDir()
	historytest.Database(t, other, "crush.db", "create table sessions(id text); pragma user_version=3")
	if got := historytest.Describe(t, crush.New(), other); !strings.Contains(got, "version 3") {
		t.Errorf("with another schema: %s", got)
	}
}

func TestProjects(t *testing.T) {
	user, project := t.TempDir(), t.TempDir()
	historytest.Database(t, filepath.Join(project, ".crush"), "crush.db", schema+rows)
	historytest.Put(t, user, ".local/share/crush/projects.json", `{"projects":[{"path":"`+filepath.ToSlash(project)+`","data_dir":".crush"},{"path":"/nowhere","data_dir":"/nowhere/.crush"},{"path":"x"}]}`)
	found, err := adopt.Find(t.Context(), user, []dialect.Tool{crush.New()}, nil)
	if err != nil || len(found) != 1 || found[0].Home != filepath.Join(project, ".crush") || found[0].Sessions != 2 {
		t.Errorf("found %+v, %v", found, err)
	}
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, crush.New(), `{"type":"message","id":"m","data":{"role":"assistant","created_at":1},"parts":[{"type":"tool_call","data":{"id":"c","name":"n","input":"{}"}},{"type":"finish","data":{"reason":"end_turn"}}]}`,
		`{"type":"message","id":"m","data":{"role":"tool"},"parts":[{"type":"tool_result","data":{"tool_call_id":"c","metadata":"{"}},{"type":"text","data":{"text":"x"}}]}`)
}
