package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
)

// The kinds of findings about an anchor.
const (
	// RolledBack is a session that lacks entries that the anchor recorded.
	RolledBack Kind = "anchor-rolled-back"
	// Replaced is a session whose lines and links were recreated.
	Replaced Kind = "anchor-replaced"
	// Incomparable is a session that could not be read completely.
	Incomparable Kind = "anchor-unread"
	// Missing is a session that does not exist any more.
	Missing Kind = "anchor-missing"
	// Purged is a session that was purged after the anchor.
	Purged Kind = "anchor-purged"
	// NotAnchored is a session that the anchor did not record.
	NotAnchored Kind = "anchor-none"
)

// Head is the end of a session's hash chain.
type Head struct {
	Session firn.ID
	State   hashchain.State
	// Entry is the last entry.
	Entry firn.EntryID
}

// Heads returns the ends of all sessions of a target, sorted, and the sessions that have
// none, because a line of them is too long or they cannot be read. It reads only the last
// line of a session that ends with a link.
func Heads(ctx context.Context, target Target) (heads []Head, without []firn.ID, err error) {
	for _, t := range target.transcripts {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		source := journal.Source{FS: target.fs, Path: t.base, MaxLine: target.MaxLine}
		head, ok := lastLink(source)
		if !ok {
			head, ok, err = readHead(ctx, source, t.session)
			if err != nil {
				return nil, nil, err
			}
		}
		if head.Session = t.session; ok {
			heads = append(heads, head)
		} else {
			without = append(without, t.session)
		}
	}
	slices.SortFunc(heads, func(a, b Head) int { return cmp.Compare(a.Session, b.Session) })
	slices.Sort(without)
	return slices.CompactFunc(heads, func(a, b Head) bool { return a.Session == b.Session }), without, nil
}

// lastLink returns the end of a session whose last line has a link.
func lastLink(source journal.Source) (Head, bool) {
	for line, err := range source.Back(store.End) {
		if err != nil || line.Gap != "" || line.Unfinished {
			return Head{}, false
		}
		if hashchain.Blank(line.Data) {
			continue
		}
		state, ok := hashchain.LinkOf(line.Data)
		glance, err := native.New().Glance(line.Data)
		return Head{State: state, Entry: glance.ID}, ok && err == nil
	}
	return Head{}, false
}

// readHead reads a whole session and returns its end, and false if it cannot be read or is
// empty.
func readHead(ctx context.Context, source journal.Source, session firn.ID) (Head, bool, error) {
	c := hashchain.NewChecker(string(session))
	var head Head
	for line, err := range source.Lines(0) {
		if ctx.Err() != nil {
			return head, false, ctx.Err()
		}
		if err != nil || line.Gap != "" {
			return head, false, nil
		}
		if line.Unfinished && journal.CompleteEnd(line.Data) < len(line.Data) {
			break // it was never acknowledged
		}
		c.Add(line.Data)
		if glance, err := native.New().Glance(line.Data); err == nil && glance.ID != "" {
			head.Entry = glance.ID
		}
	}
	head.State = c.State()
	return head, c.Lines() > 0, nil
}

// anchoredState returns the state that the anchor recorded for the session.
func (e *exam) anchoredState() []hashchain.State {
	if head, ok := e.w.anchored[e.owner]; ok {
		return []hashchain.State{head.State}
	}
	return nil
}

// concludeAnchor adds a finding if the transcript is not what the anchor recorded.
func (e *exam) concludeAnchor() {
	if len(e.w.anchored) == 0 {
		return
	}
	if e.owner == "" {
		e.owner = e.session // it has no lines
	}
	head, ok := e.w.anchored[e.owner]
	if !ok {
		e.add(Finding{Severity: Info, Kind: NotAnchored, File: e.w.relative(e.base), Message: "the anchor did not record this session; if it is not newer, its name was changed"})
		return
	}
	e.w.compared[e.owner] = true
	e.w.report.Anchored++
	if e.binned {
		e.add(Finding{Severity: Info, Kind: Bin, File: e.w.relative(e.base), Message: "this session of the anchor is in the trash bin"})
	}
	if e.chain != nil && e.chain.Reached(head.State) {
		e.w.report.Proven++
		if n := e.chain.Erased; n > 0 {
			e.add(Finding{Severity: Warn, Kind: Erased, File: e.w.relative(e.base),
				Message: fmt.Sprintf("%s in it now; the anchor proves that something was there, not what", plural(n, "erased entry"))})
		}
		return
	}
	f := Finding{Severity: Fault, Kind: Replaced, File: e.w.relative(e.base), Entry: head.Entry,
		Message: "the transcript up to this entry is not the one that the anchor recorded: it was changed, and its hashes were recomputed",
		Hint:    "compare it with a backup from the time of the anchor"}
	if e.chain != nil && e.chain.First > 0 {
		f.Message = "the transcript up to this entry is not the one that the anchor recorded: its hashes do not fit either"
	}
	if e.skipped || e.failed || e.chain != nil && e.chain.Unproven > 0 {
		f.Kind, f.Message, f.Hint = Incomparable, "the transcript cannot be compared with the anchor, because a line of it could not be read, or was erased without leaving a hash", ""
	}
	if f.Kind == Replaced && head.Entry != "" && e.tree.Find(head.Entry) < 0 {
		f.Kind, f.Message = RolledBack, "the anchor recorded this entry, and the transcript does not contain it: an older copy is in its place, or its end was removed"
	}
	e.add(f)
}

// concludeMissing adds findings for sessions of the anchor that do not exist.
func (w *verifier) concludeMissing() error {
	if !w.target.Whole {
		return nil
	}
	for _, head := range w.anchoredOrder() {
		if w.compared[head.Session] {
			continue
		}
		w.report.Anchored++
		f := Finding{Severity: Fault, Kind: Missing, Session: head.Session,
			Message: fmt.Sprintf("session %s is in the anchor, but no longer exists", head.Session), Hint: "restore it from a backup"}
		purged, err := w.purged(head.Session)
		if err != nil {
			return fmt.Errorf("look for a receipt of session %s: %w", head.Session, err)
		}
		if purged {
			f.Kind, f.Hint = Purged, "if that was intended, make a new anchor"
			f.Message = fmt.Sprintf("session %s is in the anchor and was purged, according to receipts/%s.json in the home", head.Session, head.Session)
		}
		w.report.Faulty++
		w.report.add(f)
	}
	return nil
}

// purged reports whether there is a complete receipt for the purge of a session.
func (w *verifier) purged(id firn.ID) (bool, error) {
	if id.Check() != nil {
		return false, nil
	}
	file, err := w.fs.Open(filepath.Join(w.target.Root, "receipts", string(id)+".json"), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close() // read-only
	var receipt store.Receipt
	err = json.NewDecoder(io.NewSectionReader(file, 0, hashedBytes)).Decode(&receipt)
	return err == nil && receipt.Session == id && !receipt.Done.IsZero(), nil
}

// anchoredOrder returns the sessions of the anchor in the order of their IDs.
func (w *verifier) anchoredOrder() []Head {
	heads := make([]Head, 0, len(w.anchored))
	for _, h := range w.anchored {
		heads = append(heads, h)
	}
	slices.SortFunc(heads, func(a, b Head) int { return cmp.Compare(a.Session, b.Session) })
	return heads
}
