package filestore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
)

// headers returns the keys according to the transcripts.
func headers() (map[string]firn.ID, error) {
	return map[string]firn.ID{mainKey: "from-header", "agent:main:zoe": "zoe"}, nil
}

func TestTableSeesEditsByHand(t *testing.T) {
	for _, disk := range []bool{false, true} {
		t.Run(fmt.Sprintf("disk %v", disk), func(t *testing.T) {
			open := newBench
			if disk {
				open = newDiskBench
			}
			b := open(t, sample(t), tableOptions{Rebuild: headers})
			b.points(mainKey, mainID)

			// With the same length, in place, and right after it was read.
			b.overwrite(strings.ReplaceAll(sample(t), string(mainID), string(topicID)))
			b.points(mainKey, topicID)
			b.overwrite(sample(t))
			b.points(mainKey, mainID)
			b.put(strings.ReplaceAll(sample(t), string(mainID), "another"))
			b.points(mainKey, "another")

			// A removed key is unbound, whatever the transcripts contain.
			b.put(strings.Replace(sample(t), mainKey, "agent:main:renamed", 1))
			b.points(mainKey, "")
			b.points("agent:main:renamed", mainID)
			b.must(b.bind(topicKey, "s2"))
			b.points(mainKey, "")
			won, err := b.claim(mainKey, "fresh", nil)
			if b.must(err); won != "fresh" {
				t.Errorf("claimed a removed key and got %s", won)
			}
			if len(b.reports) > 0 {
				t.Errorf("reports: %q", b.reports)
			}
		})
	}
}

// TestTableSeesEditsWithinATick tests two versions of a file with the same size and time.
func TestTableSeesEditsWithinATick(t *testing.T) {
	for _, after := range []time.Duration{time.Second, time.Second + time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(after) // a time in whole seconds, and a finer one
			b := newBench(t, sample(t), tableOptions{})
			b.points(mainKey, mainID)
			b.overwrite(strings.ReplaceAll(sample(t), string(mainID), string(topicID)))
			b.points(mainKey, topicID)
		})
	}
}

// TestTableMergesWithEdits checks that bindings before and after an edit and the edit
// itself are all kept.
func TestTableMergesWithEdits(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	b.must(b.bind("a", "s1"))
	b.put(strings.Replace(b.file(), `"thinkingLevel": "low"`, `"thinkingLevel": "high", "mine": [1, 2]`, 1))
	b.must(b.bind("b", "s2"))
	for _, want := range []string{`"thinkingLevel": "high"`, `"mine": [1, 2]`} {
		if !strings.Contains(b.file(), want) {
			t.Errorf("%s is missing from\n%s", want, b.file())
		}
	}
	b.points("a", "s1")
	b.points("b", "s2")
}

func TestTableReadsOnlyWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sample(t), tableOptions{})
		time.Sleep(coarseTick + time.Second) // the clock of a bubble starts on a whole second
		b.points(mainKey, mainID)
		fsys := b.fs.(*faultfs.FS)
		fsys.ClearLog()
		for range 10 {
			b.points(mainKey, mainID)
		}
		if did := fsys.Log(faultfs.Any &^ faultfs.Stat); did != nil {
			t.Errorf("looking up an unchanged key did %q", did)
		}
	})
}

func TestTableMissing(t *testing.T) {
	b := newBench(t, "", tableOptions{Rebuild: headers})
	b.points(mainKey, "from-header")
	b.points("agent:main:zoe", "zoe")
	b.points(mainKey, "from-header")
	b.same("the directory after reading", b.names(), []string(nil))
	b.same("reports", b.reports, []string{"table " + b.path + " is missing; 2 keys were taken from the transcripts"})

	b.must(b.bind("agent:main:zoe", "later"))
	b.same("sessions.json", b.file(), `{
  "agent:main:main": {
    "sessionId": "from-header"
  },
  "agent:main:zoe": {
    "sessionId": "later",
    "updatedAt": 1769947200000
  }
}`)
	// Deleted while running: rebuilt once more.
	b.must(b.fs.Remove(b.path))
	b.points("agent:main:zoe", "zoe")
	b.same("the directory after deleting", b.names(), []string(nil))
	won, err := b.claim(mainKey, "mine", nil)
	if b.must(err); won != "from-header" {
		t.Errorf("claimed a key that a transcript has and got %s", won)
	}
	b.same("the directory after a claim", b.names(), []string{tableName})
}

