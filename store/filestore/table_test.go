package filestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"

	"github.com/google/go-cmp/cmp"
)

const (
	mainKey  = "agent:main:main"
	topicKey = "agent:main:telegram:group:-100123:topic:7"
	mainID   = firn.ID("0b9a2f3e-1111-4111-8111-000000000001")
	topicID  = firn.ID("0b9a2f3e-1111-4111-8111-000000000002")
)

var noon = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)

func at(when time.Time) func() time.Time { return func() time.Time { return when } }

// bench is a table in its own directory, with helper methods.
type bench struct {
	*table
	t       *testing.T
	fs      vfs.FS
	dir     string
	mu      sync.Mutex
	reports []string
}

// newBench creates a table in memory. Empty content means no file.
func newBench(t *testing.T, content string, opts tableOptions) *bench {
	fsys := faultfs.New()
	if err := fsys.MkdirAll("/sessions"); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, fs: fsys, dir: "/sessions"}
	if content != "" {
		b.put(content)
	}
	b.open(opts)
	return b
}

// newDiskBench creates a table in a real directory.
func newDiskBench(t *testing.T, content string, opts tableOptions) *bench {
	b := &bench{t: t, fs: vfs.OS{}, dir: t.TempDir()}
	if content != "" {
		b.put(content)
	}
	b.open(opts)
	return b
}

// open opens the table again.
func (b *bench) open(opts tableOptions) {
	b.t.Helper()
	if b.table != nil {
		b.must(b.close())
	}
	if opts.Now == nil {
		opts.Now = at(noon)
	}
	if opts.EditGrace == 0 {
		opts.EditGrace = -1
	}
	opts.Report = func(message string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reports = append(b.reports, message)
	}
	b.table = openTable(b.fs, b.dir, opts)
	b.t.Cleanup(func() { b.close() })
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// fine is like must, for goroutines other than the test's.
func (b *bench) fine(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Error(err)
	}
}

// put replaces the file like an editor that saves a new file.
func (b *bench) put(content string) {
	b.t.Helper()
	b.must(vfs.WriteFile(b.fs, filepath.Join(b.dir, tableName), []byte(content)))
}

// overwrite changes the file in place.
func (b *bench) overwrite(content string) {
	b.t.Helper()
	f, err := b.fs.Open(filepath.Join(b.dir, tableName), vfs.Update)
	b.must(err)
	b.must(f.Truncate(0))
	if content != "" {
		_, err = f.WriteAt([]byte(content), 0)
		b.must(err)
	}
	b.must(f.Close())
}

func (b *bench) file() string { return b.fileNamed(tableName) }

func (b *bench) fileNamed(name string) string {
	b.t.Helper()
	f, err := b.fs.Open(filepath.Join(b.dir, name), vfs.Read)
	b.must(err)
	data, err := io.ReadAll(f)
	b.must(err)
	b.must(f.Close())
	return string(data)
}

// names lists the files in the directory, except the lock.
func (b *bench) names() []string {
	b.t.Helper()
	entries, err := b.fs.ReadDir(b.dir)
	b.must(err)
	var names []string
	for _, e := range entries {
		if e.Name() != tableLockName {
			names = append(names, e.Name())
		}
	}
	return names
}

// points checks the session of a key; empty means unbound.
func (b *bench) points(key string, want firn.ID) {
	b.t.Helper()
	id, ok, err := b.lookup(key)
	b.must(err)
	if id != want || ok != (want != "") {
		b.t.Errorf("key %s points at %q (%v), want %q", key, id, ok, want)
	}
}

