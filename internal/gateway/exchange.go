package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
	"firn.dev/wire"
)

// sniff is the number of bytes used to detect the format of a transcript.
const sniff = 64 << 10

// Formats lists the formats for import and export.
func (g *exchanger) Formats(context.Context) []wire.Format {
	list := make([]wire.Format, len(g.Tools))
	for i, tool := range g.Tools {
		list[i] = wire.Format{Name: string(tool.Name())}
		for _, l := range tool.Limits() {
			list[i].Limits = append(list[i].Limits, wire.Loss{What: l.Name, Becomes: l.Becomes})
		}
	}
	return list
}

// tool returns a format by name.
func (g *exchanger) tool(name string) (dialect.Tool, error) {
	var names []string
	for _, t := range g.Tools {
		if string(t.Name()) == name {
			return t, nil
		}
		names = append(names, string(t.Name()))
	}
	return nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("unknown format %q", name), Hint: "formats: " + strings.Join(names, ", ")}
}

// Import stores a transcript of any format as a session. Entries that the session already
// has are skipped, so an interrupted import can be repeated. If the session was continued in
// firn meanwhile, the head stays there. The body is streamed.
func (g *exchanger) Import(ctx context.Context, in wire.Import, body io.Reader) (wire.Imported, error) {
	if in.Agent != "" && firn.ID(in.Agent).Check() != nil {
		return wire.Imported{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("invalid agent name %q", in.Agent)}
	}
	stream := bufio.NewReaderSize(body, sniff)
	tool, err := g.formatOf(in, stream)
	if err != nil {
		return wire.Imported{}, err
	}
	report := &convert.Report{}
	src, id, err := incoming(tool, in, askerOf(ctx), convert.Lines(stream, g.MaxLine), report)
	if err != nil {
		return wire.Imported{}, err
	}
	before, err := g.headBeforeImport(ctx, id, tool.Name())
	if err != nil {
		return wire.Imported{}, err
	}
	added, err := convert.Import(ctx, g.Store, id, src, report)
	branch, moveErr := g.keepHead(ctx, id, tool.Name(), before)
	if err != nil {
		return wire.Imported{}, errors.Join(importConflict(err, id), moveErr)
	}
	if moveErr != nil {
		return wire.Imported{}, moveErr
	}
	if report.Total() == 0 {
		return wire.Imported{}, errEmpty()
	}
	if err := g.setImportedTitle(ctx, id, in.Title, added); err != nil {
		return wire.Imported{}, err
	}
	if err := g.checkpoint(ctx, id, added); err != nil {
		return wire.Imported{}, err
	}
	session, err := g.reader.Session(ctx, string(id))
	return wire.Imported{Session: session, Added: added, Branch: branch, Fidelity: convert.Fidelity(tool.Name(), dialect.Native, nil, report)}, err
}

// checkpoint stores the counters of an imported session, so that lists need not read all of
// it. The entry has the current time: the session becomes the most recently updated one.
func (g *exchanger) checkpoint(ctx context.Context, id firn.ID, added int64) error {
	if added == 0 {
		return nil
	}
	info, err := g.Info(ctx, id)
	if err != nil {
		return err
	}
	return agent.CheckpointAll(ctx, g.Store, id, info.End)
}

// importConflict explains a conflict with a different session of the same ID.
func importConflict(err error, id firn.ID) error {
	var differs *convert.Differs
	message := fmt.Sprintf("session %s already exists and has no entries in common with the transcript", id)
	switch {
	case errors.As(err, &differs):
		if message = differs.Error(); differs.Added > 0 {
			message += fmt.Sprintf("; %d entries before it were added", differs.Added)
		}
	case !errors.Is(err, firn.ErrConflict):
		return err
	}
	return &wire.Problem{Kind: wire.Conflict, Message: message, Hint: "to keep both, use another id: --id NAME (over HTTP, id=NAME)"}
}

