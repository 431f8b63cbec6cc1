package doctor

import (
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/disk/journal"
)

// The kinds of findings about the hash chain of a transcript.
const (
	ChainChanged   Kind = "chain-" + Kind(hashchain.Changed)
	ChainRemoved   Kind = "chain-" + Kind(hashchain.Removed)
	ChainInserted  Kind = "chain-" + Kind(hashchain.Inserted)
	ChainReordered Kind = "chain-" + Kind(hashchain.Reordered)
	ChainSwapped   Kind = "chain-" + Kind(hashchain.Swapped)
	ChainAltered   Kind = "chain-" + Kind(hashchain.Altered)
	ChainUnproven  Kind = "chain-" + Kind(hashchain.Unproven)
	// Unlinked is about lines that another program wrote.
	Unlinked Kind = "unlinked"
	// Redacted is about lines of a shared copy with parts left out.
	Redacted Kind = "redacted"
)

// link checks the link of a line.
func (e *exam) link(line journal.Line, r lineResult) {
	if e.chain == nil {
		e.owner = e.chainOwner(r)
		e.chain = hashchain.NewChecker(string(e.owner), e.anchoredState()...)
		e.chain.Whole = e.whole()
	}
	switch {
	case line.Gap != "":
		e.chain.Skip()
	case line.Unfinished && len(r.entries) == 0: // it was never acknowledged
	default:
		e.chain.Add(line.Data)
	}
}

// whole reports whether the transcript is that of a home, not a copy that was shared.
func (e *exam) whole() bool { return e.named || e.w.target.Home }

// chainOwner returns the session that the first line belongs to: that of the file name, or
// else that of the header.
func (e *exam) chainOwner(first lineResult) firn.ID {
	for _, r := range first.entries {
		if h, ok := r.entry.Body.(*firn.Header); ok && !e.named {
			return h.Session
		}
	}
	return e.session
}

// concludeChain adds findings about the hash chain.
func (e *exam) concludeChain() {
	e.concludeAnchor()
	if e.chain == nil {
		return
	}
	if n := e.chain.Unlinked; n > 0 && e.chain.Linked == 0 {
		e.w.report.Unlinked++
	} else if n > 0 {
		e.add(Finding{Severity: Info, Kind: Unlinked, File: e.w.relative(e.base),
			Message: fmt.Sprintf("%s, written by another program, by a repair, or before firn linked lines; %s", plural(n, "line")+" without link", covered(e.chain.Loose()))})
	}
	if n := e.chain.Redacted; n > 0 && !e.whole() {
		e.add(Finding{Severity: Warn, Kind: Redacted, File: e.w.relative(e.base),
			Message: fmt.Sprintf("%s with parts left out: the hashes show that originals were there, not what they were", plural(n, "line"))})
	}
	if e.chain.First == 0 && e.chain.Unproven == 0 {
		return
	}
	lines, faults := e.explainChain()
	damaged := e.damagedLines()
	for _, f := range faults {
		if f := e.chainFinding(f, lines, damaged); f != nil {
			e.add(*f)
		}
	}
}

// covered describes how many lines at the end no link covers.
func covered(loose int) string {
	if loose == 0 {
		return "later links cover them"
	}
	return "no link covers the last " + plural(loose, "line")
}

// chainLine is a line as shown in a finding.
type chainLine struct {
	file  string
	place Place
	entry firn.EntryID
	// linked is set if the line has a link.
	linked bool
}

// explainChain reads the transcript again and returns its lines and what was done to it.
func (e *exam) explainChain() ([]chainLine, []hashchain.Fault) {
	var lines []chainLine
	x := hashchain.NewExplainer(string(e.owner))
	e.part = -1
	for line, err := range e.source().Lines(0) {
		if err != nil || e.w.ctx.Err() != nil {
			break
		}
		e.enter(line.Start)
		r := e.reader.read(line)
		if line.Unfinished && len(r.entries) == 0 {
			break
		}
		_, offset := journal.Split(line.Start)
		l := chainLine{file: e.file, place: Place{Line: e.line, Offset: offset}}
		_, l.linked = hashchain.LinkOf(line.Data)
		given := hashchain.Line{Data: line.Data}
		for _, found := range r.entries {
			l.entry = found.glance.ID
			given.ID, given.Parent = string(found.glance.ID), string(found.glance.Parent)
		}
		lines = append(lines, l)
		if line.Gap != "" {
			x.Skip()
		} else {
			x.Add(given)
		}
	}
	owner := e.owner
	if e.header != nil {
		owner = e.header.Session
	}
	return lines, x.Faults(string(owner), e.whole())
}

