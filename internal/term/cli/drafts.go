package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// drafts filters the draft entries of answers, because the complete answer repeats them. It
// keeps the text of drafts without a complete answer. Entries that only count usage are
// filtered too.
type drafts struct {
	// all disables the filter, back means that entries arrive newest first, and branch also
	// filters undisplayed messages of programs.
	all, back, branch bool
	// pieces are the drafts of an incomplete answer, oldest first.
	pieces   []string
	answered bool
}

// leavesOut processes the next entry and reports whether to skip it.
func (d *drafts) leavesOut(e wire.Entry) bool {
	if d.all || !bytes.Contains(e.Line, []byte(`"customType"`)) && !bytes.Contains(e.Line, []byte(`"role"`)) {
		return false
	}
	l, _ := prose.ReadLine(e.Line)
	text, piece := l.Draft()
	switch {
	case piece && d.back && !d.answered:
		d.pieces = slices.Insert(d.pieces, 0, text)
	case piece && !d.back:
		d.pieces = append(d.pieces, text)
	case l.Answers():
		if d.answered = true; !d.back {
			d.pieces = nil
		}
	}
	return piece || l.Counts() || d.branch && l.Undisplayed()
}

// printCutOff prints the drafts of an incomplete answer.
func (p transcriptCommands) printCutOff(pieces []string) error {
	if len(pieces) == 0 {
		return nil
	}
	if _, err := io.WriteString(p.stdout, prose.CutOff(strings.Join(pieces, ""))); err != nil {
		return fmt.Errorf("print entry: %w", err)
	}
	return nil
}

// all reports whether every entry is shown, including drafts.
func (f *catFlags) all(json bool) bool { return json || f.raw || f.full || f.view == wire.ViewDisk }

// limit returns the number of entries to request. It is 0, meaning all, if some of them
// will be skipped.
func (f *catFlags) limit(json bool) int {
	if f.all(json) {
		return int(f.count)
	}
	return 0
}