// formatOf returns the format of a transcript.
func (g *exchanger) formatOf(in wire.Import, stream *bufio.Reader) (dialect.Tool, error) {
	first, err := stream.Peek(sniff)
	if in.From != "" {
		tool, err := g.tool(in.From)
		if err == nil && !isTranscriptOf(tool, first) {
			return nil, &wire.Problem{Kind: wire.Unsupported, Message: fmt.Sprintf("it is not a transcript but a file of %s, which cannot be imported directly", tool.Name()), Hint: "to mirror the sessions of the tool: firn adopt"}
		}
		return tool, err
	}
	if len(first) == 0 {
		if err != nil && err != io.EOF {
			return nil, err
		}
		return nil, errEmpty()
	}
	name, err := dialect.Detect(first)
	if err != nil {
		return nil, &wire.Problem{Kind: wire.Invalid, Message: "cannot detect the format of the transcript from its first lines", Hint: "set the format, for example --from claudecode (over HTTP, from=claudecode); for a database or a log of another tool: firn adopt"}
	}
	return g.tool(string(name))
}

// isTranscriptOf reports whether a file may be a transcript of a tool. That of a tool that
// keeps its sessions in another form has a head, which has the ID of the session.
func isTranscriptOf(tool dialect.Tool, first []byte) bool {
	if _, ok := tool.(dialect.Viewer); !ok {
		return true
	}
	name, err := dialect.Detect(first)
	return err == nil && name == tool.Name()
}

// incoming returns the transcript as a source, and the session ID. It reads ahead to the
// header, which has the ID, and to the next entry, to reject an empty transcript.
func incoming(tool dialect.Tool, in wire.Import, who Asker, lines iter.Seq2[[]byte, error], report *convert.Report) (convert.Source, firn.ID, error) {
	origin := dialect.Origin{Transcript: dialect.Transcript{ID: in.ID, Agent: in.Agent, Title: in.Title}}
	if in.Name != "" {
		origin.Parts = []string{in.Name}
	}
	next, stop := iter.Pull2(convert.Transcript(tool, origin, func() iter.Seq2[[]byte, error] { return lines }).Entries(report))
	ahead, after := readAhead(next)
	if after == nil && (len(ahead) == 0 || len(ahead) == 1 && report.Damaged >= report.Lines) { // the header may be synthetic
		stop()
		return convert.Source{}, "", nothingRead(tool, report)
	}
	if after == nil && !convert.Importable(ahead) {
		stop()
		return convert.Source{}, "", &wire.Problem{Kind: wire.Invalid, Message: wire.NoMessageYet, Hint: "import it again when it has messages"}
	}
	if after != nil && len(ahead) == 0 {
		stop()
		return convert.Source{}, "", after
	}
	id := incomingID(&ahead[0], in)
	if err := id.Check(); err != nil {
		stop()
		return convert.Source{}, "", err
	}
	reported := func(yield func(dialect.EntryLines, error) bool) {
		defer stop()
		for _, t := range ahead {
			if !yield(signImported(t, who), nil) {
				return
			}
		}
		if after != nil {
			yield(dialect.EntryLines{}, after)
			return
		}
		for t, err, ok := next(); ok; t, err, ok = next() {
			if !yield(signImported(t, who), err) {
				return
			}
		}
	}
	return convert.Source{Tool: tool.Name(), Entries: func(*convert.Report) iter.Seq2[dialect.EntryLines, error] { return reported }}, id, nil
}

// incomingID returns the session ID: the requested one, the one in the header, or the file
// name. It sets the requested agent in the header.
func incomingID(first *dialect.EntryLines, in wire.Import) firn.ID {
	id := in.ID
	if h, isHeader := first.Entry.Body.(*firn.Header); isHeader {
		if id == "" && h.Session.Check() == nil {
			id = h.Session
		}
		if in.Agent != "" {
			ours := *h
			ours.Agent, ours.Key = in.Agent, "" // a key belongs to one agent
			first.Entry.Body = &ours
		}
	}
	if stem := firn.ID(strings.TrimSuffix(path.Base(in.Name), ".jsonl")); id == "" && stem.Check() == nil {
		id = stem
	}
	if id == "" {
		id = firn.NewID()
	}
	return id
}

