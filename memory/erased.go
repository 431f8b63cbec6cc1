package memory

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"firn.dev"
)

// erasedFile remembers what was erased, by its ids alone: who read it before and
// is still thinking about it must not note it afterwards.
const erasedFile = ".erased.json"

// tombstones are what was erased.
type tombstones struct {
	Sessions map[firn.ID]tombstone `json:"sessions"`
}

// tombstone is what was erased of a session: some entries, or without any all of
// it.
type tombstone struct {
	Entries []firn.EntryID `json:"entries,omitempty"`
	Time    time.Time      `json:"time"`
}

func (d *Dir) tombstones() (tombstones, error) {
	var t tombstones
	c, err := d.readState(erasedFile)
	if err != nil {
		return t, err
	}
	if json.Unmarshal([]byte(c.text), &t) != nil || t.Sessions == nil {
		t.Sessions = make(map[firn.ID]tombstone)
	}
	return t, nil
}

// bury remembers what is erased. The caller has the lock.
func (d *Dir) bury(session firn.ID, entries []firn.EntryID) error {
	t, err := d.tombstones()
	if err != nil {
		return err
	}
	old, there := t.Sessions[session]
	fresh := tombstone{Entries: slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.Entries, entries)))), Time: d.clock().UTC().Truncate(time.Second)}
	if len(entries) == 0 || there && len(old.Entries) == 0 {
		fresh.Entries = nil
	}
	if there && slices.Equal(fresh.Entries, old.Entries) {
		return nil
	}
	t.Sessions[session] = fresh
	if len(t.Sessions) > keptProgress {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(t.Sessions)), func(a, b firn.ID) int {
			return cmp.Or(t.Sessions[a].Time.Compare(t.Sessions[b].Time), cmp.Compare(a, b))
		})
		delete(t.Sessions, oldest)
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return d.writeContent(memoryDir+"/"+erasedFile, content{string(data) + "\n", true})
}

// buried reports whether a source was erased.
func (t tombstones) buried(s Source) bool {
	stone, ok := t.Sessions[s.Session]
	return ok && (len(stone.Entries) == 0 || slices.Contains(stone.Entries, s.Entry))
}

// living are the facts that rest on something that was not erased, on that
// alone.
func (t tombstones) living(facts []Fact) []Fact {
	var left []Fact
	for _, f := range facts {
		before := len(f.Sources)
		f.Sources = slices.DeleteFunc(slices.Clone(f.Sources), t.buried)
		if len(f.Sources) > 0 || before == 0 {
			left = append(left, f)
		}
	}
	return left
}
