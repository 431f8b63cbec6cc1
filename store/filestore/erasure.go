package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/store"
)

// erasure is the file format of a receipt. While the purge is in progress it also contains
// the spans to be overwritten: a power failure may leave a half erased line that cannot be
// parsed.
type erasure struct {
	store.Receipt
	Spans []span `json:"spans,omitempty"`
}

// span is a range of bytes to be overwritten with Text, padded with spaces to Length.
type span struct {
	At     firn.Pos `json:"at"`
	Length int      `json:"length"`
	Text   string   `json:"text"`
}

func encodeSpans(spans []journal.Span) []span {
	encoded := make([]span, len(spans))
	for i, s := range spans {
		encoded[i] = span{s.At, len(s.Data), string(bytes.TrimRight(s.Data, " "))}
	}
	return encoded
}

// spans decodes the result of encodeSpans.
func (e erasure) spans() ([]journal.Span, error) {
	spans := make([]journal.Span, len(e.Spans))
	for i, s := range e.Spans {
		if s.Length < len(s.Text) || s.Length > maxSpan || strings.Contains(s.Text, "\n") {
			return nil, fmt.Errorf("receipt of session %s: %w: it does not list the erased bytes", e.Session, firn.ErrCorrupt)
		}
		spans[i] = journal.Span{At: s.At, Data: append([]byte(s.Text), bytes.Repeat([]byte{' '}, s.Length-len(s.Text))...)}
	}
	return spans, nil
}

// maxSpan is the maximum length of a span; no line is longer.
const maxSpan = 1 << 30

func (st *eraser) saveReceipt(path string, e erasure) error {
	if err := st.fs.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	if e.Files == nil {
		e.Files = []string{}
	}
	return st.writeJSON(path, e)
}

// erase overwrites the spans of the erasure in the transcript at base, and completes the
// receipt at path.
func (st *eraser) erase(path, base string, e erasure) (store.Receipt, error) {
	spans, err := e.spans()
	if err != nil {
		return e.Receipt, err
	}
	if err := journal.Erase(st.fs, base, spans); err != nil {
		return e.Receipt, err
	}
	for _, span := range spans {
		part, _ := journal.Split(span.At)
		st.addToReceipt(&e.Receipt, journal.PartPath(base, part), int64(len(span.Data)))
	}
	e.Done, e.Spans = st.opts.Now().UTC(), nil
	return e.Receipt, st.saveReceipt(path, e)
}

// finishErasures completes interrupted purges of entries of a session.
func (st *eraser) finishErasures(ctx context.Context, id firn.ID, dir string, files []string) error {
	names, err := st.fs.ReadDir(st.receiptsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name.Name(), string(id)+"-") {
			continue
		}
		path := filepath.Join(st.receiptsDir(), name.Name())
		var e erasure
		if err := st.readJSON(path, &e); err != nil {
			return err
		}
		if e.Session != id || !e.Done.IsZero() {
			continue
		}
		if err := st.eraseSideFiles(ctx, dir, files, &e.Receipt); err != nil {
			return err
		}
		if _, err := st.erase(path, filepath.Join(dir, files[0]), e); err != nil {
			return err
		}
	}
	return nil
}
