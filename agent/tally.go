package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/syncmark"
	"firn.dev/internal/find/election"
	"firn.dev/store"
)

// tally counts the entries of a session in file order. It retains no entries, so its size
// does not depend on the session's.
type tally struct {
	session firn.ID
	countersRecord
	ends branches
	// fresh means that there is a checkpoint near the end.
	fresh bool
	// end is the position after the last record that was counted forwards.
	end firn.Pos
	// entries is the number of entries so far. It is valid if numbered is set: all entries
	// were seen, or a counters record had the number.
	entries  int
	numbered bool
	// election is set if the session is counted without regard to earlier counts, because
	// entries from other machines were added to it.
	election *election.Election
}

// add counts the next entry. An entry that cannot or need not be decoded has no body.
func (t *tally) add(g firn.Glance, e firn.Entry) {
	if t.election != nil {
		t.election.Add(e)
		t.Counters.Add(e)
	} else if sum, ok := readCounters(e); ok { // the record covers all entries before it
		if !sum.Names.Complete {
			sum.Names = t.Names
		}
		t.countersRecord, t.ends = sum, branches{left: sum.Left}
		if !t.numbered && sum.Entries > 0 {
			t.entries, t.numbered = sum.Entries, true
		}
	} else {
		t.Counters.Add(e)
		t.Names.See(t.session, e)
	}
	if t.ends.last != "" && syncmark.Has(&e) {
		g.Kind = firn.KindHead // like a head entry, it does not end a branch
	}
	t.ends.add(g)
	t.Left = t.ends.left
	if g.Kind != firn.KindHeader && g.ID != "" {
		t.entries++
	}
}

// record returns the counts in the form that is stored.
func (t *tally) record() countersRecord {
	record := t.countersRecord
	if record.Entries = 0; t.numbered {
		record.Entries = t.entries
	}
	record.Names = record.Names.Seal()
	return record
}

// readCounters returns the counts in an entry, if it is a counters record.
func readCounters(e firn.Entry) (countersRecord, bool) {
	b, ok := e.Body.(*firn.Custom)
	if !ok || b.Type != countersType {
		return countersRecord{}, false
	}
	var c struct {
		countersRecord
		Names json.RawMessage `json:"names"`
	}
	if _, believed := store.CountsOf(b); !believed || json.Unmarshal(b.Data, &c) != nil || !store.ValidCounts(int64(c.Entries)) {
		return countersRecord{}, false
	}
	c.countersRecord.Names, _ = store.CheckpointOf(b)
	return c.countersRecord, true
}

// countedFields are the fields of a record that affect the counts.
type countedFields struct {
	glance firn.Glance
	entry  firn.Entry
}

// readCounted returns the fields of a record that affect the counts: of a message the role,
// time and usage, but not the text.
func readCounted(rec firn.Record) countedFields {
	g := countedFields{glance: rec.Glance}
	if !affectsCounts(rec.Glance.Kind) {
		return g
	}
	entry, err := rec.Entry()
	if err != nil {
		return g // an undecodable entry is not counted
	}
	switch b := entry.Body.(type) {
	case *firn.Message:
		entry.Body = &firn.Message{Role: b.Role, Usage: b.Usage, Parts: promptOf(b)}
	case *firn.CustomMessage:
		entry.Body = &firn.CustomMessage{Type: b.Type}
	}
	g.entry = entry
	return g
}

// promptOf returns a placeholder part if m is a user message with text, and nil otherwise.
func promptOf(m *firn.Message) []firn.Part {
	if m.Role != firn.RoleUser || m.Text() == "" {
		return nil
	}
	return []firn.Part{firn.Text{Text: "…"}}
}

// affectsCounts reports whether entries of that kind can affect the counts or a checkpoint.
func affectsCounts(kind firn.Kind) bool {
	return kind == firn.KindHeader || kind == firn.KindTitle || kind == firn.KindTombstone || kind == firn.KindMessage || kind == firn.KindCustomMessage || kind == firn.KindCompaction || kind == firn.KindBranchSummary || kind == firn.KindCustom
}

// count counts the entries before a position. It reads back to the counts of the latest
// turn or, if those are far away, counts everything.
func count(ctx context.Context, st store.Store, id firn.ID, before firn.Pos) (tally, error) {
	t, ok, err := countBack(ctx, st, id, before, 10*quickCount)
	if err != nil || ok {
		return t, err
	}
	t = tally{session: id, numbered: true}
	return t, t.advance(ctx, st, id, before)
}

// countBack counts the entries before a position by reading back to the latest counts with
// a checkpoint. It returns false if they are more than limit records of typical size away.
func countBack(ctx context.Context, st store.Store, id firn.ID, before firn.Pos, limit int) (t tally, ok bool, err error) {
	t.session = id
	var newer []countedFields
	size, near := 0, false
	t.numbered = true // unless a counters record is found
	for rec, err := range st.ReadBack(ctx, id, before) {
		if err != nil {
			return t, false, fmt.Errorf("count the usage of session %s: %w", id, err)
		}
		if size += len(rec.Line()); len(newer) == limit || size > limit*commonSize {
			return t, false, nil
		}
		if rec.Gap != nil {
			continue
		}
		g := readCounted(rec)
		newer = append(newer, g)
		if sum, ok := readCounters(g.entry); ok && sum.Names.Complete {
			t.numbered, near = false, true
			break
		}
	}
	for i := len(newer) - 1; i >= 0; i-- {
		t.add(newer[i].glance, newer[i].entry)
	}
	t.fresh = near && size < checkpointBytes/2
	return t, true, nil
}

