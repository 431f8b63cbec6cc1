package sessionsync

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// Marks is the state of a session that its entries do not record: archived, in the trash bin,
// purged. Marks of several machines merge in any order to the same result: the newest of
// Archived, Removed and Reason wins by (At, By), a purge is never undone, and the erased
// entries and receipts of all machines are kept.
type Marks struct {
	Session firn.ID `json:"id"`
	// At is when the marks were last changed by a user, in milliseconds since 1970, By the
	// machine.
	At       int64  `json:"at,omitempty"`
	By       string `json:"by,omitempty"`
	Archived bool   `json:"archived,omitempty"`
	Removed  bool   `json:"removed,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Purged is set if the session was purged, Erased lists single purged entries.
	Purged   bool           `json:"purged,omitempty"`
	Erased   []firn.EntryID `json:"erased,omitempty"`
	Receipts []Receipt      `json:"receipts,omitempty"`
}

// Receipt records that a machine erased a session or some of its entries.
type Receipt struct {
	Machine string         `json:"machine"`
	Name    string         `json:"name"`
	At      time.Time      `json:"at"`
	Entries []firn.EntryID `json:"entries,omitempty"`
	Bytes   int64          `json:"bytes,omitempty"`
}

// mergeMarks returns the marks of two machines merged.
func mergeMarks(a, b Marks) Marks {
	out, other := a, b
	if cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.By, a.By)) > 0 {
		out, other = b, a
	}
	out.Session = cmp.Or(a.Session, b.Session) // a home without marks has the zero value
	out.Purged = a.Purged || b.Purged
	out.Erased = union(out.Erased, other.Erased)
	out.Receipts = slices.Clone(out.Receipts)
	for _, receipt := range other.Receipts {
		if !slices.ContainsFunc(out.Receipts, receipt.same) {
			out.Receipts = append(out.Receipts, receipt)
		}
	}
	slices.SortFunc(out.Receipts, func(x, y Receipt) int {
		return cmp.Or(cmp.Compare(x.Machine, y.Machine), x.At.Compare(y.At), slices.Compare(x.Entries, y.Entries))
	})
	return out
}

func (r Receipt) same(other Receipt) bool {
	return r.Machine == other.Machine && r.At.Equal(other.At) && slices.Equal(r.Entries, other.Entries)
}

func union(a, b []firn.EntryID) []firn.EntryID {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// hash identifies the content of marks.
func (m Marks) hash() string {
	data, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// markTable holds the marks of all sessions.
type markTable struct {
	fs   vfs.FS
	path string
	// dirty is set if there are marks that were not saved.
	dirty bool
	// Applied are the marks that the sessions of this home have, Incoming those of other
	// machines that were not applied yet.
	Applied  map[firn.ID]Marks `json:"applied"`
	Incoming map[firn.ID]Marks `json:"incoming,omitempty"`
}

// readMarks reads the marks of a home.
func readMarks(fsys vfs.FS, dir string) (*markTable, error) {
	t := &markTable{fs: fsys, path: filepath.Join(dir, "marks.json")}
	if _, err := readJSON(fsys, t.path, t); err != nil {
		return nil, err
	}
	if t.Applied == nil {
		t.Applied = make(map[firn.ID]Marks)
	}
	if t.Incoming == nil {
		t.Incoming = make(map[firn.ID]Marks)
	}
	return t, nil
}

func (t *markTable) save() error {
	t.dirty = false
	return writeJSON(t.fs, t.path, t)
}

// merge adds the marks of another machine, to be applied later.
func (t *markTable) merge(m Marks) {
	if old, ok := t.Incoming[m.Session]; ok {
		m = mergeMarks(old, m)
	}
	t.Incoming[m.Session], t.dirty = m, true
}

// observe records the changes that users of this machine made since the last sync.
func (r *run) observe() error {
	changed := false
	for id, h := range r.holdings {
		old := r.marks.Applied[id]
		m := r.observed(old, h)
		if m.hash() != old.hash() {
			r.marks.Applied[id], changed = m, true
			r.changes.observed[id] = markWords(old.Archived, old.Removed, m, 0)
		}
		if r.st.Sessions[id].Removed && !h.Removed && h.Receipt == nil {
			r.st.ReadAgain = true // entries that came while it was in the trash bin were skipped
		}
	}
	if !changed {
		return nil
	}
	return r.marks.save()
}

// observed returns the marks of a session with the changes of this machine.
func (r *run) observed(old Marks, h store.Holding) Marks {
	m := old
	switch {
	case h.Receipt != nil && !old.Purged:
		m.Purged = true
		m.Receipts = append(slices.Clip(m.Receipts), r.receipt(*h.Receipt))
	case h.Receipt != nil || h.Archived == old.Archived && h.Removed == old.Removed:
		return old
	default:
		m.Archived, m.Removed, m.Reason = h.Archived, h.Removed, h.Reason
	}
	m.Session, m.By, m.At = h.ID, r.Config.Machine, max(r.Now().UnixMilli(), old.At+1)
	return m
}

func (r *run) receipt(from store.Receipt) Receipt {
	return Receipt{Machine: r.Config.Machine, Name: r.Config.Name, At: from.Done.UTC().Truncate(time.Second), Entries: from.Entries, Bytes: from.Bytes}
}

// applyMarks applies the marks of other machines to the sessions of this home.
func (r *run) applyMarks(ctx context.Context) error {
	if len(r.marks.Incoming) == 0 {
		return nil
	}
	if err := r.hold(ctx); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(r.marks.Incoming)) {
		h, exists := r.holdings[id]
		if !exists {
			continue // it is not here (yet)
		}
		if err := r.applyMark(ctx, h, mergeMarks(r.marks.Applied[id], r.marks.Incoming[id])); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.problem("session %s: %v; its marks are applied by a later sync", id, err)
		}
	}
	return r.marks.save()
}

// applyMark makes a session archived, removed or purged as on other machines.
func (r *run) applyMark(ctx context.Context, h store.Holding, want Marks) error {
	var erase []firn.EntryID
	if len(want.Erased) > 0 && h.Receipt == nil && !want.Purged {
		c, err := readCopy(h.ID, r.Local.Lines(ctx, h.ID))
		if err != nil {
			return err
		}
		for _, id := range want.Erased {
			if i, ok := c.at[id]; ok && !c.items[i].erased {
				erase = append(erase, id)
			}
		}
	}
	differs := h.Receipt == nil && (want.Purged || h.Archived != want.Archived || h.Removed != want.Removed)
	if differs || len(erase) > 0 {
		receipt, err := r.Local.Mark(ctx, h, want, erase)
		if err != nil && !errors.Is(err, firn.ErrNotFound) {
			return fmt.Errorf("apply marks: %w", err)
		}
		if receipt != nil {
			// A purge also erases copies of the entries; they are in the same receipt.
			want = mergeMarks(want, Marks{Session: h.ID, Erased: receipt.Entries, Receipts: []Receipt{r.receipt(*receipt)}})
		}
		r.report.Marked++
		r.changes.add(h.ID, false, markWords(h.Archived, h.Removed, want, len(erase))...)
		r.cached = nil
	}
	r.marks.Applied[h.ID] = want
	if len(want.Erased) == 0 { // erased entries may still arrive from a machine that has them
		delete(r.marks.Incoming, h.ID)
	}
	return nil
}