func (b *bench) same(what string, got, want any) {
	b.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

func sample(t testing.TB) string {
	data, err := os.ReadFile("../../testdata/corpus/openclaw/sessions.sample.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func golden(t *testing.T, name string) string {
	data, err := os.ReadFile(filepath.Join("testdata", "table", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTableSample(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	b.points(mainKey, mainID)
	b.points(topicKey, topicID)
	b.points("agent:main:nobody", "")
	r, ok, err := b.row(mainKey)
	if b.must(err); !ok || string(r.get(fieldUpdated)) != "1769240000000" {
		t.Errorf("updated at %s", r.get(fieldUpdated))
	}
	all, err := b.keys()
	b.must(err)
	var names []string
	for _, k := range all {
		names = append(names, k.key)
	}
	b.same("the list of keys", names, []string{mainKey, topicKey})
	b.same("the file after reading", b.file(), sample(t))
	b.same("the directory after reading", b.names(), []string{tableName})
}

// TestTableBindGolden checks that a bind changes only the row of the key, and in it only
// the fields about the old session. The rest must be identical byte for byte.
func TestTableBindGolden(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	b.must(b.bind(mainKey, "s2"))
	b.same("sessions.json", b.file(), golden(t, "bind.json"))
	b.must(b.bind(mainKey, "s2"))
	b.same("sessions.json bound to the same", b.file(), golden(t, "bind.json"))
	b.must(b.bind("agent:main:new", "s3"))
	b.points("agent:main:new", "s3")
	want := strings.TrimSuffix(golden(t, "bind.json"), "\n}") +
		",\n  \"agent:main:new\": {\n    \"sessionId\": \"s3\",\n    \"updatedAt\": 1769947200000\n  }\n}"
	b.same("sessions.json with a new key", b.file(), want)
}

// TestTableLooksLikeStringify checks that a file written by JSON.stringify keeps its
// formatting after all kinds of changes.
func TestTableLooksLikeStringify(t *testing.T) {
	var laid bytes.Buffer
	if err := json.Indent(&laid, []byte(strings.TrimSpace(sample(t))), "", "  "); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, laid.String(), tableOptions{})
	b.must(b.bind(mainKey, "s2"))
	b.must(b.bind("agent:main:quote\"\\<&>\u2028", "s3"))
	b.must(b.touch(topicKey, func(r *row) {
		r.set("origin", json.RawMessage(`{"label":"Bob","tags":["a",{"b":[]}],"none":{},"n":1.50e3}`))
		r.set("systemSent", json.RawMessage("true"))
		r.setInt("totalTokens", 12)
		r.setText("label", "a\tb\x01")
		r.remove("subject")
	}))
	b.must(b.close())
	b.same("sessions.json", b.file(), golden(t, "stringify.json"))
	var again bytes.Buffer
	if err := json.Indent(&again, []byte(b.file()), "", "  "); err != nil {
		t.Fatal(err)
	}
	b.same("sessions.json", b.file(), again.String())
}

func TestTableModeAndNewline(t *testing.T) {
	b := newDiskBench(t, "", tableOptions{})
	b.must(os.WriteFile(filepath.Join(b.dir, tableName), []byte(sample(t)), 0o644))
	b.must(b.bind(mainKey, "s2"))
	info, err := b.fs.Stat(filepath.Join(b.dir, tableName))
	b.must(err)
	if info.Mode.Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode)
	}
	if !strings.HasSuffix(b.file(), "\n}") {
		t.Errorf("the file ends in %q", b.file()[len(b.file())-5:])
	}
}

func TestTableKeepsUnknownRows(t *testing.T) {
	row := func(id string) string {
		return "{\n    \"sessionId\": \"" + id + "\",\n    \"updatedAt\": 1769947200000\n  }"
	}
	for _, c := range []struct{ name, before, after string }{
		{"empty table", `{}`, "{\n  \"k\": " + row("new") + "\n}"},
		{"byte order mark", "\xef\xbb\xbf{}\r\n", "{\n  \"k\": " + row("new") + "\n}"},
		{"rows that are not objects", `{"a": 1e2, "b":null,"c":[ ] , "d":"x"}`,
			"{\n  \"a\": 1e2,\n  \"b\": null,\n  \"c\": [ ],\n  \"d\": \"x\",\n  \"k\": " + row("new") + "\n}"},
		{"layout by hand", "{\"a\":{ \"sessionId\" : \"s\",\n\t\"n\":1.0 }}",
			"{\n  \"a\": { \"sessionId\" : \"s\",\n\t\"n\":1.0 },\n  \"k\": " + row("new") + "\n}"},
		{"names with invalid escapes", `{"\ud800":1,"\ud801":2,"\u0000":3}`,
			"{\n  \"\\ud800\": 1,\n  \"\\ud801\": 2,\n  \"\\u0000\": 3,\n  \"k\": " + row("new") + "\n}"},
		{"invalid UTF-8", "{\"\xff\":\"\xfe\"}", "{\n  \"\xff\": \"\xfe\",\n  \"k\": " + row("new") + "\n}"},
		{"names with escapes", `{"\u006b":{"session\u0049d":"old","z":9007199254740993,"\u0061":-0}}`,
			"{\n  \"\\u006b\": {\n    \"session\\u0049d\": \"new\",\n    \"z\": 9007199254740993,\n    \"\\u0061\": -0,\n    \"updatedAt\": 1769947200000\n  }\n}"},
		{"row without session", `{"k":{"label":"x"}}`,
			"{\n  \"k\": {\n    \"label\": \"x\",\n    \"sessionId\": \"new\",\n    \"updatedAt\": 1769947200000\n  }\n}"},
		{"row that is not an object", `{"k":7,"b":{}}`, "{\n  \"k\": " + row("new") + ",\n  \"b\": {}\n}"},
		{"session with an invalid ID", `{"k":{"sessionId":"../x","updatedAt":1}}`, "{\n  \"k\": " + row("new") + "\n}"},
		{"later than now", `{"k":{"sessionId":"old","updatedAt":9769947200000}}`,
			"{\n  \"k\": {\n    \"sessionId\": \"new\",\n    \"updatedAt\": 9769947200000\n  }\n}"},
		{"key twice", `{"k":{"sessionId":"x","a":1},"b":1,"k":{"sessionId":"y","c":2}}`,
			"{\n  \"k\": {\n    \"sessionId\": \"new\",\n    \"c\": 2,\n    \"updatedAt\": 1769947200000\n  },\n  \"b\": 1\n}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.before, tableOptions{})
			b.must(b.bind("k", "new"))
			b.same("sessions.json", b.file(), c.after)
			b.points("k", "new")
			b.same("the directory", b.names(), []string{tableName})
		})
	}
}

func TestTableRowsWithoutSession(t *testing.T) {
	b := newBench(t, `{"a":1,"b":null,"c":{},"d":{"sessionId":7},"e":{"sessionId":""},"f":{"sessionId":"../../x"},"g":[{"sessionId":"s"}],"h":{"SessionID":"s"},"ok":{"sessionId":"s"}}`, tableOptions{
		Rebuild: func() (map[string]firn.ID, error) { return map[string]firn.ID{"a": "s", "z": "s"}, nil },
	})
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "z"} {
		b.points(key, "")
	}
	b.points("ok", "s")
	all, err := b.keys()
	if b.must(err); len(all) != 1 || all[0].key != "ok" {
		t.Errorf("keys: %v", all)
	}
}

