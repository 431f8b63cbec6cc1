// Package convert converts conversations between dialects as a stream of entries, so that
// transcripts of any size can be converted. A [Report] counts the entries that were
// preserved, changed and omitted.
//
// Conversion to firn's own format is lossless: the original lines of another tool are
// carried with the entries and written back unchanged.
package convert

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Source is a transcript that can be read more than once.
type Source struct {
	Tool dialect.Name
	// Entries yields the entries of the transcript, and counts the data read and damaged
	// places in the report. An entry is valid until the next step.
	Entries func(*Report) iter.Seq2[dialect.EntryLines, error]
	// Glances yields the fields that the tree needs, which is much faster; nil if the
	// tool's lines cannot be read individually.
	Glances func() iter.Seq2[firn.Glance, error]
	// Hiding yields the glances of at least the tombstones, for a source in firn's format;
	// nil if there are none.
	Hiding func() iter.Seq2[firn.Glance, error]
}

// Glancer is a tool whose lines can be read individually for the fields that the tree
// needs.
type Glancer interface {
	Glance(line []byte) (firn.Glance, error)
}

// Transcript returns a source that reads the lines of a tool's transcript. open is called
// for every pass over them.
func Transcript(tool dialect.Tool, origin dialect.Origin, open func() iter.Seq2[[]byte, error]) Source {
	src := Source{Tool: tool.Name(), Entries: func(r *Report) iter.Seq2[dialect.EntryLines, error] {
		return ended((&reading{tool: tool, origin: origin, source: open(), report: r}).all)
	}}
	if g, ok := tool.(Glancer); ok {
		src.Glances = func() iter.Seq2[firn.Glance, error] { return glances(g, open(), true) }
		if tool.Name() == dialect.Native {
			src.Hiding = func() iter.Seq2[firn.Glance, error] { return glances(g, open(), false) }
		}
	}
	return src
}

// Entries yields the entries of a source as firn stores them, with their original lines, in
// file order. A response written in several pieces stays in pieces, so that more of them
// can follow when the transcript grows. The parent of a root is [firn.Root], as stores
// require.
func Entries(src Source, report *Report) iter.Seq2[firn.Entry, error] {
	return func(yield func(firn.Entry, error) bool) {
		for t, err := range counted(src.Entries(report), report) {
			if err != nil {
				yield(firn.Entry{}, err)
				return
			}
			e := t.Entry
			report.kept(e, src.Tool)
			if src.Tool != dialect.Native {
				dialect.CarryMarked(&e, src.Tool, t.Lines, t.Marks)
			} else if isEnd(e) {
				continue // firn's own logs start a new line after a torn one
			}
			if e.Parent == "" && e.Body.Kind() != firn.KindHeader {
				e.Parent = firn.Root
			}
			report.Reencoded++
			if !yield(e, nil) {
				return
			}
		}
	}
}

