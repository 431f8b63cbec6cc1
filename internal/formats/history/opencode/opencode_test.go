package opencode_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/history/historytest"
	"firn.dev/internal/formats/history/opencode"
)

// schema holds the tables for sessions of opencode 1.18.33, and session the rows that it wrote
// for a prompt with one tool call.
const schema = `
create table session (id text primary key, project_id text not null, parent_id text, slug text not null, directory text not null, title text not null, version text not null, time_created integer not null, time_updated integer not null, time_archived integer);
create table message (id text primary key, session_id text not null, time_created integer not null, time_updated integer not null, data text not null);
create table part (id text primary key, message_id text not null, session_id text not null, time_created integer not null, time_updated integer not null, data text not null);
`

const session = `
insert into session values('ses_e13faf606ffetuCMP0PubTSphg','1b0f',null,'gentle-orchid','/w','Reading a note','1.18.33',1794961115641,1794961137000,null);
insert into message values
('msg_1ec050b92001NXqkvUW7EgtKgL','ses_e13faf606ffetuCMP0PubTSphg',1794961116050,1794961134710,'{"role":"user","time":{"created":1794961116050},"agent":"build","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}'),
('msg_1ec05246f001pa40p5Q58iMtav','ses_e13faf606ffetuCMP0PubTSphg',1794961122415,1794961133688,'{"parentID":"msg_1ec050b92001NXqkvUW7EgtKgL","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/w","root":"/w"},"cost":0,"tokens":{"total":112,"input":100,"output":12,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1794961122415,"completed":1794961133671},"finish":"tool-calls"}'),
('msg_1ec055081001TP91h5qns1E6xz','ses_e13faf606ffetuCMP0PubTSphg',1794961133697,1794961136939,'{"parentID":"msg_1ec050b92001NXqkvUW7EgtKgL","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/w","root":"/w"},"cost":0,"tokens":{"total":112,"input":100,"output":12,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1794961133697,"completed":1794961136930},"finish":"stop"}');
insert into part values
('prt_1ec050bdb001ZLV1k6RBLHVPrO','msg_1ec050b92001NXqkvUW7EgtKgL','ses_e13faf606ffetuCMP0PubTSphg',1794961122219,1794961122222,'{"type":"text","text":"please read note.txt"}'),
('prt_1ec0546cc001z226tMMRxSVTR5','msg_1ec05246f001pa40p5Q58iMtav','ses_e13faf606ffetuCMP0PubTSphg',1794961131213,1794961131217,'{"snapshot":"a17a","type":"step-start"}'),
('prt_1ec0546d7001tMN3l3SHLRM2W3','msg_1ec05246f001pa40p5Q58iMtav','ses_e13faf606ffetuCMP0PubTSphg',1794961131223,1794961131319,'{"type":"reasoning","text":"I will read it.","time":{"start":1794961131223,"end":1794961131269}}'),
('prt_1ec054761001p9HHVBp1DciRB4','msg_1ec05246f001pa40p5Q58iMtav','ses_e13faf606ffetuCMP0PubTSphg',1794961131367,1794961132164,'{"type":"text","text":"Reading the file.","time":{"start":1794961131361,"end":1794961132097}}'),
('prt_1ec05499e001J04Q3Rm8ePyVZV','msg_1ec05246f001pa40p5Q58iMtav','ses_e13faf606ffetuCMP0PubTSphg',1794961131934,1794961132217,'{"type":"tool","tool":"read","callID":"call_1","state":{"status":"completed","input":{"filePath":"/w/note.txt"},"output":"1: hello glacier","metadata":{"preview":"hello glacier","truncated":false},"title":"note.txt","time":{"start":1794961132034,"end":1794961132215}}}'),
('prt_1ec054c2f001QUJXxuuEfQ1FS5','msg_1ec05246f001pa40p5Q58iMtav','ses_e13faf606ffetuCMP0PubTSphg',1794961132592,1794961132595,'{"reason":"tool-calls","snapshot":"a17a","type":"step-finish","tokens":{"total":112,"input":100,"output":12,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}'),
('prt_1ec0553c5001xiXHY8lIdcNKeX','msg_1ec055081001TP91h5qns1E6xz','ses_e13faf606ffetuCMP0PubTSphg',1794961134533,1794961134553,'{"type":"text","text":"The file says hello glacier.","time":{"start":1794961134533,"end":1794961134547}}');
`

