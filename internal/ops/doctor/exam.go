package doctor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
)

// exam is the examination of one transcript.
type exam struct {
	w *verifier
	transcript
	parts  []journal.Part
	reader *lineReader

	// file, part and line are the place being read.
	file string
	part int
	line int

	tree firn.Tree
	// lines holds the line number of each node of the tree.
	lines []int32
	// standIns are nodes that replace a lost entry; see [Repair].
	standIns map[int]bool
	dangling []int
	twice    bool
	header   *firn.Header
	// headers counts the headers, records all records.
	headers, records int
	crlf, erased     tally
	noID             tally
	tail             *journal.Line // the unterminated last line, without its data
	fragment         fragment
	format           dialect.Name
	failed           bool // a part could not be read completely
	skipped          bool // a line was too long to be read

	// chain checks the links of the lines; nil before the first line. owner is the session
	// that they should belong to.
	chain *hashchain.Checker
	owner firn.ID

	files, entries int
	bytes          int64
	faults         int
	listed         map[Kind]int
}

// tally counts occurrences that are reported as one finding.
type tally struct {
	count int
	file  string
	first Place
}

func newExam(w *verifier, t transcript) *exam {
	return &exam{w: w, transcript: t, reader: newLineReader(), part: -1, listed: make(map[Kind]int), standIns: make(map[int]bool)}
}

// run reads the whole transcript. It returns only context errors; everything else is a
// finding.
func (e *exam) run() error {
	if err := e.w.ctx.Err(); err != nil {
		return err
	}
	parts, err := journal.Parts(e.w.fs, e.base)
	if err != nil {
		e.failed = true
		e.add(unreadable(e.w.relative(e.base), e.session, err))
		return nil
	}
	e.parts, e.files = parts, len(parts)
	e.checkFiles()
	if len(parts) == 0 {
		e.failed = true
		return nil
	}
	if e.format = e.detect(); !e.native() {
		e.add(Finding{Severity: Info, Kind: Foreign, File: e.w.relative(e.base),
			Message: fmt.Sprintf("the file is in the format of %s; only its lines were checked", e.format)})
	}
	if err := e.read(0); err != nil {
		return err
	}
	if err := e.readTail(); err != nil {
		return err
	}
	e.conclude()
	return nil
}

// native reports whether the entries of the file can be decoded.
func (e *exam) native() bool {
	return e.format == "" || e.format == dialect.Native || e.format == dialect.Pi
}

// detectSize is the number of bytes used to detect the format.
const detectSize = 64 << 10

// detect returns the format of the file, or "" if it is unknown.
func (e *exam) detect() dialect.Name {
	if len(e.parts) == 0 {
		return ""
	}
	file, err := e.w.fs.Open(e.parts[0].Path, vfs.Read)
	if err != nil {
		return "" // reported when it is read
	}
	defer file.Close() // read-only
	buf := make([]byte, min(detectSize, e.parts[0].Size))
	n, _ := file.ReadAt(buf, 0)
	name, err := dialect.Detect(buf[:n])
	if err != nil {
		return ""
	}
	return name
}

// read reads the lines after a position. It stops before an unterminated last line of the
// last part, which may still be growing.
func (e *exam) read(after firn.Pos) error {
	for line, err := range e.source().Lines(after) {
		if ctxErr := e.w.ctx.Err(); ctxErr != nil {
			return ctxErr
		}
		if err != nil {
			e.failed = true
			e.add(unreadable(e.pathOf(err), e.session, err))
			continue
		}
		e.enter(line.Start)
		if line.Unfinished && e.tail == nil && e.part == e.parts[len(e.parts)-1].Number {
			e.tail = &journal.Line{At: line.At, Next: line.Next, Start: line.Start}
			e.line--
			return nil
		}
		e.take(line)
	}
	return nil
}

func (e *exam) source() journal.Source {
	return journal.Source{FS: e.w.fs, Path: e.base, MaxLine: e.w.target.MaxLine}
}