func TestTableDuplicateKeyIsReported(t *testing.T) {
	b := newBench(t, `{"k":{"sessionId":"x"},"k":{"sessionId":"y"}}`, tableOptions{})
	b.points("k", "y")
	b.points("k", "y")
	b.same("reports", b.reports, []string{"table " + b.path + " has key k more than once; the last one counts"})
}

func TestTableUnbind(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	before := b.file()
	b.must(b.unbindSession("nobody"))
	b.same("sessions.json after unbinding an unknown key", b.file(), before)
	b.must(b.unbindSession(mainID))
	b.points(mainKey, "")
	b.must(b.bind("again", topicID))
	b.must(b.unbindSession(topicID))
	b.same("sessions.json", b.file(), "{}")
	b.points("again", "")
}

func TestTableClaim(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	claim := func(key string, id, want firn.ID, alive func(firn.ID) bool) {
		t.Helper()
		got, err := b.claim(key, id, alive)
		if b.must(err); got != want {
			t.Errorf("claim %s for %s: got %s, want %s", key, id, got, want)
		}
		b.points(key, want)
	}
	claim(mainKey, "s2", mainID, nil)
	claim(mainKey, "s2", mainID, func(id firn.ID) bool { return id == mainID })
	claim(mainKey, "s2", "s2", func(id firn.ID) bool { return id != mainID })
	claim("new", "s3", "s3", func(id firn.ID) bool { t.Errorf("requested %s", id); return true })
	claim("new", "s4", "s3", nil)
}

