package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/store"
)

// tally counts the entries of a session in the order of the file. It keeps none of
// them, so that it counts a session of any size.
type tally struct {
	session firn.ID
	countersRecord
	ends branches
	// fresh is set if a checkpoint is near the end.
	fresh bool
	// end is behind the last record that was counted forwards.
	end firn.Pos
	// entries is how many entries there were so far, if all of them were seen or
	// counters told: numbered.
	entries  int
	numbered bool
}

// take counts the next entry. What cannot be read of it, or need not, has no body.
func (t *tally) take(g firn.Glance, e firn.Entry) {
	if sum, ok := readCounters(e); ok { // it stands for all before it
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
	t.ends.see(g)
	t.Left = t.ends.left
	if g.Kind != firn.KindHeader && g.ID != "" {
		t.entries++
	}
}

// sealed returns the counts as an entry carries them.
func (t *tally) sealed() countersRecord {
	record := t.countersRecord
	if record.Entries = 0; t.numbered {
		record.Entries = t.entries
	}
	record.Names = record.Names.Seal()
	return record
}

// readCounters returns the counts that an entry carries, if it is one that does.
func readCounters(e firn.Entry) (countersRecord, bool) {
	b, ok := e.Body.(*firn.Custom)
	if !ok || b.Type != countersType {
		return countersRecord{}, false
	}
	var c struct {
		countersRecord
		Names json.RawMessage `json:"names"`
	}
	if _, believed := store.CountsOf(b); !believed || json.Unmarshal(b.Data, &c) != nil || !store.Plausible(int64(c.Entries)) {
		return countersRecord{}, false
	}
	c.countersRecord.Names, _ = store.CheckpointOf(b)
	return c.countersRecord, true
}

// glimpse is what is counted of a record.
type glimpse struct {
	glance firn.Glance
	entry  firn.Entry
}

// counted returns what of a record is counted: of messages only who spoke, when, and what
// it cost, not what was said.
func counted(rec firn.Record) glimpse {
	g := glimpse{glance: rec.Glance}
	if !counts(rec.Glance.Kind) {
		return g
	}
	entry, err := rec.Entry()
	if err != nil {
		return g // a gap in what is known
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

// promptOf returns parts that say whether the user has said something in words.
func promptOf(m *firn.Message) []firn.Part {
	if m.Role != firn.RoleUser || m.Text() == "" {
		return nil
	}
	return []firn.Part{firn.Text{Text: "…"}}
}

// counts reports whether entries of that kind can say something about usage, or
// change a checkpoint.
func counts(kind firn.Kind) bool {
	return kind == firn.KindHeader || kind == firn.KindTitle || kind == firn.KindTombstone || kind == firn.KindMessage || kind == firn.KindCustomMessage || kind == firn.KindCompaction || kind == firn.KindBranchSummary || kind == firn.KindCustom
}

// count counts what stands before a position: backwards to the counts of the latest
// turn or, if those are far away, all of it.
func count(ctx context.Context, st store.Store, id firn.ID, before firn.Pos) (tally, error) {
	t, ok, err := countBack(ctx, st, id, before, 10*quickCount)
	if err != nil || ok {
		return t, err
	}
	t = tally{session: id, numbered: true}
	return t, t.on(ctx, st, id, before)
}

// countBack counts what stands before a position by reading back to the latest counts
// that carry a checkpoint. It is false if they are more than so many records of common size away.
func countBack(ctx context.Context, st store.Store, id firn.ID, before firn.Pos, limit int) (t tally, ok bool, err error) {
	t.session = id
	var newer []glimpse
	size, near := 0, false
	t.numbered = true // unless others counted before
	for rec, err := range st.ReadBack(ctx, id, before) {
		if err != nil {
			return t, false, fmt.Errorf("count what session %s used: %w", id, err)
		}
		if size += len(rec.Line()); len(newer) == limit || size > limit*commonSize {
			return t, false, nil
		}
		if rec.Gap != nil {
			continue
		}
		g := counted(rec)
		newer = append(newer, g)
		if sum, ok := readCounters(g.entry); ok && sum.Names.Complete {
			t.numbered, near = false, true
			break
		}
	}
	for i := len(newer) - 1; i >= 0; i-- {
		t.take(newer[i].glance, newer[i].entry)
	}
	t.fresh = near && size < checkpointBytes/2
	return t, true, nil
}

// on counts what stands behind what was counted, up to a position.
func (t *tally) on(ctx context.Context, st store.Store, id firn.ID, before firn.Pos) error {
	for rec, err := range st.Read(ctx, id, t.end) {
		if err != nil {
			return fmt.Errorf("count what session %s used: %w", id, err)
		}
		if rec.At >= before || rec.Gap != nil && rec.Gap.Unfinished() {
			return nil
		}
		t.end = rec.Next
		if rec.Gap == nil {
			g := counted(rec)
			t.take(g.glance, g.entry)
		}
	}
	return nil
}

// countAll counts a session from its beginning and stores what it counted. What is said
// meanwhile is counted too: those who talk do not have to be slower than it.
func (a *Agent) countAll(ctx context.Context, id firn.ID) {
	defer a.counting.Delete(id)
	t := tally{session: id, numbered: true}
	for {
		before := t.end
		if t.on(ctx, a.Store, id, store.End) != nil || t.end == before {
			return
		}
		if _, err := storeCounters(ctx, a.Store, id, t.end, t.sealed()); !errors.Is(err, firn.ErrConflict) {
			return
		}
	}
}

// quickCount is how many records are read to count before a turn is reported
// as finished. If they do not do, counting goes on in the background.
const quickCount = 2000

// commonSize is about how many bytes a record has.
const commonSize = 2000

// settle writes down what the session used, and begins what is done after a
// turn. What was counted can be counted again, so failing to is no failure.
func (t *turn) settle() {
	ctx, cancel := afterwards(t.ctx)
	defer cancel()
	a, id, end := t.a, t.log.id, t.log.end
	if _, busy := a.counting.Load(id); !busy {
		c, ok, err := countBack(ctx, a.Store, id, end, quickCount)
		if err == nil && ok && c.numbered {
			_, _ = storeCounters(ctx, a.Store, id, end, c.sealed())
		} else if err == nil {
			if _, busy := a.counting.LoadOrStore(id, nil); !busy && !a.background.start(func(ctx context.Context) { a.countAll(ctx, id) }) {
				a.counting.Delete(id)
			}
		}
	}
	t.name()
}

// storeCounters stores counters behind what they count, unless somebody wrote
// there meanwhile: then they would not be those of all before them.
func storeCounters(ctx context.Context, st store.Store, id firn.ID, end firn.Pos, c countersRecord) (firn.Pos, error) {
	add := st.Append
	if deferred, ok := store.As[store.Deferred](st); ok {
		add = deferred.AppendDeferred
	}
	return add(ctx, id, end, custom(countersType, c))
}

// Checkpoint distances. A checkpoint that is stored without a turn costs a line; what
// is behind the latest one is read whenever the session is listed after a change.
const (
	// checkpointBytes is how far apart checkpoints are where entries are appended
	// without turns, in bytes.
	checkpointBytes = 64 << 10
	// checkpointRecords is the same where positions are no bytes.
	checkpointRecords = 256
)

// Checkpoint stores the counts of a session with a checkpoint, see [store.Checkpoint],
// if the entries that were appended up to a position crossed one of the places where a
// checkpoint is due. It returns the end of the session. If the session was never counted
// and is long, nothing is stored.
func Checkpoint(ctx context.Context, st store.Store, id firn.ID, end firn.Pos, entries []firn.Entry) (firn.Pos, error) {
	if !crosses(ctx, st, id, end, entries) {
		return end, nil
	}
	return checkpoint(ctx, st, id, end, false)
}

// CheckpointAll is Checkpoint for a session that was written as a whole: it is counted
// from its beginning if need be.
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
	now, err := storeCounters(ctx, st, id, end, t.sealed())
	if errors.Is(err, firn.ErrConflict) || errors.Is(err, firn.ErrUnsupported) {
		return end, nil // who wrote behind it will store one
	}
	return now, err
}

// crosses reports whether entries that end at a position lie across a place where a
// checkpoint is due. Their size is estimated: a place that is missed is followed by
// another one.
func crosses(ctx context.Context, st store.Store, id firn.ID, end firn.Pos, entries []firn.Entry) bool {
	if placer, ok := store.As[store.Placer](st); ok {
		if _, offset := placer.Place(ctx, id, end); offset > 0 {
			return offset/checkpointBytes != max(offset-roughSize(entries), 0)/checkpointBytes
		}
	}
	records := uint64(end)
	return records/checkpointRecords != (records-min(records, uint64(len(entries))))/checkpointRecords
}

// roughSize is about how many bytes entries take.
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
