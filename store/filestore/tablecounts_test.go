package filestore_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

const touchTable = "/home/agents/main/sessions/sessions.json"

// updatedAt reads the time of a key's last use from the key table.
func updatedAt(t *testing.T, fsys *faultfs.FS, key string) time.Time {
	t.Helper()
	data, err := fsys.Get(touchTable)
	must(t, err)
	var rows map[string]struct {
		UpdatedAt int64 `json:"updatedAt"`
	}
	must(t, json.Unmarshal(data, &rows))
	return time.UnixMilli(rows[key].UpdatedAt)
}

// TestTableFollowsAppends checks that the key table records appends, after a delay or
// on Close, and only for the session of the key.
func TestTableFollowsAppends(t *testing.T) {
	const key, moved = "agent:main:main", "agent:main:moved"
	synctest.Test(t, func(t *testing.T) {
		fsys := faultfs.New()
		st := reviewOpen(t, "/home", filestore.Options{FS: fsys})
		say := func(id firn.ID) {
			_, err := st.Append(t.Context(), id, store.Any, firn.UserText("text"))
			must(t, err)
		}
		id, err := store.LoadOrCreate(t.Context(), st, key)
		must(t, err)
		old, err := store.LoadOrCreate(t.Context(), st, moved)
		must(t, err)
		must(t, st.Bind(t.Context(), moved, reviewBegin(t, st, 1)))
		time.Sleep(time.Minute)
		before := updatedAt(t, fsys, moved)

		written := time.Now()
		say(id)
		say(old)
		time.Sleep(time.Minute)
		if at := updatedAt(t, fsys, key); !at.Equal(written) {
			t.Errorf("a minute later the table says %v, want %v", at, written)
		}
		if at := updatedAt(t, fsys, moved); !at.Equal(before) {
			t.Errorf("the key that points elsewhere now was touched: %v, want %v", at, before)
		}

		written = time.Now()
		fsys.ClearLog()
		for range 3 {
			say(id)
			time.Sleep(touchPause)
		}
		if writes := fsys.Count(faultfs.Rename); writes != 0 {
			t.Errorf("the table was written %d times concurrently", writes)
		}
		must(t, st.Close())
		if at := updatedAt(t, fsys, key); !at.Equal(written) {
			t.Errorf("after closing the table says %v, want %v", at, written)
		}
		if writes := fsys.Count(faultfs.Rename); writes != 1 {
			t.Errorf("the table was written %d times, want once", writes)
		}
	})
}

// touchPause is short enough that several appends are combined.
const touchPause = 100 * time.Millisecond

// TestAppendMakesNoTable checks that an append creates no key table.
func TestAppendMakesNoTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := faultfs.New()
		st := reviewOpen(t, "/home", filestore.Options{FS: fsys})
		header := firn.Entry{Body: &firn.Header{Session: "s", Key: "agent:main:main"}}
		_, err := st.Append(t.Context(), "s", store.Any, header, firn.UserText("text"))
		must(t, err)
		time.Sleep(time.Minute)
		must(t, st.Close())
		if _, err := fsys.Get(touchTable); err == nil {
			t.Error("there is a table")
		}
	})
}

// TestTableHasCounts checks that the key table contains the counters of a key's session
// and keeps other fields.
func TestTableHasCounts(t *testing.T) {
	const key = "agent:main:main"
	synctest.Test(t, func(t *testing.T) {
		fsys := faultfs.New()
		st := reviewOpen(t, "/home", filestore.Options{FS: fsys})
		id, err := store.LoadOrCreate(t.Context(), st, key)
		must(t, err)
		count := func(kind, data string) {
			t.Helper()
			_, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(&firn.Custom{Type: kind, Data: json.RawMessage(data)}))
			must(t, err)
		}
		row := func() map[string]any {
			t.Helper()
			time.Sleep(time.Minute)
			data, err := fsys.Get(touchTable)
			must(t, err)
			var rows map[string]map[string]any
			must(t, json.Unmarshal(data, &rows))
			return rows[key]
		}
		want := func(name string, value any) {
			t.Helper()
			if got := row()[name]; got != value {
				t.Errorf("%s is %v, want %v", name, got, value)
			}
		}
		count(firn.CountersType, `{"input":700,"output":30,"cacheRead":5,"cacheWrite":0,"window":620,"compactions":0}`)
		flushed := time.Now()
		count("firn.memory-flush", `{"compactions":0,"notes":1}`)
		count(firn.CountersType, `{"input":900,"output":40,"cacheRead":5,"cacheWrite":0,"window":810,"compactions":0}`)
		count("firn.counters", `"nonsense"`)
		want("inputTokens", 900.0)
		want("outputTokens", 40.0)
		want("totalTokens", 810.0)
		want("compactionCount", 0.0)
		want("memoryFlushAt", float64(flushed.UnixMilli()))
		count(firn.CountersType, `{"input":1900,"output":60,"window":0,"compactions":1}`)
		want("compactionCount", 1.0)
		want("totalTokens", nil)
		must(t, st.Bind(t.Context(), key, reviewBegin(t, st, 1)))
		want("inputTokens", nil)
		want("compactionCount", nil)
		must(t, st.Close())
	})
}