// others are rows from the source of opencode's types: a sub-agent's session with two steps
// in a message, a failed answer, a compaction, an image, and damaged and unknown data.
const others = `
insert into session values('ses_sub','1b0f','ses_e13faf606ffetuCMP0PubTSphg','s','/w','Look (@explore subagent)','1.18.33',1794961120000,1794961121000,1794961122000);
insert into session values('ses_empty','1b0f',null,'s','/w','','1.18.33',1794961120001,1794961121000,null);
insert into session values('bad/../name','1b0f',null,'s','/w','Odd','1.18.33',1794961120002,1794961121000,null);
insert into message values
('m1','ses_sub',1,1,'{"role":"user","time":{"created":1794961120000}}'),
('m2','ses_sub',2,2,'{"role":"assistant","modelID":"m","providerID":"p","time":{"created":1794961120100},"finish":"stop"}'),
('m3','ses_sub',3,3,'{"role":"assistant","modelID":"m","providerID":"p","time":{"created":1794961120200},"error":{"name":"MessageAbortedError","data":{"message":"stopped"}}}'),
('m4','ses_sub',4,4,'{"role":"assistant","summary":true,"modelID":"m","providerID":"p","time":{"created":1794961120300,"completed":1},"finish":"stop"}'),
('m5','ses_sub',5,5,'{"role":"oracle"}'),
('m6','ses_sub',6,6,'{"role":"user"'),
('o1','bad/../name',1,1,'{"role":"user","time":{"created":"soon"}}');
insert into part values
('p1','m1','ses_sub',1,1,'{"type":"text","text":"look"}'),
('p2','m1','ses_sub',1,1,'{"type":"file","mime":"image/png","url":"data:image/png;base64,aGk="}'),
('p3','m1','ses_sub',1,1,'{"type":"hologram","x":1}'),
('p4','m1','ses_sub',1,1,'not json'),
('q1','m2','ses_sub',1,1,'{"type":"step-start"}'),
('q2','m2','ses_sub',1,1,'{"type":"tool","tool":"bash","callID":"c1","state":{"status":"error","input":{"command":"x"},"error":"no such command","time":{"end":1794961120150}}}'),
('q3','m2','ses_sub',1,1,'{"type":"step-start"}'),
('q4','m2','ses_sub',1,1,'{"type":"text","text":"done"}'),
('q5','m2','ses_sub',1,1,'{"type":"tool","tool":"bash","callID":"c2","state":{"status":"running","input":{}}}'),
('r1','m4','ses_sub',1,1,'{"type":"text","text":"the summary"}');
`

const want = `
ses_e13faf606ffetuCMP0PubTSphg "Reading a note" in "/w"
  title: "Reading a note"
  custom opencode:session
  user: "please read note.txt"
  assistant: thinking "I will read it." | "Reading the file." | call call_1 read {"filePath":"/w/note.txt"} (fake/fake toolUse 100+12)
  toolResult: result call_1 read "1: hello glacier"
  assistant: "The file says hello glacier." (fake/fake stop 100+12)
`

var wantOthers = `
a1eb87c1-c157-85a0-98db-37f7e7a7fa12 "Odd" in "/w"
  title: "Odd"
  custom opencode:session
  user: 
` + want[1:] + `ses_empty "" in "/w"
  custom opencode:session
ses_sub "Look (@explore subagent)" in "/w" parent ses_e13faf606ffetuCMP0PubTSphg sub archived
  title: "Look (@explore subagent)"
  custom opencode:session
  user: "look" | image image/png aGk= | opaque hologram | opaque unknown
  assistant: call c1 bash {"command":"x"} (p/m toolUse)
  toolResult: failed c1 bash "no such command"
  assistant: "done" | call c2 bash {} (p/m stop)
  assistant:  (p/m aborted) error stopped
  compaction: "the summary"
  custom opencode:message
  custom opencode:message
`