func TestTableMissingDirectory(t *testing.T) {
	b := newBench(t, "", tableOptions{})
	b.dir = "/not/yet"
	b.open(tableOptions{})
	b.points("k", "")
	if _, err := b.fs.Stat("/not"); err == nil {
		t.Error("a lookup made the directory")
	}
	b.must(b.bind("k", "s"))
	b.points("k", "s")
}

// TestTableRebuildFails checks that unreadable transcripts are an error, not an empty
// table.
func TestTableRebuildFails(t *testing.T) {
	broken := errors.New("no transcripts today")
	for _, content := range []string{"", "{"} {
		b := newBench(t, content, tableOptions{Rebuild: func() (map[string]firn.ID, error) { return nil, broken }})
		before := b.names()
		if _, _, err := b.lookup("k"); !errors.Is(err, broken) {
			t.Errorf("lookup: %v", err)
		}
		if err := b.bind("k", "s"); !errors.Is(err, broken) {
			t.Errorf("bind: %v", err)
		}
		b.same("the directory", b.names(), before)
	}
}

func TestTableUnreadable(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{Rebuild: headers})
	b.fs.(*faultfs.FS).FailNth(1, faultfs.Fault{Of: faultfs.Read})
	if _, ok, err := b.lookup(mainKey); err == nil || ok {
		t.Errorf("an unreadable file returned %v", ok)
	}
	b.fs.(*faultfs.FS).FailNth(1, faultfs.Fault{Of: faultfs.Read})
	if err := b.bind(mainKey, "s"); err == nil {
		t.Error("bound a key in a file that could not be read")
	}
	b.points(mainKey, mainID)
	b.same("the directory", b.names(), []string{tableName})
}

func TestTableDamaged(t *testing.T) {
	half := sample(t)[:len(sample(t))-100]
	for _, c := range []struct {
		name, content string
		zoe           firn.ID // sessions of the keys afterwards
		main          firn.ID
	}{
		{"no bytes", "", "zoe", "from-header"},
		{"white space", " \n", "zoe", "from-header"},
		{"zeros", strings.Repeat("\x00", 4096), "zoe", "from-header"},
		{"null", "null", "zoe", "from-header"},
		{"list", "[]", "zoe", "from-header"},
		{"text", "not JSON at all", "zoe", "from-header"},
		{"cut off", half, "zoe", mainID},
		{"zeros at the end", half + strings.Repeat("\x00", 100), "zoe", mainID},
		{"glued", sample(t) + sample(t), "zoe", mainID},
		{"a comma too many", `{"agent:main:zoe":{"sessionId":"kept","sendPolicy":"deny"},}`, "kept", "from-header"},
		{"half a number", `{"agent:main:zoe":{"sessionId":"kept"},"x":12`, "kept", "from-header"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, "{}", tableOptions{Rebuild: headers})
			b.overwrite(c.content)
			b.points("agent:main:zoe", c.zoe)
			b.points(mainKey, c.main)
			b.same("the directory", b.names(), []string{tableName, "sessions.json.corrupt-20260201T120000Z"})
			b.same("what was set aside", b.fileNamed("sessions.json.corrupt-20260201T120000Z"), c.content)
			if len(b.reports) != 1 || !strings.Contains(b.reports[0], "is corrupt: ") || !strings.Contains(b.reports[0], "sessions.json.corrupt-20260201T120000Z") {
				t.Errorf("reports: %q", b.reports)
			}
			b.must(b.bind("k", "s"))
			b.points("agent:main:zoe", c.zoe)
			if strings.Contains(b.file(), `"x"`) {
				t.Error("half a value was treated as a whole one")
			}
		})
	}
}

