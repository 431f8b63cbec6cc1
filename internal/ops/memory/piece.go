package memory

import (
	"context"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// piece is the unit of recall: a fact, or a named note.
type piece struct {
	ref        string
	title      string
	text       string
	kind       string
	confidence float64
	day        time.Time
	sources    []Source
	// words are the words of the title and the text, textTerms the terms of the text.
	words     search.Text
	textTerms []string
}

// scoped is a piece with the scope of its folder.
type scoped struct {
	piece
	scope Scope
}

func (p scoped) hit(score float64) Hit {
	return Hit{Scope: p.scope, Ref: p.ref, Title: p.title, Text: p.text, Type: p.kind, Confidence: p.confidence, Time: p.day, Sources: p.sources, Score: score}
}

// pieceCache caches the pieces of unchanged files.
type pieceCache map[string]struct {
	text   string
	pieces []piece
}

// pieces returns all pieces of the folder, those of MEMORY.md first.
func (d *Dir) pieces(ctx context.Context) ([]piece, error) {
	files, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	d.cacheMu.Lock()
	defer d.cacheMu.Unlock()
	fresh := make(pieceCache, len(files))
	all := d.piecesOf(fresh, IndexFile, files[IndexFile].text)
	for _, n := range files.notes() {
		rel := notePath(n.Name)
		all = append(all, d.piecesOf(fresh, rel, files[rel].text)...)
	}
	d.known = fresh
	return all, nil
}

// piecesOf returns the pieces of a file, cached or newly parsed.
func (d *Dir) piecesOf(fresh pieceCache, rel, text string) []piece {
	entry, ok := d.known[rel]
	if !ok || entry.text != text {
		entry.text = text
		if rel == IndexFile {
			entry.pieces = indexPieces(text)
		} else {
			name := strings.TrimSuffix(strings.TrimPrefix(rel, memoryDir+"/"), ending)
			entry.pieces = parseNote(name, []byte(text)).pieces()
		}
		for i := range entry.pieces {
			p := &entry.pieces[i]
			p.words, p.textTerms = search.TextOf(p.title+" "+p.text), terms(p.text)
		}
	}
	fresh[rel] = entry
	return entry.pieces
}

// pieces returns the pieces of a note: its facts if it is a list of facts, otherwise the
// whole note.
func (n Note) pieces() []piece {
	_, daily := n.Day()
	if daily || n.Name == extractedNote {
		var all []piece
		for _, f := range n.Facts() {
			if !f.Gone {
				all = append(all, piece{ref: f.Ref(), text: f.Text, kind: string(f.Category), confidence: f.Confidence, day: f.Day, sources: f.Sources})
			}
		}
		return all
	}
	body := strings.TrimSpace(n.Body)
	if body == "" && n.Description == "" {
		return nil
	}
	text := body
	if n.Description != "" && !strings.Contains(body, n.Description) {
		text = strings.TrimSpace(n.Description + "\n" + body)
	}
	return []piece{{ref: n.Name, title: n.heading(), text: text, kind: n.Type, confidence: n.Confidence, day: n.Created, sources: n.Sources}}
}

// indexPieces returns the handwritten lines of MEMORY.md.
func indexPieces(text string) []piece {
	text, _ = firn.CleanText(text)
	var all []piece
	walkLines(text, func(_ int, line string, _ bool, _ time.Time) {
		if _, ok := pointsAt(line); ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<!--") {
			return
		}
		if plain := plainLine(line); plain != "" {
			all = append(all, piece{ref: IndexFile, text: plain})
		}
	})
	return all
}