// TestTableConcurrentClaims checks that concurrent claims of a key all get the same session,
// also through several tables, and that no binding is lost.
func TestTableConcurrentClaims(t *testing.T) {
	b := newDiskBench(t, sample(t), tableOptions{})
	other := openTable(b.fs, b.dir, tableOptions{})
	defer other.close()
	const people = 8
	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	winners := make([][]firn.ID, people)
	var wg sync.WaitGroup
	for p := range people {
		wg.Go(func() {
			mine := []*table{b.table, other}[p%2]
			for i := range rounds {
				id := firn.ID(fmt.Sprintf("s-%d-%d", p, i))
				won, err := mine.claim(fmt.Sprintf("shared-%d", i/4), id, nil)
				err = errors.Join(err, mine.bind(fmt.Sprintf("own-%d", p), id))
				if now, ok, lookupErr := mine.lookup(fmt.Sprintf("own-%d", p)); err != nil || lookupErr != nil || !ok || now != id {
					t.Errorf("bound own-%d to %s: it points at %s: %v %v", p, id, now, err, lookupErr)
				}
				winners[p] = append(winners[p], won)
			}
		})
	}
	wg.Wait()
	for p := range people {
		b.points(fmt.Sprintf("own-%d", p), firn.ID(fmt.Sprintf("s-%d-%d", p, rounds-1)))
		b.same("the winners", winners[p], winners[0])
	}
	all, err := b.keys()
	if b.must(err); len(all) != 2+people+rounds/4 {
		t.Errorf("%d keys", len(all))
	}
	b.same("the directory", b.names(), []string{tableName})
}

// TestTableWritesTogether checks that changes that arrive during a write share the next
// write.
func TestTableWritesTogether(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	fsys := b.fs.(*faultfs.FS)
	fsys.ClearLog()
	var wg sync.WaitGroup
	var once sync.Once
	const more = 20
	fsys.Hook(func(kind faultfs.Kind, _ string) {
		if kind != faultfs.Rename {
			return
		}
		once.Do(func() { // block the first write until all others are queued
			for i := range more {
				wg.Go(func() { b.fine(b.bind(fmt.Sprintf("k%d", i), "s")) })
			}
			for queued := 0; queued < more; {
				b.table.mu.Lock()
				queued = len(b.queue)
				b.table.mu.Unlock()
			}
		})
	})
	b.must(b.bind("first", "s"))
	wg.Wait()
	if writes, locks := fsys.Count(faultfs.Rename), fsys.Count(faultfs.Lock); writes != 2 || locks != 2 {
		t.Errorf("%d writes and %d locks for %d bindings, want 2", writes, locks, more+1)
	}
	all, err := b.keys()
	if b.must(err); len(all) != 2+1+more {
		t.Errorf("%d keys", len(all))
	}
}

func TestTableClosed(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	b.must(b.close())
	b.must(b.close())
	_, _, err := b.lookup(mainKey)
	for what, err := range map[string]error{
		"lookup": err, "bind": b.bind(mainKey, "s"), "unbind": b.unbindSession(mainID), "touch": b.touch(mainKey, nil),
	} {
		if !errors.Is(err, firn.ErrClosed) {
			t.Errorf("%s after close: %v", what, err)
		}
	}
}

func TestTableReadOnly(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{ReadOnly: true})
	fsys := b.fs.(*faultfs.FS)
	fsys.ClearLog()
	b.points(mainKey, mainID)
	for what, err := range map[string]error{
		"bind": b.bind(mainKey, "s"), "unbind": b.unbindSession(mainID), "touch": b.touch(mainKey, nil),
	} {
		if !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.must(b.close())
	b.same("the file", b.file(), sample(t))
	if did := fsys.Log(faultfs.Changing | faultfs.Locking); did != nil {
		t.Errorf("reading did %q", did)
	}
}
