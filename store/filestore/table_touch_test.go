package filestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
)

// field returns the value of a field as visible, and as stored in the file.
func (b *bench) field(key, name string) (seen, saved string) {
	b.t.Helper()
	r, _, err := b.row(key)
	b.must(err)
	doc, err := parseObject([]byte(b.file()))
	b.must(err)
	if file, ok := parseRow(doc.get(key)); ok {
		saved = string(file.get(name))
	}
	if r.fields != nil {
		seen = string(r.get(name))
	}
	return seen, saved
}

func (b *bench) fieldIs(key, name, seen, saved string) {
	b.t.Helper()
	nowSeen, nowSaved := b.field(key, name)
	if nowSeen != seen || nowSaved != saved {
		b.t.Errorf("%s of %s is seen as %q and saved as %q, want %q and %q", name, key, nowSeen, nowSaved, seen, saved)
	}
}

// touch patches the row of a key; a nil patch only records its use.
func (t *table) touch(key string, patch func(r *row)) error {
	if patch == nil {
		patch = func(r *row) { r.setUpdated(t.opts.Now()) }
	}
	return t.view(func(doc *document) error {
		file, ok := doc.row(key)
		if !ok {
			return firn.ErrNotFound
		}
		return t.patch(doc, key, &file, patch)
	})
}

func count(name string) func(r *row) {
	return func(r *row) {
		n, _ := millis(r.get(name))
		r.setInt(name, n+1)
	}
}

func TestTableTouchIsDebounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sample(t), tableOptions{Now: time.Now})
		fsys := b.fs.(*faultfs.FS)
		fsys.ClearLog()
		for range 9 { // over 0.9 s
			b.must(b.touch(mainKey, count("compactionCount")))
			b.must(b.touch(topicKey, count("compactionCount")))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		b.fieldIs(mainKey, "compactionCount", "10", "1")
		b.fieldIs(topicKey, "compactionCount", "9", "")
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		b.fieldIs(mainKey, "compactionCount", "10", "10")
		b.fieldIs(topicKey, "compactionCount", "9", "9")
		if n := fsys.Count(faultfs.Rename); n != 1 {
			t.Errorf("%d writes", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := fsys.Count(faultfs.Rename); n != 1 {
			t.Errorf("%d writes though nothing happened", n)
		}
	})
}

func TestTableTouchIsFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sample(t), tableOptions{})
		b.must(b.touch(mainKey, nil))
		b.fieldIs(mainKey, "updatedAt", "1769947200000", "1769240000000")
		b.must(b.bind("k", "s")) // includes it
		b.fieldIs(mainKey, "updatedAt", "1769947200000", "1769947200000")
		b.must(b.touch(mainKey, count("compactionCount")))
		b.must(b.close())
		if !strings.Contains(b.file(), `"compactionCount": 2`) {
			t.Error("Close did not write the pending touches")
		}
	})
}

// TestTableTouchNothing checks that a touch without a change writes nothing.
func TestTableTouchNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sample(t), tableOptions{})
		fsys := b.fs.(*faultfs.FS)
		fsys.ClearLog()
		b.must(b.touch(mainKey, func(r *row) {
			r.set("deliveryContext", json.RawMessage(`{"channel":"telegram","to":"telegram:123","accountId":"default"}`))
			r.setUpdated(time.UnixMilli(1))
		}))
		time.Sleep(time.Minute)
		b.must(b.close())
		if did := fsys.Log(faultfs.Changing); did != nil {
			t.Errorf("did %q", did)
		}
	})
}

func TestTableTouchAndManualEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sample(t), tableOptions{})
		b.must(b.touch(mainKey, func(r *row) {
			r.setInt("totalTokens", 1)
			r.setInt("inputTokens", 2)
			r.remove("outputTokens")
			r.setInt("fresh", 3)
			r.setUpdated(noon)
		}))
		b.must(b.touch(topicKey, count("n")))
		b.put(strings.NewReplacer(`"totalTokens": 41500`, `"totalTokens": 5`, `"updatedAt": 1769240000000`, `"updatedAt": 1769240000005`,
			`"low"`, `"high", "fresh": 4`, topicKey, "agent:main:renamed").Replace(sample(t)))
		check := func(saved func(string) string) {
			t.Helper()
			b.fieldIs(mainKey, "totalTokens", "5", "5")                                                        // the edit wins
			b.fieldIs(mainKey, "fresh", "4", "4")                                                              //
			b.fieldIs(mainKey, "thinkingLevel", `"high"`, `"high"`)                                            //
			b.fieldIs(mainKey, "inputTokens", "2", saved("2"))                                                 // no other writer
			b.fieldIs(mainKey, "outputTokens", "", map[bool]string{true: "", false: "300"}[saved("2") == "2"]) //
			b.fieldIs(mainKey, "updatedAt", "1769947200000", map[bool]string{true: "1769947200000", false: "1769240000005"}[saved("2") == "2"])
			b.points(topicKey, "") // a removed key stays removed
		}
		check(func(string) string { return "1200" })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		check(func(s string) string { return s })
		b.must(b.touch(mainKey, count("totalTokens")))
		b.must(b.close())
		if !strings.Contains(b.file(), `"totalTokens": 6`) {
			t.Errorf("counting does not continue from the edited value:\n%s", b.file())
		}
	})
}

// TestTableTouchAndBind checks that a counter of a session is not written to the row after
// the key was bound to another session.
func TestTableTouchAndBind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sample(t), tableOptions{})
		b.must(b.touch(mainKey, count("totalTokens")))
		b.must(b.touch(topicKey, count("totalTokens")))
		b.must(b.bind(mainKey, "s2"))
		b.must(b.bind("third", "s3"))
		b.must(b.touch("third", count("totalTokens")))
		other := openTable(b.fs, b.dir, tableOptions{})
		b.must(other.bind(topicKey, "s3"))
		b.must(other.bind("third", "s4"))
		b.must(other.close())
		b.must(b.touch(topicKey, count("mine")))
		b.must(b.close())
		b.open(tableOptions{})
		b.fieldIs(mainKey, "totalTokens", "", "")
		b.fieldIs(topicKey, "totalTokens", "", "")
		b.fieldIs("third", "totalTokens", "", "")
		b.fieldIs(topicKey, "mine", "1", "1")
		b.points(mainKey, "s2")
		b.points(topicKey, "s3")
	})
}

// TestTableTouchDuringWrite checks that a touch during a write is not mistaken for an edit
// by others.
func TestTableTouchDuringWrite(t *testing.T) {
	for _, when := range []faultfs.Kind{faultfs.Create, faultfs.Rename, faultfs.SyncDir} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, sample(t), tableOptions{})
			b.must(b.touch(mainKey, count("compactionCount")))
			var once sync.Once
			b.fs.(*faultfs.FS).Hook(func(kind faultfs.Kind, line string) {
				if kind == when && !strings.Contains(line, "lock") {
					once.Do(func() { b.fine(b.touch(mainKey, count("compactionCount"))) })
				}
			})
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			b.fieldIs(mainKey, "compactionCount", "3", "2")
			time.Sleep(time.Second)
			synctest.Wait()
			b.fieldIs(mainKey, "compactionCount", "3", "3")
		})
	}
}

func TestTableTouchIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sample(t), tableOptions{})
		fsys := b.fs.(*faultfs.FS)
		for n := range 3 {
			fsys.FailNth(n+1, faultfs.Fault{Of: faultfs.Rename})
		}
		b.must(b.touch(mainKey, count("compactionCount")))
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		b.fieldIs(mainKey, "compactionCount", "2", "1")
		if len(b.reports) != 1 || !strings.Contains(b.reports[0], "not saved") {
			t.Errorf("reports: %q", b.reports)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		b.fieldIs(mainKey, "compactionCount", "2", "2")
		b.same("the directory", b.names(), []string{tableName})
	})
}