// readAhead reads entries until the conversation has begun, at least two: there may be
// nothing but a header.
func readAhead(next func() (dialect.EntryLines, error, bool)) (ahead []dialect.EntryLines, err error) {
	for len(ahead) < 2 || !convert.Importable(ahead) {
		t, err, ok := next()
		if !ok || err != nil {
			return ahead, err
		}
		t.Lines = cloneLines(t.Lines)
		ahead = append(ahead, t)
	}
	return ahead, nil
}

// cloneLines copies lines, which are valid only until the next read.
func cloneLines(lines [][]byte) [][]byte {
	kept := make([][]byte, len(lines))
	for i, line := range lines {
		kept[i] = bytes.Clone(line)
	}
	return kept
}

// errEmpty returns the error for a transcript without a line.
func errEmpty() error {
	return &wire.Problem{Kind: wire.Invalid, Message: "the transcript is empty", Hint: "check that it is the right file; firn adopt finds the sessions of other tools"}
}

// nothingRead returns the error for a transcript without entries.
func nothingRead(tool dialect.Tool, report *convert.Report) error {
	if report.Damaged > 0 {
		return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("no line of the transcript is valid in the format %s", tool.Name()),
			Hint: "check that it is the right file; for details: firn verify FILE"}
	}
	return errEmpty()
}

// setImportedTitle gives an untitled session the title that came with the transcript.
func (g *exchanger) setImportedTitle(ctx context.Context, id firn.ID, title string, added int64) error {
	if title == "" || added == 0 {
		return nil
	}
	session, err := g.reader.Session(ctx, string(id))
	if err != nil || session.Title != "" {
		return err
	}
	_, err = g.editor.append(ctx, id, store.Any, firn.Entry{Body: &firn.Title{Name: title, Source: firn.SourceAuto}})
	return err
}

// Export writes a session in another format and reports the fidelity of the conversion.
func (g *exchanger) Export(ctx context.Context, id firn.ID, e wire.Export, w io.Writer) (wire.Fidelity, error) {
	if e.Format == wire.FormatHTML {
		session, err := g.reader.Session(ctx, string(id))
		if err != nil {
			return wire.Fidelity{}, err
		}
		return g.WritePage(ctx, session, e.View, w)
	}
	tool, err := g.tool(e.Format)
	if err != nil {
		return wire.Fidelity{}, err
	}
	session, err := g.reader.Session(ctx, string(id))
	if err != nil {
		return wire.Fidelity{}, err
	}
	src := convert.Stored(ctx, g.Store, id, dialect.Native)
	if g.Transcript != nil {
		if src, err = g.Transcript(ctx, id); err != nil {
			return wire.Fidelity{}, err
		}
	}
	target := dialect.Target{
		Session: id, As: e.As, Title: session.Title, CWD: cmp.Or(e.CWD, session.CWD), Agent: session.Agent, Key: session.Key,
		Created: session.Created, Updated: session.Updated,
	}
	if session.State != nil {
		target.Provider, target.Model = session.State.Provider, session.State.Model
	}
	report := &convert.Report{}
	if !e.Mask {
		err = convert.Write(ctx, w, src, tool, target, report)
		return convert.Fidelity(src.Tool, tool.Name(), tool.Limits(), report), err
	}
	masked := convert.NewMasked(w)
	if err = convert.Write(ctx, masked, src, tool, target, report); err == nil {
		err = masked.Close()
	}
	fidelity := convert.Fidelity(src.Tool, tool.Name(), tool.Limits(), report)
	fidelity.Masked = &masked.Places
	return fidelity, err
}