func TestReal(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "opencode.db", schema+session)
	historytest.Equal(t, historytest.Run(t, opencode.New(), home), want)
}

func TestOthers(t *testing.T) {
	home := t.TempDir()
	db := historytest.Database(t, home, "opencode.db", schema+session+others)
	got := historytest.Run(t, opencode.New(), home)
	historytest.Equal(t, got, wantOthers)
	db.Close() // without a log
	if again := historytest.Run(t, opencode.New(), home); again != got {
		t.Errorf("without a log:\n%s\nbefore:\n%s", again, got)
	}
}

func TestGrowth(t *testing.T) {
	home := t.TempDir()
	db := historytest.Database(t, home, "opencode.db", schema)
	historytest.Exec(t, db, "insert into session values('s1','p',null,'s','/w','New session','1.18.33',1,1,null)")
	do := func(statements string) func() { return func() { historytest.Exec(t, db, statements) } }
	historytest.Growth(t, opencode.New(), home,
		do(`insert into message values('m1','s1',1,1,'{"role":"user"}'); insert into part values('p1','m1','s1',1,1,'{"type":"text","text":"hello"}')`),
		do(`insert into message values('m2','s1',2,2,'{"role":"assistant"}'); insert into part values('p2','m2','s1',1,1,'{"type":"text","text":"I am"}')`),
		do(`update part set data = '{"type":"text","text":"I am here."}' where id = 'p2'; update session set title = 'Hello'`),
		do(`update message set data = '{"role":"assistant","finish":"stop"}' where id = 'm2'`),
		do(`insert into message values('m3','s1',3,3,'{"role":"user"}')`),
	)
}

// TestDeleted checks that messages which opencode deletes stay in the mirror.
func TestDeleted(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	db := historytest.Database(t, home, "opencode.db", schema+session)
	historytest.Mirror(t, opencode.New(), home, dir)
	historytest.Exec(t, db, "delete from message where id = 'msg_1ec055081001TP91h5qns1E6xz'")
	historytest.Mirror(t, opencode.New(), home, dir)
	kept, err := filepath.Glob(filepath.Join(dir, "firn-records", "*.jsonl.was-*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("after a message was deleted, the mirror keeps %v, %v", kept, err)
	}
	historytest.Exec(t, db, "delete from session")
	historytest.Mirror(t, opencode.New(), home, dir)
	if _, err := os.Stat(filepath.Join(dir, "firn-records", "ses_e13faf606ffetuCMP0PubTSphg.jsonl")); err != nil {
		t.Errorf("after the session was deleted: %v", err)
	}
}

// TestDamage checks that a database that cannot be read does not affect the others.
func TestDamage(t *testing.T) {
	home := t.TempDir()
	historytest.Database(t, home, "opencode.db", schema+session)
	historytest.Database(t, home, "opencode-dev.db", "create table session (id text primary key); pragma user_version = 7")
	historytest.Put(t, home, "opencode-next.db", "SQLite format 3\x00 and then nothing")
	m := &adopt.Mirror{Tool: opencode.New(), Home: home, Dir: t.TempDir(), FS: vfs.OS{}, Now: time.Now}
	done, err := m.Run(context.Background())
	if err != nil || done.Copied != 1 || len(done.Failed) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	for i, part := range []string{"version 7", "does not begin like"} {
		if !strings.Contains(done.Failed[i].Err.Error(), part) {
			t.Errorf("error %d: %v; want %q", i, done.Failed[i].Err, part)
		}
	}
}

func FuzzDecode(f *testing.F) {
	historytest.Fuzz(f, opencode.New(),
		`{"type":"records","tool":"opencode","version":1,"id":"s","title":"t"}`+"\n"+`{"type":"message","id":"m","created":1,"data":{"role":"assistant","summary":true,"finish":"stop"},"parts":[{"data":{"type":"tool","callID":"c","state":{"status":"completed","input":{}}}},{"data":{"type":"step-start"}},{"data":{"type":"text","text":"x"}}]}`)
}