// TestTableTouchAfterFailures checks that touches after a failed write count, whether or
// not the write took effect.
func TestTableTouchAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, sample(t), tableOptions{})
		fsys := b.fs.(*faultfs.FS)
		for i, kind := range []faultfs.Kind{faultfs.SyncDir, faultfs.Rename, faultfs.SyncDir, faultfs.Rename} {
			fsys.FailNth(1, faultfs.Fault{Of: kind})
			b.must(b.touch(mainKey, count("compactionCount")))
			time.Sleep(time.Second)
			synctest.Wait()
			b.fieldIs(mainKey, "compactionCount", fmt.Sprint(2+i), []string{"2", "2", "4", "4"}[i])
		}
		b.must(b.touch(mainKey, count("compactionCount")))
		b.must(b.close())
		b.open(tableOptions{})
		b.fieldIs(mainKey, "compactionCount", "6", "6")
	})
}

func TestTableCloseReportsUnsavedTouches(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{})
	b.must(b.touch(mainKey, nil))
	b.fs.(*faultfs.FS).FailNth(1, faultfs.Fault{Of: faultfs.Write})
	if err := b.close(); !errors.Is(err, firn.ErrNotSaved) {
		t.Errorf("close: %v", err)
	}
}

func TestTableTouchRefuses(t *testing.T) {
	fat := strings.Replace(sample(t), `"displayName"`, `"fat": "`+strings.Repeat("x", maxRow)+`", "displayName"`, 1)
	b := newBench(t, fat, tableOptions{})
	text := func(n int) func(r *row) { return func(r *row) { r.setText("report", strings.Repeat("x", n)) } }
	deep := json.RawMessage(strings.Repeat("[", 511) + strings.Repeat("]", 511))
	for _, c := range []struct {
		name, key string
		patch     func(r *row)
		want      error
	}{
		{"nobody", "agent:main:nobody", nil, firn.ErrNotFound},
		{"large", mainKey, text(maxRow), firn.ErrTooLarge},
		{"not so large", mainKey, text(maxRow / 2), nil},
		{"a large row of another program", topicKey, count("totalTokens"), nil},
		{"making it fatter", topicKey, text(1000), firn.ErrTooLarge},
		{"another session", mainKey, func(r *row) { r.setText(fieldSession, "s") }, firn.ErrInvalid},
		{"no session", mainKey, func(r *row) { r.remove(fieldSession) }, firn.ErrInvalid},
		{"no JSON", mainKey, func(r *row) { r.set("x", json.RawMessage(`{"a":`)) }, firn.ErrInvalid},
		{"nested too deep", mainKey, func(r *row) { r.set("x", deep) }, firn.ErrTooLarge},
	} {
		if err := b.touch(c.key, c.patch); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	b.must(b.bind(topicKey, "s2")) // even a large row can be bound
	b.must(b.close())
	b.open(tableOptions{})
	b.points(mainKey, mainID)
	b.points(topicKey, "s2")
}

func TestTableConcurrentTouches(t *testing.T) {
	b := newBench(t, sample(t), tableOptions{Debounce: time.Millisecond})
	var wg sync.WaitGroup
	const people, rounds = 8, 100
	for p := range people {
		wg.Go(func() {
			for range rounds {
				b.fine(b.touch(mainKey, count("all")))
				b.fine(b.touch(mainKey, count(fmt.Sprintf("own%d", p))))
			}
		})
	}
	wg.Wait()
	b.must(b.close())
	b.open(tableOptions{})
	b.fieldIs(mainKey, "all", "800", "800")
	for p := range people {
		b.fieldIs(mainKey, fmt.Sprintf("own%d", p), "100", "100")
	}
}
