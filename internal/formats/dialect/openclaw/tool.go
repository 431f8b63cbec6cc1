// Package openclaw reads and writes the sessions of OpenClaw, formerly Clawdbot and
// Clawdia. Its transcripts are in pi's format; this package adds the table of sessions and
// the file names of topics, forks, and reset or deleted sessions.
//
// Releases from the second half of 2026 keep their sessions in a database. They read the
// files described here once, to migrate them; the database itself is not read.
package openclaw

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Tool implements dialect.Tool for OpenClaw. Use New to create one.
type Tool struct {
	transcripts dialect.Tool
}

// New returns a tool whose transcripts are those of another tool, pi.
func New(transcripts dialect.Tool) Tool { return Tool{transcripts: transcripts} }

// Name returns dialect.OpenClaw.
func (Tool) Name() dialect.Name { return dialect.OpenClaw }

// Scanner returns a scanner for a transcript.
func (t Tool) Scanner(from dialect.Origin) dialect.Scanner {
	return scanner{t.transcripts.Scanner(from), string(t.transcripts.Name()) + ":"}
}

// Printer returns a printer for a new transcript or for appending to one.
func (t Tool) Printer(to dialect.Target) dialect.Printer { return t.transcripts.Printer(to) }

// Limits returns pi's limits.
func (t Tool) Limits() []dialect.Limit { return t.transcripts.Limits() }

// Layout returns OpenClaw's file layout.
func (Tool) Layout() dialect.Layout { return layout{} }

// scanner reads a transcript of the other tool and relabels carried lines as OpenClaw's.
type scanner struct {
	dialect.Scanner
	prefix string
}

// Scan reads the next line.
func (s scanner) Scan(line []byte) ([]firn.Entry, error) {
	entries, err := s.Scanner.Scan(line)
	return s.rename(entries), err
}

// Finish returns the entries held back.
func (s scanner) Finish() []firn.Entry { return s.rename(s.Scanner.Finish()) }

func (s scanner) rename(entries []firn.Entry) []firn.Entry {
	for i := range entries {
		if c, ok := entries[i].Body.(*firn.Custom); ok && strings.HasPrefix(c.Type, s.prefix) {
			entries[i].Body = &firn.Custom{Type: dialect.LineType(dialect.OpenClaw, c.Type[len(s.prefix):]), Data: c.Data}
		}
	}
	return entries
}
