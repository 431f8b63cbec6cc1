// Package convert carries conversations from one dialect to another, entry by
// entry, in a stream: the size of a transcript does not matter. It tells what
// could be said as it was, what was changed and what was left, so that the
// counts add up.
//
// Nothing is lost on the way into firn's own format: the lines that another
// tool wrote are carried beside what was understood of them, and come out
// again as they were.
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
	// Told yields what the transcript tells, and counts in the report what it
	// reads and what is damaged. What is told is valid until the next step.
	Told func(*Report) iter.Seq2[Told, error]
	// Glances yields what the tree must know, which is much faster to find out;
	// nil if the tool's lines do not tell it one by one.
	Glances func() iter.Seq2[firn.Glance, error]
	// Hiding yields the glances of at least the tombstones, for a source of ours;
	// nil if there are none.
	Hiding func() iter.Seq2[firn.Glance, error]
}

// Glancer is a tool whose lines tell, one by one, what the tree must know.
type Glancer interface {
	Glance(line []byte) (firn.Glance, error)
}

// Transcript is a source that reads the lines of a tool's transcript. Open is
// called for every pass over them.
func Transcript(tool dialect.Tool, origin dialect.Origin, open func() iter.Seq2[[]byte, error]) Source {
	src := Source{Tool: tool.Name(), Told: func(r *Report) iter.Seq2[Told, error] {
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

// Entries yields the entries of a source as firn keeps them, with the lines they
// came from beside them, in the order of the transcript: an answer that the tool
// wrote in pieces stays in pieces, so that more of them can follow when the
// transcript grows. The parent of a root is [firn.Root], as stores want it.
func Entries(src Source, report *Report) iter.Seq2[firn.Entry, error] {
	return func(yield func(firn.Entry, error) bool) {
		for t, err := range counted(src.Told(report), report) {
			if err != nil {
				yield(firn.Entry{}, err)
				return
			}
			e := t.Entry
			report.kept(e, src.Tool)
			if src.Tool != dialect.Native {
				dialect.CarryMarked(&e, src.Tool, t.Lines, t.Marks)
			} else if isEnd(e) {
				continue // our own logs begin a new line where the last one was torn
			}
			if e.Parent == "" && e.Body.Kind() != firn.KindHeader {
				e.Parent = firn.Root
			}
			report.Said++
			if !yield(e, nil) {
				return
			}
		}
	}
}

// counted counts what is told.
func counted(told iter.Seq2[Told, error], report *Report) iter.Seq2[Told, error] {
	return func(yield func(Told, error) bool) {
		for t, err := range told {
			if err == nil {
				report.read(t.Entry)
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// Write writes a source to w as another tool would have written it.
func Write(ctx context.Context, w io.Writer, src Source, to dialect.Tool, target dialect.Target, report *Report) error {
	out := &writing{ctx: ctx, from: src.Tool, to: to.Name(), w: bufio.NewWriterSize(w, 1<<18), report: report}
	switch {
	case src.Tool == to.Name():
		return out.copy(counted(src.Told(report), report))
	case to.Name() == dialect.Native:
		out.printer = to.Printer(target)
		out.glancer, out.alike = to.(Glancer)
		out.alike = out.alike && (src.Tool == dialect.Pi || src.Tool == dialect.OpenClaw)
		return out.all(counted(src.Told(report), report))
	}
	src, err := settled(src)
	if err != nil {
		return err
	}
	told := joined(endless(src.Told(report), to.Name()), to.Name())
	shape, ok, err := glanceOver(src)
	if err == nil && ok {
		told = src.Told(report)
	} else if err == nil {
		shape, err = takeSurvey(joined(endless(src.Told(&Report{}), to.Name()), to.Name()), to.Name())
	}
	if err != nil {
		return err
	}
	linear := limited(to, "branches") || isHandoff(to.Name(), target)
	out.choice = newChoice(shape, linear, src.Tool, to.Name(), report)
	out.choice.onePath = isHandoff(to.Name(), target)
	out.fit = newFitting(to.Name(), linear)
	target.Lose = out.lost
	target.Told = out.choice.told
	out.printer = to.Printer(target)
	return out.all(counted(told, report))
}

// isEnd reports whether an entry is the end of a transcript without a newline.
func isEnd(e firn.Entry) bool {
	c, ok := e.Body.(*firn.Custom)
	return ok && strings.HasSuffix(c.Type, ":"+dialect.End)
}

// isHandoff reports whether a transcript is handed to OpenClaw. Releases with a
// database import transcripts line by line and know no branches: what was said on
// branches that were left would reach the model. Other exports keep them.
func isHandoff(to dialect.Name, target dialect.Target) bool {
	return to == dialect.OpenClaw && target.As != ""
}

// limited reports whether a tool has the limit.
func limited(to dialect.Tool, name string) bool {
	return slices.ContainsFunc(to.Limits(), func(l dialect.Limit) bool { return l.Name == name })
}

// writing is a transcript on its way out.
type writing struct {
	ctx      context.Context
	from, to dialect.Name
	w        *bufio.Writer
	report   *Report
	printer  dialect.Printer
	choice   *choice
	fit      *fitting
	// losses are those of the entry that is being printed, late those that were
	// told of others.
	current firn.EntryID
	losses  []dialect.Loss
	late    map[firn.EntryID]bool
	buf     []byte
	steps   int
	// owed is set if a newline is still to be written, bare if none follows what
	// was written last, apart if what stood behind that is left out.
	owed, bare, apart bool
	// rest is what a transcript ended with, if it ends here.
	rest *string
	// printing is set if the printer may hold something back.
	printing bool
	// glancer reads lines of our own format; alike says that those of the source
	// may be such.
	glancer Glancer
	alike   bool
}

// copy writes the lines as they are.
func (o *writing) copy(told iter.Seq2[Told, error]) error {
	for t, err := range told {
		if err = o.step(err); err != nil {
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

// all writes what is told.
func (o *writing) all(told iter.Seq2[Told, error]) error {
	for t, err := range told {
		if err = o.step(err); err != nil {
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

// fitted writes an entry, and what must be written with it for the tool's
// provider to take it.
func (o *writing) fitted(t Told, rehung bool) error {
	if r, ok := o.printer.(dialect.Reviser); ok && !rehung {
		if tool, lines := dialect.Carried(t.Entry); tool == o.to {
			rehung = r.Stale(t.Entry, lines)
		}
	}
	if o.fit != nil {
		return o.give(o.fit.take(t, rehung))
	}
	return o.give([]fitted{{Told: t, changed: rehung}})
}

// give writes entries.
func (o *writing) give(entries []fitted) error {
	for _, f := range entries {
		if f.Entry.Body == nil { // nothing that a provider takes is left of it
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
			o.choice.wrote(f.Told)
		}
	}
	return nil
}

// step looks now and then whether anybody still wants the rest.
func (o *writing) step(err error) error {
	if o.steps++; err == nil && o.steps%256 == 0 {
		err = o.ctx.Err()
	}
	return err
}

// one writes an entry: as the lines it came from if the tool wrote them
// itself, else in the tool's words.
func (o *writing) one(f fitted) (err error) {
	t, rehung := f.Told, f.changed
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
		o.tally(f.made)
		o.report.kept(e, o.from)
		return o.repeat(e, t.Lines, dialect.Marks{})
	}
	o.printing = true
	if o.to != dialect.Native && o.to != dialect.Pi && o.to != dialect.OpenClaw {
		e = unsectioned(e)
	}
	start := len(o.buf)
	if o.buf, err = o.printer.Print(o.buf, e); err != nil {
		return err
	}
	if o.to == dialect.Native && (t.Bare || t.Rest != nil || !says(o.buf[start:], t.Lines)) {
		dialect.CarryMarked(&e, o.from, t.Lines, dialect.Marks{Bare: t.Bare, Rest: t.Rest})
		if o.buf, err = o.printer.Print(o.buf[:start], e); err != nil {
			return err
		}
	}
	o.tally(f.made)
	return o.flushPrinted()
}

// unsectioned is an entry with the sections of a system prompt as its text, for tools
// that know none.
func unsectioned(e firn.Entry) firn.Entry {
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

// repeat writes lines as they are. What the printer held back comes before them.
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

// write adds lines as they are. What the ones before them ended with does not
// count any more.
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
	if o.bare = marks.Bare; o.bare {
		o.buf = o.buf[:len(o.buf)-1]
	}
}

// newLine makes what is written next begin a line.
func (o *writing) newLine() {
	o.owed, o.bare, o.apart = o.owed || o.bare, false, false
}

// flushPrinted hands on what the printer printed, which begins a line.
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

// isOurs reports whether the line that an entry came from is one of our own
// format, too, and says the same there.
func (o *writing) isOurs(t Told) bool {
	if o.to != dialect.Native || len(t.Lines) != 1 || t.Bare || t.Rest != nil || !o.alike {
		return false
	}
	g, err := o.glancer.Glance(t.Lines[0])
	return err == nil && g.Kind != firn.KindHeader && !g.NoParent && g == firn.GlanceOf(t.Entry)
}

// isTheirs reports whether a line of ours is one of the tool's, too.
func (o *writing) isTheirs(t Told, rehung bool) bool {
	v, ok := o.printer.(Verbatim)
	return ok && o.from == dialect.Native && !rehung && len(t.Lines) == 1 && v.Verbatim(t.Entry, t.Lines[0])
}

// Verbatim is a printer for a tool that takes some lines of firn's own format as
// they are.
type Verbatim interface {
	// Verbatim reports whether the line, which says the entry in our format, is
	// what the printer would print.
	Verbatim(e firn.Entry, line []byte) bool
}

// says reports whether what was printed is the one line it came from: then the
// line need not be carried.
func says(printed []byte, lines [][]byte) bool {
	return len(lines) == 1 && len(printed) == len(lines[0])+1 && string(printed[:len(lines[0])]) == string(lines[0])
}

// lost is told by the printer of what it cannot say. Of an entry that was held
// back it may tell later, when that was counted as said.
func (o *writing) lost(loss dialect.Loss) {
	if loss.Entry == o.current {
		o.losses = append(o.losses, loss)
		return
	}
	o.report.lose(loss.Limit, 1)
	if o.late == nil {
		o.late = make(map[firn.EntryID]bool)
	}
	if o.late[loss.Entry] || o.report.Said == 0 {
		return
	}
	o.late[loss.Entry] = true
	o.report.Said--
	if loss.Dropped {
		o.report.Left++
	} else {
		o.report.Changed++
	}
}

// tally counts the entry that was printed. One that was made up is no entry of
// the transcript, so only why is counted.
func (o *writing) tally(made bool) {
	dropped := false
	for _, l := range o.losses {
		o.report.lose(l.Limit, 1)
		dropped = dropped || l.Dropped
	}
	switch {
	case made:
	case dropped:
		o.report.Left++
	case len(o.losses) > 0:
		o.report.Changed++
	default:
		o.report.Said++
	}
}

// flush hands on what was printed. The newline at its end is owed until it is
// known that one follows.
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

// finish writes the newline that is owed, or what the transcript ended with
// instead.
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
