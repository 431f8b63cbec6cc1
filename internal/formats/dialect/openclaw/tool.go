// Package openclaw reads and writes the sessions of OpenClaw, which was called
// Clawdbot and Clawdia before, where it keeps them. Its transcripts are those
// of pi; what this package adds is the table of sessions beside them and the
// names of the files: of topics, of forks, and of what was reset or deleted.
//
// Releases from the second half of 2026 keep their sessions in a database. They
// read the files described here once, to move into it; the database itself is
// not read.
package openclaw

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Tool is OpenClaw. It must be made with New.
type Tool struct {
	transcripts dialect.Tool
}

// New returns OpenClaw, whose transcripts are those of another tool: pi.
func New(transcripts dialect.Tool) Tool { return Tool{transcripts: transcripts} }

// Name returns dialect.OpenClaw.
func (Tool) Name() dialect.Name { return dialect.OpenClaw }

// Scanner begins to read a transcript.
func (t Tool) Scanner(from dialect.Origin) dialect.Scanner {
	return scanner{t.transcripts.Scanner(from), string(t.transcripts.Name()) + ":"}
}

// Printer begins to write a transcript, or to go on with one.
func (t Tool) Printer(to dialect.Target) dialect.Printer { return t.transcripts.Printer(to) }

// Limits lists what the files cannot say, which is what pi's cannot.
func (t Tool) Limits() []dialect.Limit { return t.transcripts.Limits() }

// Layout is where OpenClaw keeps its files.
func (Tool) Layout() dialect.Layout { return layout{} }

// scanner reads a transcript of the other tool and calls the lines that are
// carried OpenClaw's.
type scanner struct {
	dialect.Scanner
	prefix string
}

// Scan reads the next line.
func (s scanner) Scan(line []byte) ([]firn.Entry, error) {
	entries, err := s.Scanner.Scan(line)
	return s.rename(entries), err
}

// Finish returns what was waiting.
func (s scanner) Finish() []firn.Entry { return s.rename(s.Scanner.Finish()) }

func (s scanner) rename(entries []firn.Entry) []firn.Entry {
	for i := range entries {
		if c, ok := entries[i].Body.(*firn.Custom); ok && strings.HasPrefix(c.Type, s.prefix) {
			entries[i].Body = &firn.Custom{Type: dialect.LineType(dialect.OpenClaw, c.Type[len(s.prefix):]), Data: c.Data}
		}
	}
	return entries
}