// counted counts the entries.
func counted(reported iter.Seq2[dialect.EntryLines, error], report *Report) iter.Seq2[dialect.EntryLines, error] {
	return func(yield func(dialect.EntryLines, error) bool) {
		for t, err := range reported {
			if err == nil {
				report.read(t.Entry)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// Write writes a source to w in the format of another tool.
func Write(ctx context.Context, w io.Writer, src Source, to dialect.Tool, target dialect.Target, report *Report) error {
	out := &writing{ctx: ctx, from: src.Tool, to: to.Name(), w: bufio.NewWriterSize(w, 1<<18), report: report}
	switch {
	case src.Tool == to.Name():
		return out.copy(counted(src.Entries(report), report))
	case to.Name() == dialect.Native:
		out.printer = to.Printer(target)
		out.glancer, out.alike = to.(Glancer)
		out.alike = out.alike && (src.Tool == dialect.Pi || src.Tool == dialect.OpenClaw)
		return out.all(counted(src.Entries(report), report))
	}
	src, err := withoutReimported(src)
	if err != nil {
		return err
	}
	reported := joined(withoutEnd(src.Entries(report), to.Name()), to.Name())
	shape, ok, err := glanceOver(src)
	if err == nil && ok {
		reported = src.Entries(report)
	} else if err == nil {
		shape, err = takeSurvey(joined(withoutEnd(src.Entries(&Report{}), to.Name()), to.Name()), to.Name())
	}
	if err != nil {
		return err
	}
	linear := limited(to, "branches") || needsOnePath(to.Name(), target)
	out.choice = newChoice(shape, linear, src.Tool, to.Name(), report)
	out.choice.onePath = needsOnePath(to.Name(), target)
	out.fit = newFitting(to.Name(), linear)
	target.OnLoss = out.lost
	target.Written = out.choice.written
	out.printer = to.Printer(target)
	return out.all(counted(reported, report))
}

// isEnd reports whether an entry only records the end of a transcript without a newline.
func isEnd(e firn.Entry) bool {
	c, ok := e.Body.(*firn.Custom)
	return ok && strings.HasSuffix(c.Type, ":"+dialect.End)
}

// needsOnePath reports whether a transcript is handed to OpenClaw. Releases with a database
// import transcripts line by line and ignore branches, so messages on abandoned branches
// would reach the model. Other exports keep them.
func needsOnePath(to dialect.Name, target dialect.Target) bool {
	return to == dialect.OpenClaw && target.As != ""
}

// limited reports whether a tool has the limit.
func limited(to dialect.Tool, name string) bool {
	return slices.ContainsFunc(to.Limits(), func(l dialect.Limit) bool { return l.Name == name })
}

// writing is the state of a conversion.
type writing struct {
	ctx      context.Context
	from, to dialect.Name
	w        *bufio.Writer
	report   *Report
	printer  dialect.Printer
	choice   *choice
	fit      *fitting
	// losses are those of the entry current, late those reported for other entries.
	current firn.EntryID
	losses  []dialect.Loss
	late    map[firn.EntryID]bool
	buf     []byte
	steps   int
	// owed is set if a newline is still to be written, bare if no newline follows the last
	// line written, apart if the bytes after it are omitted.
	owed, bare, apart bool
	// rest holds the final bytes of a transcript, if it ends here.
	rest *string
	// printing is set if the printer may hold lines back.
	printing bool
	// glancer reads lines of firn's own format; alike is set if the lines of the source may
	// be such lines.
	glancer Glancer
	alike   bool
}

// copy writes the lines unchanged.
func (o *writing) copy(reported iter.Seq2[dialect.EntryLines, error]) error {
	for t, err := range reported {
		if err = o.checkCanceled(err); err != nil {
			return err
		}
		o.report.Same++
		o.report.kept(t.Entry, o.from)
		o.write(t.Lines, t.Marks)
		if err := o.flush(); err != nil {
			return err
		}
	}
	return o.finish()
}

// all writes the entries.
func (o *writing) all(reported iter.Seq2[dialect.EntryLines, error]) error {
	for t, err := range reported {
		if err = o.checkCanceled(err); err != nil {
			return err
		}
		var wanted, rehung = true, false
		if o.choice != nil {
			t, wanted, rehung = o.choice.choose(t)
		}
		if !wanted {
			o.apart = true
			continue
		}
		if err := o.fitted(t, rehung); err != nil {
			return err
		}
	}
	var err error
	if o.fit != nil {
		if err = o.give(o.fit.finish()); err != nil {
			return err
		}
	}
	if o.buf, err = o.printer.Finish(o.buf); err != nil {
		return err
	}
	if err := o.flushPrinted(); err != nil {
		return err
	}
	return o.finish()
}

// fitted writes an entry and those required with it by the tool's provider.
func (o *writing) fitted(t dialect.EntryLines, rehung bool) error {
	if r, ok := o.printer.(dialect.Reviser); ok && !rehung {
		if tool, lines := dialect.Carried(t.Entry); tool == o.to {
			rehung = r.Stale(t.Entry, lines)
		}
	}
	if o.fit != nil {
		return o.give(o.fit.take(t, rehung))
	}
	return o.give([]fitted{{EntryLines: t, changed: rehung}})
}

// give writes entries.
func (o *writing) give(entries []fitted) error {
	for _, f := range entries {
		if f.Entry.Body == nil { // the provider accepts no part of it
			o.report.Left++
			for _, l := range f.losses {
				o.report.lose(l.Limit, 1)
			}
			continue
		}
		if err := o.one(f); err != nil {
			return fmt.Errorf("writing entry %s: %w", f.Entry.ID, err)
		}
		if o.choice != nil {
			o.choice.recordWritten(f.EntryLines)
		}
	}
	return nil
}

// checkCanceled periodically checks whether the context was canceled.
func (o *writing) checkCanceled(err error) error {
	if o.steps++; err == nil && o.steps%256 == 0 {
		err = o.ctx.Err()
	}
	return err
}

// one writes an entry: as its original lines if the tool itself wrote them, otherwise
// printed.
func (o *writing) one(f fitted) (err error) {
	t, rehung := f.EntryLines, f.changed
	e := dialect.Uncarried(t.Entry)
	if tool, lines := dialect.Carried(t.Entry); tool == o.to && !rehung {
		o.report.Same++
		o.report.kept(e, o.from)
		_, marks := dialect.CarriedBy(t.Entry)
		return o.repeat(e, lines, marks)
	}
	o.current, o.losses = e.ID, append(o.losses[:0], f.losses...)
	if o.to == dialect.Native {
		e = t.Entry
	}
	if o.isOurs(t) || o.isTheirs(t, rehung) {
		o.tally(f.synthetic)
		o.report.kept(e, o.from)
		return o.repeat(e, t.Lines, dialect.Marks{})
	}
	o.printing = true
	if o.to != dialect.Native && o.to != dialect.Pi && o.to != dialect.OpenClaw {
		e = withoutSections(e)
	}
	start := len(o.buf)
	if o.buf, err = o.printer.Print(o.buf, e); err != nil {
		return err
	}
	if o.to == dialect.Native && (t.NoNewline || t.Rest != nil || !isSameLine(o.buf[start:], t.Lines)) {
		dialect.CarryMarked(&e, o.from, t.Lines, dialect.Marks{NoNewline: t.NoNewline, Rest: t.Rest})
		if o.buf, err = o.printer.Print(o.buf[:start], e); err != nil {
			return err
		}
	}
	o.tally(f.synthetic)
	return o.flushPrinted()
}

// withoutSections returns an entry with the sections of a system prompt as its text, for
// tools without sections.
func withoutSections(e firn.Entry) firn.Entry {
	m, ok := e.Body.(*firn.Message)
	if !ok || m.Role != firn.RoleSystem || m.Extra.Get(firn.SectionsField) == nil {
		return e
	}
	plain := *m
	plain.Parts = []firn.Part{firn.Text{Text: m.Text()}}
	plain.Extra = slices.DeleteFunc(slices.Clone(m.Extra), func(f firn.Field) bool { return f.Name == firn.SectionsField })
	e.Body = &plain
	return e
}

// repeat writes lines unchanged, after the lines that the printer held back.
func (o *writing) repeat(e firn.Entry, lines [][]byte, marks dialect.Marks) (err error) {
	if o.printing {
		o.printing = false
		if o.buf, err = o.printer.Finish(o.buf); err != nil {
			return err
		}
		if err = o.flushPrinted(); err != nil {
			return err
		}
	}
	o.printer.Repeat(e, lines)
	o.write(lines, marks)
	return o.flush()
}

// write appends lines unchanged. Pending final bytes of earlier lines are discarded.
func (o *writing) write(lines [][]byte, marks dialect.Marks) {
	if len(lines) > 0 || marks.Rest != nil {
		o.rest = marks.Rest
	}
	if len(lines) == 0 {
		return
	}
	if o.apart {
		o.newLine()
	}
	for _, line := range lines {
		o.buf = append(append(o.buf, line...), '\n')
	}
	if o.bare = marks.NoNewline; o.bare {
		o.buf = o.buf[:len(o.buf)-1]
	}
}

// newLine makes the next output start a new line.
func (o *writing) newLine() {
	o.owed, o.bare, o.apart = o.owed || o.bare, false, false
}

// flushPrinted passes on the printed lines, which start a new line.
func (o *writing) flushPrinted() error {
	if len(o.buf) > 0 {
		o.newLine()
		if o.rest != nil && strings.TrimSpace(*o.rest) != "" {
			o.report.lose(Unfinished, 1)
		}
		o.rest = nil
	}
	return o.flush()
}

// isOurs reports whether the original line of an entry is also a line of firn's own format
// with the same meaning.
func (o *writing) isOurs(t dialect.EntryLines) bool {
	if o.to != dialect.Native || len(t.Lines) != 1 || t.NoNewline || t.Rest != nil || !o.alike {
		return false
	}
	g, err := o.glancer.Glance(t.Lines[0])
	return err == nil && g.Kind != firn.KindHeader && !g.NoParent && g == firn.GlanceOf(t.Entry)
}

// isTheirs reports whether a line of firn's is also valid for the tool.
func (o *writing) isTheirs(t dialect.EntryLines, rehung bool) bool {
	v, ok := o.printer.(Verbatim)
	return ok && o.from == dialect.Native && !rehung && len(t.Lines) == 1 && v.Verbatim(t.Entry, t.Lines[0])
}

// Verbatim is a printer for a tool that accepts some lines of firn's own format unchanged.
type Verbatim interface {
	// Verbatim reports whether the line, which represents the entry in firn's format,
	// equals the printer's output.
	Verbatim(e firn.Entry, line []byte) bool
}

// isSameLine reports whether the printed text is the single original line: the line need
// not be carried then.
func isSameLine(printed []byte, lines [][]byte) bool {
	return len(lines) == 1 && len(printed) == len(lines[0])+1 && string(printed[:len(lines[0])]) == string(lines[0])
}

// lost is called by the printer for each loss. A loss of an entry that was held back may be
// reported after the entry was counted.
func (o *writing) lost(loss dialect.Loss) {
	if loss.Entry == o.current {
		o.losses = append(o.losses, loss)
		return
	}
	o.report.lose(loss.Limit, 1)
	if o.late == nil {
		o.late = make(map[firn.EntryID]bool)
	}
	if o.late[loss.Entry] || o.report.Reencoded == 0 {
		return
	}
	o.late[loss.Entry] = true
	o.report.Reencoded--
	if loss.Dropped {
		o.report.Left++
	} else {
		o.report.Changed++
	}
}

// tally counts the printed entry. For a synthesized entry, which is not part of the
// transcript, only the reason is counted.
func (o *writing) tally(synthetic bool) {
	dropped := false
	for _, l := range o.losses {
		o.report.lose(l.Limit, 1)
		dropped = dropped || l.Dropped
	}
	switch {
	case synthetic:
	case dropped:
		o.report.Left++
	case len(o.losses) > 0:
		o.report.Changed++
	default:
		o.report.Reencoded++
	}
}

// flush passes on the printed text. Its final newline is owed until it is known that one
// follows.
func (o *writing) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	if o.owed {
		o.owed = false
		if err := o.pass([]byte{'\n'}); err != nil {
			return err
		}
	}
	text := o.buf
	if n := len(text) - 1; text[n] == '\n' {
		text, o.owed = text[:n], true
	}
	err := o.pass(text)
	o.buf = o.buf[:0]
	return err
}

// pass writes and counts.
func (o *writing) pass(text []byte) error {
	o.report.LinesWritten += int64(bytes.Count(text, []byte{'\n'}))
	o.report.BytesWritten += int64(len(text))
	_, err := o.w.Write(text)
	return err
}

// finish writes the newline that is owed, or the final bytes of the transcript instead.
func (o *writing) finish() error {
	end := ""
	switch {
	case o.rest != nil:
		end = *o.rest
	case o.owed:
		end = "\n"
	}
	o.owed, o.rest = false, nil
	if err := o.pass([]byte(end)); err != nil {
		return err
	}
	return o.w.Flush()
}