// linePlace is a line of a file.
type linePlace struct {
	file string
	line int
}

// damagedLines returns the lines that have another finding which explains why their links
// do not fit.
func (e *exam) damagedLines() map[linePlace]Finding {
	damaged := make(map[linePlace]Finding)
	for _, f := range e.w.report.Findings {
		if f.At == nil || f.Severity != Fault && !f.Repaired {
			continue
		}
		switch f.Kind {
		case Damaged, NUL, Glued, Torn, BadText, TooLong, Dangling:
			damaged[linePlace{f.File, f.At.Line}] = f
		}
	}
	return damaged
}

// chainFinding returns the finding for a fault, or nil if another finding explains it. A
// repair adds a placeholder for entries that were removed, but does not explain why.
func (e *exam) chainFinding(f hashchain.Fault, lines []chainLine, damaged map[linePlace]Finding) *Finding {
	severity, repaired := Fault, false
	for n := f.From; n <= f.To; n++ {
		l := lines[n-1]
		switch other, ok := damaged[linePlace{l.file, l.place.Line}]; {
		case ok && other.Kind != Dangling:
			return nil
		case ok && other.Repaired:
			severity, repaired = Warn, true
		}
	}
	if e.byAnother(f, lines) {
		severity = Warn
	}
	first, last := lines[f.From-1], lines[f.To-1]
	message, many := "", f.To > f.From
	switch f.Kind {
	case hashchain.Removed:
		message = "entries before this one were removed after it was written"
	case hashchain.Inserted:
		message = fmt.Sprintf("%s inserted here later", plural(f.To-f.From+1, "line")+map[bool]string{true: " were", false: " was"}[many])
	case hashchain.Reordered:
		message = fmt.Sprintf("the lines from here to line %d are not in the order in which they were written", last.place.Line)
	case hashchain.Swapped:
		message = fmt.Sprintf("this is the transcript of session %s under another name", e.header.Session)
	case hashchain.Unproven:
		severity = Warn
		message = fmt.Sprintf("an entry without a hash was erased here, so the lines up to line %d cannot be checked", last.place.Line)
	case hashchain.Altered:
		message = "the line has the hash of an original with other text, as shared copies have; the original is not here"
	default:
		message = "the entry was changed after it was written: it does not match its hash"
		if many {
			message = fmt.Sprintf("one of the lines from here to line %d was changed after it was written: they do not match the hash in the last one", last.place.Line)
		}
	}
	return &Finding{Severity: severity, Repaired: repaired, Kind: "chain-" + Kind(f.Kind), File: first.file, At: &first.place, Entry: first.entry,
		Message: message, Hint: e.chainHint(severity)}
}

// chainHint returns the hint for a fault of the hash chain.
func (e *exam) chainHint(severity Severity) string {
	const compare = "compare it with a backup or a mirror"
	if severity != Fault || !e.w.target.Home {
		return compare
	}
	return compare + "; if the change was intended: firn verify " + e.name() + " --accept"
}

// byAnother reports whether another program explains a fault: it wrote the file, with lines
// that it copied from a session of firn, or appended to a part that was not the last one.
func (e *exam) byAnother(f hashchain.Fault, lines []chainLine) bool {
	if e.header != nil && e.header.Firn == 0 {
		return true
	}
	if f.Kind != hashchain.Inserted || f.To == len(lines) || lines[f.To].file == lines[f.To-1].file {
		return false
	}
	for _, l := range lines[f.From-1 : f.To] {
		if l.linked || l.file != lines[f.To-1].file {
			return false
		}
	}
	return true
}
