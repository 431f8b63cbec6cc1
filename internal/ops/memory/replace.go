package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// Files are the notes of a folder as files, for copies on other machines.
type Files struct{ *Dir }

// Texts returns the notes as they are stored, by name. others are the names of files that are
// there but no such notes: too large, not UTF-8, no regular files, or too many.
func (d Files) Texts(ctx context.Context) (texts map[string]string, others []string, err error) {
	files, err := d.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	texts = make(map[string]string)
	for rel, c := range files {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(rel, ending), memoryDir+"/"); ok && CheckText(name, c.text) == nil {
			texts[name] = c.text
		}
	}
	found, err := d.fs.ReadDir(filepath.Join(d.root, memoryDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("list the notes: %w", err)
	}
	for _, f := range found {
		name, ok := strings.CutSuffix(f.Name(), ending)
		if _, known := texts[name]; ok && !known {
			others = append(others, name)
		}
	}
	return texts, others, nil
}

// maxName is the maximum length of the name of a note.
const maxName = 200

// CheckText rejects what cannot be the name and the text of a note.
func CheckText(name, text string) error {
	switch {
	case name == "" || len(name) > maxName || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\\x00") || !utf8.ValidString(name):
		return failure.Of(firn.ErrInvalid, "invalid name of a note %.60q", name)
	case len(text) > maxFile:
		return failure.Of(firn.ErrTooLarge, "the note %.60q has %d bytes, at most %d are allowed", name, len(text), maxFile)
	case !utf8.ValidString(text):
		return failure.Of(firn.ErrInvalid, "the note %.60q is not UTF-8", name)
	}
	return nil
}

// Replace replaces notes with texts from another machine; an empty text removes a note. Facts
// whose sources were erased here are left out. The change can be undone. was has the texts of
// the notes when this was decided; if one differs now, Replace fails with [firn.ErrConflict].
func (d Files) Replace(ctx context.Context, was, texts map[string]string) error {
	return d.locked(ctx, func() error {
		files, err := d.read(ctx)
		if err != nil {
			return err
		}
		erased, err := d.tombstones()
		if err != nil {
			return err
		}
		change := newDraft("sync", d.clock())
		for name, text := range texts {
			if err := CheckText(name, text); err != nil {
				return err
			}
			rel := notePath(name)
			old := files[rel]
			if old.text != was[name] {
				return failure.Of(firn.ErrConflict, "change the notes: %s was edited concurrently", rel)
			}
			text = erased.remainingText(text)
			to := content{text, text != ""}
			gone, came := diffLines(lineList(old.text), lineList(text))
			change.put(rel, old, to, Edit{Do: "write", Note: name, Old: gone, New: came, Why: "changed on another machine"})
			if delete(files, rel); to.there {
				files[rel] = to
			}
		}
		slices.SortFunc(change.Edits, func(a, b Edit) int { return strings.Compare(a.Note, b.Note) })
		change.index(files)
		return d.commit(ctx, change)
	})
}

// remainingText returns a text without the facts whose sources were all erased.
func (t tombstones) remainingText(text string) string {
	if len(t.Sessions) == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		f, ok := parseFact(strings.TrimRight(line, "\r\n"))
		if !ok || len(t.remainingFacts([]Fact{f})) > 0 {
			b.WriteString(line)
		}
	}
	return b.String()
}