// pathOf returns the part that could not be read: the one after the last part read.
func (e *exam) pathOf(error) string {
	for _, p := range e.parts {
		if p.Number > e.part {
			return e.w.relative(p.Path)
		}
	}
	return e.w.relative(e.base)
}

// enter records the place of the next line.
func (e *exam) enter(start firn.Pos) {
	part, _ := journal.Split(start)
	if part != e.part {
		e.part, e.line = part, 0
		e.file = e.w.relative(journal.PartPath(e.base, part))
	}
	e.line++
}

// take examines one line.
func (e *exam) take(line journal.Line) {
	size := int64(line.Next - line.Start)
	e.bytes += size
	e.w.progress.add(size)
	_, offset := journal.Split(line.Start)
	r := e.reader.read(line)
	if r.crlf {
		e.crlf.add(e, offset)
	}
	e.skipped = e.skipped || line.Gap == firn.GapTooLong
	if e.native() {
		e.link(line, r)
	}
	if line.Unfinished && e.tail != nil {
		e.fragment = readFragment(line, offset)
	}
	if n := len(r.entries); line.Unfinished && n > 0 {
		e.note(Unfinished, Warn, offset, r.entries[n-1].entry.ID, "the last line has no newline; the entry is complete")
	}
	for _, f := range r.flaws {
		if !e.native() && f.kind == Malformed {
			continue
		}
		e.note(f.kind, f.severity, offset+int64(f.offset), f.entry, f.message)
	}
	for i := range r.entries {
		e.entry(&r.entries[i], line.Start, offset)
	}
}

// entry adds an entry to the tree.
func (e *exam) entry(r *foundEntry, start firn.Pos, offset int64) {
	e.entries++
	e.records++
	if !e.native() {
		return
	}
	at := offset + int64(r.offset)
	if header, ok := r.entry.Body.(*firn.Header); ok {
		e.takeHeader(header, at)
		return
	}
	if e.records == 1 {
		e.note(NoHeader, Fault, at, r.glance.ID, "the transcript does not start with a header")
	}
	if r.glance.Kind == firn.KindErased {
		e.erased.add(e, at)
	}
	if r.glance.ID == "" {
		e.noID.add(e, at)
		return
	}
	gaps := len(e.tree.Gaps())
	n := e.tree.Add(start+firn.Pos(r.offset), r.glance)
	if n < 0 {
		return
	}
	e.lines = append(e.lines, int32(e.line))
	if c, ok := r.entry.Body.(*firn.Custom); ok && c.Type == standInType {
		e.standIns[n] = true
	}
	for _, gap := range e.tree.Gaps()[gaps:] {
		e.takeGap(gap, n, at)
	}
}

func (e *exam) takeHeader(h *firn.Header, at int64) {
	e.headers++
	if e.headers == 1 {
		e.header = h
	}
	if e.records > 1 {
		e.note(MoreHeaders, Warn, at, "", "a header after the start of the transcript; it is ignored")
		return
	}
	if e.named && h.Session != e.session {
		e.note(OtherSession, Warn, at, "", fmt.Sprintf("the header names session %s, but the file name names another", h.Session))
	}
}

// takeGap handles a problem that the tree found with an entry. Missing parents can be
// judged only after everything has been read.
func (e *exam) takeGap(gap firn.Gap, n int, at int64) {
	switch gap.Kind {
	case firn.GapDangling:
		e.dangling = append(e.dangling, n)
	case firn.GapDuplicate:
		e.twice = true
		e.note(Duplicate, Fault, at, gap.Entry, "an earlier entry has the same id; references to it are ambiguous")
	default:
		e.note(Kind(gap.Kind), Warn, at, gap.Entry, gap.Detail)
	}
}

func (t *tally) add(e *exam, offset int64) {
	if t.count == 0 {
		t.file, t.first = e.file, Place{Line: e.line, Offset: offset}
	}
	t.count++
}

// note adds a finding about the line being read.
func (e *exam) note(kind Kind, severity Severity, offset int64, entry firn.EntryID, message string) {
	e.add(Finding{
		Severity: severity, Kind: kind, File: e.file, At: &Place{Line: e.line, Offset: offset},
		Entry: entry, Message: message,
	})
}

