package memory

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"firn.dev"
)

// erasedFile records the IDs of erased sessions and entries, so that an extraction that
// read them before does not store them afterwards.
const erasedFile = ".erased.json"

// tombstones are the erased sessions and entries.
type tombstones struct {
	Sessions map[firn.ID]tombstone `json:"sessions"`
}

// tombstone is an erased session: some of its entries or, without any, all of it.
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

// addTombstone records an erasure. The caller holds the lock.
func (d *Dir) addTombstone(session firn.ID, entries []firn.EntryID) error {
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

// contains reports whether a source was erased.
func (t tombstones) contains(s Source) bool {
	stone, ok := t.Sessions[s.Session]
	return ok && (len(stone.Entries) == 0 || slices.Contains(stone.Entries, s.Entry))
}

// remainingFacts returns the facts with sources that were not erased, with those sources
// only.
func (t tombstones) remainingFacts(facts []Fact) []Fact {
	var left []Fact
	for _, f := range facts {
		before := len(f.Sources)
		f.Sources = slices.DeleteFunc(slices.Clone(f.Sources), t.contains)
		if len(f.Sources) > 0 || before == 0 {
			left = append(left, f)
		}
	}
	return left
}
