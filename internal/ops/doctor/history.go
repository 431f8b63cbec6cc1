package doctor

import (
	"fmt"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/chain"
	"firn.dev/internal/disk/journal"
)

// historyHint is the hint for a transcript that differs from its hash chain.
const historyHint = "compare the file with a backup; if the change was yours, accept it with: firn verify --accept"

// historyExam compares a transcript with its hash chain.
type historyExam struct {
	e     *exam
	check *chain.Check
	// recent are the latest lines, oldest first: a difference is found some lines later.
	recent []recentLine
}

type recentLine struct {
	at    firn.Pos
	file  string
	place Place
}

// maxRecent is more than the number of lines that a check looks ahead.
const maxRecent = 128

// openHistory opens the hash chain of the transcript, if there is one.
func (e *exam) openHistory() {
	h := &historyExam{e: e}
	check, err := chain.NewCheck(e.source(), e.session, h.add)
	if err != nil {
		e.add(Finding{Severity: Fault, Kind: History, File: e.w.relative(chain.Path(e.base)), Message: fmt.Sprintf("the hash chain cannot be read: %v", err)})
		return
	}
	if h.check = check; check != nil {
		e.history = h
	}
}

// take compares the next line.
func (h *historyExam) take(line journal.Line) {
	_, offset := journal.Split(line.Start)
	if len(h.recent) >= 2*maxRecent {
		h.recent = append(h.recent[:0], h.recent[maxRecent:]...)
	}
	h.recent = append(h.recent, recentLine{line.Start, h.e.file, Place{Line: h.e.line, Offset: offset}})
	h.check.Line(line)
}

// end finishes the comparison.
func (h *historyExam) end() {
	if err := h.check.Close(); err != nil {
		h.e.add(Finding{Severity: Fault, Kind: History, File: h.e.w.relative(chain.Path(h.e.base)), Message: fmt.Sprintf("the hash chain cannot be read: %v", err)})
	}
}

// add adds a finding for a difference. That entries were purged is reported elsewhere.
func (h *historyExam) add(d chain.Difference) {
	if d.Kind == chain.Erased {
		return
	}
	f := Finding{Severity: Fault, Kind: History, File: h.e.w.relative(h.e.base), Message: describeDifference(d), Hint: historyHint}
	for _, r := range h.recent {
		if r.at == d.At || r.at > d.At && f.At == nil {
			f.File, f.At = r.file, &r.place
		}
	}
	h.e.add(f)
}

func describeDifference(d chain.Difference) string {
	lines := plural(d.Lines, "line")
	switch {
	case d.Kind == chain.Changed:
		return "this line was changed after firn had written it"
	case d.Kind == chain.Removed && d.Lines == 1:
		return "a line before this one was removed"
	case d.Kind == chain.Removed:
		return lines + " before this one were removed"
	case d.Kind == chain.Inserted:
		return "this line was inserted between lines that firn had written before"
	case d.Kind == chain.Moved:
		return "this line was moved here from another place in the file"
	case d.Kind == chain.Cut:
		return lines + " missing at the end: the file was cut, or replaced by an older copy"
	case d.Kind == chain.OtherSession:
		return fmt.Sprintf("its hash chain belongs to session %s: one of the two files was replaced", d.Session)
	default:
		return fmt.Sprintf("from this line on, the file does not have the %s that firn had written: it was rewritten or replaced", lines)
	}
}

// listLost adds a finding for each hash chain in the home whose transcript is missing.
func (t *Target) listLost() {
	known := make(map[firn.ID]bool)
	for _, one := range t.transcripts {
		known[one.session] = true
	}
	for _, agent := range t.dirNames(filepath.Join(t.Root, "agents")) {
		dir := filepath.Join(t.Root, "agents", agent, "sessions")
		entries, err := t.fs.ReadDir(dir)
		if err != nil {
			continue // reported with the transcripts
		}
		for _, e := range entries {
			base, ok := chain.IsFile(e.Name())
			id := stemID(base)
			if !ok || e.Name() != chain.Path(base) || known[id] || t.purged(id) {
				continue
			}
			t.troubles = append(t.troubles, Finding{
				Severity: Fault, Kind: History, Session: id, File: relative(t.Root, filepath.Join(dir, e.Name())),
				Message: "the transcript of this hash chain is missing, and it was not removed with firn",
				Hint:    "restore it from a backup; if you deleted it, delete this file too",
			})
		}
	}
}

// acceptHistory sets the hash chains aside of transcripts whose changes were accepted, and
// makes new ones.
func (t *Target) acceptHistory(faults []AcceptedFault) error {
	done := make(map[firn.ID]bool)
	for _, f := range faults {
		if f.Kind != History || done[f.Session] {
			continue
		}
		done[f.Session] = true
		base := strings.TrimSuffix(filepath.Join(t.Root, filepath.FromSlash(f.File)), chain.Ext)
		for _, one := range t.transcripts {
			if one.session == f.Session {
				base = one.base
			}
		}
		if _, err := chain.SetAside(t.fs, base); err != nil {
			return fmt.Errorf("accept the changes of session %s: %w", f.Session, err)
		}
		if err := chain.Extend(journal.Source{FS: t.fs, Path: base, MaxLine: t.MaxLine}, f.Session, 0, ^firn.Pos(0)); err != nil {
			return err
		}
	}
	return nil
}

// isChain reports whether a file is a hash chain.
func isChain(name string) bool {
	_, ok := chain.IsFile(name)
	return ok
}

// purged reports whether a session was purged, or is being purged.
func (t *Target) purged(id firn.ID) bool {
	_, err := t.fs.Stat(filepath.Join(t.Root, "receipts", string(id)+".json"))
	return err == nil
}