// add adds a finding to the report.
func (e *exam) add(f Finding) {
	f.Session = e.session
	if f.Hint == "" {
		f.Hint = e.hint(f)
	}
	if f.Severity == Fault {
		e.faults++
	}
	e.listed[f.Kind]++
	if e.listed[f.Kind] > e.w.limit {
		e.w.report.countOnly(f)
		return
	}
	e.w.report.add(f)
}

// name returns the name of the session for use on the command line.
func (e *exam) name() string {
	if e.w.target.Home {
		return string(e.session)
	}
	return e.base
}

// hint returns the hint for a finding.
func (e *exam) hint(f Finding) string {
	switch f.Kind {
	case Torn, NUL, Damaged: // only the end of the last part can be repaired
		if e.fragment.cuts(f.At.Offset) {
			return e.repairHint()
		}
	case Unfinished:
		if e.tail != nil {
			return e.repairHint()
		}
	case MissingPart:
		return "restore the file from a copy if there is one"
	}
	return ""
}

// repairHint returns the hint for damage that can be repaired.
func (e *exam) repairHint() string {
	if e.binned {
		return "restore the session from the trash bin, then repair it"
	}
	return "firn repair " + e.name()
}

// checkFiles checks the names of the files of the transcript.
func (e *exam) checkFiles() {
	if len(e.parts) == 0 && slices.Contains(e.names, filepath.Base(e.base)) {
		e.add(Finding{Severity: Fault, Kind: Unreadable, File: e.w.relative(e.base), Message: "a link to a file that does not exist"})
		return
	}
	if len(e.parts) == 0 {
		e.missing(0)
	}
	next := 0
	for _, p := range e.parts {
		for ; next < p.Number; next++ {
			e.missing(next)
		}
		next++
	}
	for _, name := range e.names {
		path := filepath.Join(filepath.Dir(e.base), name)
		switch _, what, side := cutSide(name); {
		case side:
			e.checkSide(path, what)
		case !e.reached(path):
			e.add(Finding{Severity: Fault, Kind: MissingPart, File: e.w.relative(path),
				Message: "this part is never read: too many parts before it are missing, or its number is invalid"})
		}
	}
}

func (e *exam) missing(part int) {
	what := "a part of the transcript is missing, but later parts exist"
	if part == 0 {
		what = "the first part of the transcript is missing, but a later part exists"
	}
	e.add(Finding{Severity: Fault, Kind: MissingPart, File: e.w.relative(journal.PartPath(e.base, part)), Message: what})
}

// reached reports whether readers read the part at path.
func (e *exam) reached(path string) bool {
	for _, p := range e.parts {
		if filepath.Base(p.Path) == filepath.Base(path) {
			return true
		}
	}
	return false
}

// checkSide adds a finding for a file that a writer saved next to the transcript.
func (e *exam) checkSide(path, what string) {
	f := Finding{Kind: SideFile, File: e.w.relative(path)}
	info, err := e.w.fs.Stat(path)
	if err != nil {
		return // removed meanwhile
	}
	size := plural(int(info.Size), "byte")
	if what == "torn" {
		f.Severity, f.Repaired = Info, true
		f.Message = "an incomplete last line of " + size + " was cut off and saved here; it was never acknowledged"
	} else {
		f.Severity = Warn
		f.Message = size + " that a writer had appended before the file was removed or truncated"
		f.Hint = "compare it with the transcript: it holds the entries missing there"
	}
	e.add(f)
}

// readTail reads the unterminated last line again while appends are locked out. It may have
// been an append in progress.
func (e *exam) readTail() error {
	if e.tail == nil {
		return nil
	}
	free, err := e.lock()
	if err != nil { // locks are not supported here
		return e.read(e.tail.At)
	}
	if free == nil {
		e.enter(e.tail.Start)
		_, offset := journal.Split(e.tail.Start)
		e.note(Growing, Info, offset, "", "the transcript is being written; its last line was not checked")
		return e.w.ctx.Err()
	}
	err = e.read(e.tail.At)
	return errors.Join(err, free())
}
