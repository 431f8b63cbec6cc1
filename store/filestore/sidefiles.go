package filestore

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// A journal saves two kinds of side files next to a part: torn files with the incomplete
// line that a crash has left, and rescued files with the acknowledged lines of a file that
// was deleted or truncated.

// isRescued reports whether a side file holds rescued lines.
func isRescued(name string) bool {
	side := sideFile().FindStringSubmatch(name)
	return side != nil && side[2] == "rescued"
}

// entrySearch collects which of some entries were found.
type entrySearch struct {
	entries []firn.EntryID
	found   map[firn.EntryID]bool
}

// match reports whether a record is one of the entries, and marks it as found.
func (q entrySearch) match(r firn.Record) bool {
	if r.Gap != nil || r.Glance.Kind == firn.KindHeader || !slices.Contains(q.entries, r.Glance.ID) {
		return false
	}
	q.found[r.Glance.ID] = true
	return true
}

// check returns ErrNotFound if an entry was not found.
func (q entrySearch) check() error {
	for _, id := range q.entries {
		if !q.found[id] {
			return fmt.Errorf("entry %q: %w", id, firn.ErrNotFound)
		}
	}
	return nil
}

// eraseSideFiles erases the entries of a receipt in the side files of a transcript. Torn
// files are removed completely, since their fragments cannot be attributed to entries.
// Rescued files may be the only copy of other entries, which are kept.
func (st *eraser) eraseSideFiles(ctx context.Context, dir string, files []string, receipt *store.Receipt) error {
	var torn []string
	for _, name := range files {
		path := filepath.Join(dir, name)
		switch {
		case filepath.Ext(name) == transcriptExt:
		case isRescued(name):
			spans, err := st.sideFileSpans(ctx, path, entrySearch{receipt.Entries, make(map[firn.EntryID]bool)})
			if err != nil {
				return err
			}
			if len(spans) == 0 {
				continue
			}
			if err := journal.Erase(st.fs, path, spans); err != nil {
				return err
			}
			for _, span := range spans {
				st.addToReceipt(receipt, path, int64(len(span.Data)))
			}
		default:
			torn = append(torn, name)
		}
	}
	return st.eraseFiles(dir, torn, receipt)
}

// sideFileSpans returns the lines of a rescued file that must change, with their
// replacements.
func (st *eraser) sideFileSpans(ctx context.Context, path string, wanted entrySearch) (spans []journal.Span, err error) {
	r := dialect.Reader{Dialect: st.dialect}
	for line, err := range st.unlimited(path).Lines(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		records := r.Records(dialect.Line(line))
		if clean := eraseLine(line, records, wanted); !bytes.Equal(clean, line.Data) {
			spans = append(spans, journal.Span{At: line.Start, Data: clean})
		}
	}
	return spans, nil
}

// eraseLine returns a line without the wanted entries and without fragments: a rescued file
// may start in the middle of a line that could belong to any entry.
func eraseLine(line journal.Line, records []firn.Record, wanted entrySearch) []byte {
	clean := bytes.Repeat([]byte{' '}, len(line.Data))
	for _, r := range records {
		if r.Gap != nil {
			continue
		}
		stays := r.Line()
		if wanted.match(r) && r.Glance.Kind != firn.KindErased {
			stays = erasedEntry(r)
		}
		copy(clean[r.At-line.Start:], stays)
	}
	return clean
}