// advance counts the entries from the current end up to a position.
func (t *tally) advance(ctx context.Context, st store.Store, id firn.ID, before firn.Pos) error {
	for rec, err := range st.Read(ctx, id, t.end) {
		if err != nil {
			return fmt.Errorf("count the usage of session %s: %w", id, err)
		}
		if rec.At >= before || rec.Gap != nil && rec.Gap.Unfinished() {
			return nil
		}
		t.end = rec.Next
		if rec.Gap == nil {
			g := readCounted(rec)
			t.add(g.glance, g.entry)
		}
	}
	return nil
}

// countAll counts a session from its start and stores the counts. Entries appended
// meanwhile are counted too, so writers are not slowed down.
func (a *Agent) countAll(ctx context.Context, id firn.ID) {
	defer a.counting.Delete(id)
	t := tally{session: id, numbered: true}
	for {
		before := t.end
		if t.advance(ctx, a.Store, id, store.End) != nil || t.end == before {
			return
		}
		if _, err := storeCounters(ctx, a.Store, id, t.end, t.record()); !errors.Is(err, firn.ErrConflict) {
			return
		}
	}
}

// quickCount is the maximum number of records read for counting before a turn is reported
// as finished. If that is not enough, counting continues in the background.
const quickCount = 2000

// commonSize is the typical size of a record in bytes.
const commonSize = 2000

// storeCounts stores the usage of the session and starts the naming. Errors are ignored,
// because the counts can be computed again.
func (t *turn) storeCounts() {
	ctx, cancel := cleanupContext(t.ctx)
	defer cancel()
	a, id, end := t.a, t.log.id, t.log.end
	if _, busy := a.counting.Load(id); !busy {
		c, ok, err := countBack(ctx, a.Store, id, end, quickCount)
		if err == nil && ok && c.numbered {
			_, _ = storeCounters(ctx, a.Store, id, end, c.record())
		} else if err == nil {
			if _, busy := a.counting.LoadOrStore(id, nil); !busy && !a.background.start(func(ctx context.Context) { a.countAll(ctx, id) }) {
				a.counting.Delete(id)
			}
		}
	}
	t.startNaming()
}

// storeCounters appends a counters record at end. It fails with a conflict if another
// writer has appended, because the counts would then be incomplete.
func storeCounters(ctx context.Context, st store.Store, id firn.ID, end firn.Pos, c countersRecord) (firn.Pos, error) {
	add := st.Append
	if deferred, ok := store.As[store.Deferred](st); ok {
		add = deferred.AppendDeferred
	}
	return add(ctx, id, end, customEntry(countersType, c))
}

// The distances between checkpoints. A checkpoint outside of a turn costs a line; entries
// after the latest one are read whenever the changed session is listed.
const (
	// checkpointBytes is the distance in bytes for entries that are appended without turns.
	checkpointBytes = 64 << 10
	// checkpointRecords is the distance for stores whose positions are not bytes.
	checkpointRecords = 256
)

// Checkpoint stores the counts of a session with a checkpoint (see [store.Checkpoint]) if
// the entries appended up to end crossed a checkpoint boundary. It returns the end of the
// session. It stores nothing for a long session that was never counted.
func Checkpoint(ctx context.Context, st store.Store, id firn.ID, end firn.Pos, entries []firn.Entry) (firn.Pos, error) {
	if !crosses(ctx, st, id, end, entries) {
		return end, nil
	}
	return checkpoint(ctx, st, id, end, false)
}

// CheckpointAll is Checkpoint for a session that was written in one go. If necessary it
// counts from the start.
func CheckpointAll(ctx context.Context, st store.Store, id firn.ID, end firn.Pos) error {
	_, err := checkpoint(ctx, st, id, end, true)
	return err
}

func checkpoint(ctx context.Context, st store.Store, id firn.ID, end firn.Pos, all bool) (firn.Pos, error) {
	t, ok, err := countBack(ctx, st, id, end, quickCount)
	if err == nil && !ok && all {
		t, err = count(ctx, st, id, end)
		ok = true
	}
	if err != nil || !ok || t.fresh && !all {
		return end, err
	}
	now, err := storeCounters(ctx, st, id, end, t.record())
	if errors.Is(err, firn.ErrConflict) || errors.Is(err, firn.ErrUnsupported) {
		return end, nil // the other writer will store a checkpoint
	}
	return now, err
}

// crosses reports whether entries that end at a position cross a checkpoint boundary. Their
// size is estimated; after a missed boundary there is another one.
func crosses(ctx context.Context, st store.Store, id firn.ID, end firn.Pos, entries []firn.Entry) bool {
	if placer, ok := store.As[store.Placer](st); ok {
		if _, offset := placer.Place(ctx, id, end); offset > 0 {
			return offset/checkpointBytes != max(offset-roughSize(entries), 0)/checkpointBytes
		}
	}
	records := uint64(end)
	return records/checkpointRecords != (records-min(records, uint64(len(entries))))/checkpointRecords
}

// roughSize returns the approximate size of entries in bytes.
func roughSize(entries []firn.Entry) int64 {
	const frame = 250
	size := int64(frame * len(entries))
	for i := range entries {
		switch b := entries[i].Body.(type) {
		case *firn.Message:
			size += int64(len(b.Text()))
		case *firn.Custom:
			size += int64(len(b.Data))
		case *firn.Opaque:
			size += int64(len(b.Raw))
		}
	}
	return size
}