// TestTableDamagedWhileRunning checks that bindings known before the damage are kept, even
// if no transcript records them.
func TestTableDamagedWhileRunning(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{Rebuild: headers})
	b.must(b.bind(mainKey, "resumed"))
	b.must(b.touch(mainKey, func(r *row) { r.setInt("totalTokens", 7) }))
	b.overwrite("")
	b.points(mainKey, "resumed")
	b.overwrite("{")
	b.points(mainKey, "resumed")
	b.points("agent:main:zoe", "zoe")
	b.overwrite("[")
	b.must(b.bind("k", "s"))
	b.points(mainKey, "resumed")
	b.same("the directory", b.names(), []string{tableName, "sessions.json.corrupt-20260201T120000Z",
		"sessions.json.corrupt-20260201T120000Z-2", "sessions.json.corrupt-20260201T120000Z-3"})
	b.same("the first", b.fileNamed("sessions.json.corrupt-20260201T120000Z"), "")
	b.same("the second", b.fileNamed("sessions.json.corrupt-20260201T120000Z-2"), "{")
	b.same("the third", b.fileNamed("sessions.json.corrupt-20260201T120000Z-3"), "[")
	if r, _, _ := b.row(mainKey); string(r.get("totalTokens")) != "7" || string(r.get("thinkingLevel")) != `"low"` {
		t.Errorf("the row is now %s", r.encode())
	}
}

// TestTableCutAnywhere truncates the file at every byte. It must be either read or renamed
// unchanged.
func TestTableCutAnywhere(t *testing.T) {
	whole := sample(t)
	end := strings.LastIndexByte(whole, '}') + 1
	for cut := range len(whole) + 1 {
		b := newBench(t, "{}", tableOptions{Rebuild: headers})
		b.overwrite(whole[:cut])
		all, err := b.keys()
		b.must(err)
		if cut >= end {
			b.same("the directory", b.names(), []string{tableName})
			b.points(mainKey, mainID)
			continue
		}
		if len(b.names()) != 2 || b.fileNamed(b.names()[1]) != whole[:cut] || len(b.reports) != 1 {
			t.Fatalf("cut at %d: the damaged file is not kept: %q, reports %q", cut, b.names(), b.reports)
		}
		if len(all) < 2 {
			t.Fatalf("cut at %d: only %d keys", cut, len(all))
		}
		if _, err := parseObject([]byte(b.file())); err != nil {
			t.Fatalf("cut at %d: the new file: %v", cut, err)
		}
		b.must(b.close())
	}
}

// TestTableDamagedReadOnly checks that a read-only table repairs a damaged file in memory.
func TestTableDamagedReadOnly(t *testing.T) {
	b := newBench(t, "{}", tableOptions{ReadOnly: true, Rebuild: headers})
	fsys := b.fs.(*faultfs.FS)
	b.overwrite(`{"k":{"sessionId":"s"}`)
	fsys.ClearLog()
	for range 3 {
		b.points("k", "s")
		b.points(mainKey, "from-header")
	}
	if did := fsys.Log(faultfs.Changing | faultfs.Locking); did != nil {
		t.Errorf("reading did %q", did)
	}
	if len(b.reports) != 1 {
		t.Errorf("reports: %q", b.reports)
	}
	b.overwrite(`{"k":{"sessionId":"mended"}}`)
	b.points("k", "mended")
	b.points(mainKey, "")
}

// TestTableDamagedDisk does the same if renaming fails; the change must fail too.
func TestTableDamagedDisk(t *testing.T) {
	b := newBench(t, "{}", tableOptions{Rebuild: headers})
	b.overwrite("{")
	fsys := b.fs.(*faultfs.FS)
	fsys.FailNth(1, faultfs.Fault{Of: faultfs.Rename, Always: true})
	b.points(mainKey, "from-header")
	if err := b.bind(mainKey, "s"); !errors.Is(err, firn.ErrCorrupt) {
		t.Errorf("bind: %v", err)
	}
	b.points(mainKey, "from-header")
	b.same("the file", b.file(), "{")
}

