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

// What a journal saves beside a part is torn, the unfinished line that a crash
// has left, or rescued, the acknowledged lines of a file that somebody took away
// or cut short.

// isRescued reports whether a file holds rescued lines.
func isRescued(name string) bool {
	side := sideFile.FindStringSubmatch(name)
	return side != nil && side[2] == "rescued"
}

// quarry is entries that are looked for.
type quarry struct {
	entries []firn.EntryID
	found   map[firn.EntryID]bool
}

// has reports whether a record is one that is looked for.
func (q quarry) has(r firn.Record) bool {
	if r.Gap != nil || r.Glance.Kind == firn.KindHeader || !slices.Contains(q.entries, r.Glance.ID) {
		return false
	}
	q.found[r.Glance.ID] = true
	return true
}

// check is ErrNotFound if one was not found.
func (q quarry) check() error {
	for _, id := range q.entries {
		if !q.found[id] {
			return fmt.Errorf("entry %q: %w", id, firn.ErrNotFound)
		}
	}
	return nil
}

// eraseBeside erases the entries of a receipt in what was saved beside the
// transcript. Torn files go as a whole: nobody can tell which entries they are
// pieces of. Rescued ones may be all there is of other entries, which stay.
func (st *Store) eraseBeside(ctx context.Context, dir string, files []string, receipt *store.Receipt) error {
	var torn []string
	for _, name := range files {
		path := filepath.Join(dir, name)
		switch {
		case filepath.Ext(name) == transcriptExt:
		case isRescued(name):
			spans, err := st.spansBeside(ctx, path, quarry{receipt.Entries, make(map[firn.EntryID]bool)})
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
				st.note(receipt, path, int64(len(span.Data)))
			}
		default:
			torn = append(torn, name)
		}
	}
	return st.eraseFiles(dir, torn, receipt)
}

// spansBeside finds the lines of a rescued file that must change, and what
// shall stand there.
func (st *Store) spansBeside(ctx context.Context, path string, wanted quarry) (spans []journal.Span, err error) {
	r := dialect.Reader{Dialect: st.dialect}
	for line, err := range st.unlimited(path).Lines(0) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		records := r.Records(dialect.Line(line))
		if clean := cleanse(line, records, wanted); !bytes.Equal(clean, line.Data) {
			spans = append(spans, journal.Span{At: line.Start, Data: clean})
		}
	}
	return spans, nil
}

// cleanse returns a line without the entries that are wanted and without what
// is no entry: a file that was rescued may begin within a line, and nobody can
// tell which entry that is the rest of.
func cleanse(line journal.Line, records []firn.Record, wanted quarry) []byte {
	clean := bytes.Repeat([]byte{' '}, len(line.Data))
	for _, r := range records {
		if r.Gap != nil {
			continue
		}
		stays := r.Line()
		if wanted.has(r) && r.Glance.Kind != firn.KindErased {
			stays = remains(r)
		}
		copy(clean[r.At-line.Start:], stays)
	}
	return clean
}