// TestTableHalfSaved tests an editor that saves in place, so that the file is empty for a
// moment.
func TestTableHalfSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sample(t), tableOptions{EditGrace: defaultEditGrace, Rebuild: headers})
		for _, act := range []func(){
			func() { b.points(mainKey, "edited") },
			func() { b.must(b.bind("k", "s")) },
		} {
			b.overwrite("")
			saved := time.AfterFunc(50*time.Millisecond, func() {
				b.overwrite(`{"agent:main:main":{"sessionId":"edited"}}`)
			})
			act()
			if saved.Stop() {
				t.Error("it did not wait for the editor")
			}
			b.points(mainKey, "edited")
		}
		b.same("the directory", b.names(), []string{tableName})

		// But not forever.
		b.overwrite("")
		begun := time.Now()
		b.points(mainKey, "edited")
		if waited := time.Since(begun); waited < defaultEditGrace || waited > 3*defaultEditGrace {
			t.Errorf("waited %v", waited)
		}
		b.same("how many were set aside", len(b.names()), 2)
	})
}

// TestTableReplacedMeanwhile checks that a valid file created while the transcripts are
// read is not renamed.
func TestTableReplacedMeanwhile(t *testing.T) {
	for _, content := range []string{"", "{"} {
		var b *bench
		edits := []string{sample(t)}
		b = newBench(t, "", tableOptions{Rebuild: func() (map[string]firn.ID, error) {
			if len(edits) > 0 {
				b.put(edits[0])
				edits = edits[1:]
			}
			return headers()
		}})
		if content != "" {
			b.put(content)
		}
		b.must(b.bind("k", "s"))
		b.points(mainKey, mainID)
		b.points("k", "s")
		b.same("the directory", b.names(), []string{tableName})
	}
}

// FuzzTable checks that a change preserves the other content of an arbitrary file.
func FuzzTable(f *testing.F) {
	f.Add([]byte(sample(f)))
	f.Add([]byte(sample(f)[:700]))
	for _, seed := range []string{
		"", "{}", "\xef\xbb\xbf{}", "null", `{"k":{"sessionId":"s"}}`, `{"k":1,"k":{"sessionId":"s","a":[1,{"b":2}]},"\u006b":3}`,
		`{"\ud800":1,"\ud801":2}`, "{\"\xff\":{\"sessionId\":\"s\"}}", `{"new":{"sessionId":"x","\u0000":1}}`,
		`{"a":{"sessionId":"s","sessionId":"t"}}`, strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBench(t, "{}", tableOptions{Rebuild: headers})
		b.overwrite(string(data))
		before, broken := parseObject(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
		_, _, err := b.lookup("new")
		b.must(err)
		b.touchIfThere("new")
		b.must(b.bind("new", "s"))
		b.must(b.change(func(doc *document) { doc.remove("agent:main:zoe") }))
		b.points("new", "s")
		after, err := parseObject([]byte(b.file()))
		if err != nil {
			t.Fatalf("the written file cannot be read: %v\n%s", err, b.file())
		}
		if broken != nil {
			if aside := b.names()[len(b.names())-1]; aside == tableName || b.fileNamed(aside) != string(data) {
				t.Fatalf("the damaged file is not kept: %q", b.names())
			}
			return
		}
		before.remove("new", "agent:main:zoe")
		after.remove("new")
		if !before.equal(after) {
			t.Fatalf("unrelated rows have changed:\n%q\n%q", data, b.file())
		}
		b.same("the directory", b.names(), []string{tableName})
	})
}

// touchIfThere touches a key that may be unbound.
func (b *bench) touchIfThere(key string) {
	b.t.Helper()
	if err := b.touch(key, count("totalTokens")); !errors.Is(err, firn.ErrNotFound) {
		b.must(err)
	}
}
