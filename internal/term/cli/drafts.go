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

// drafts leaves out the pieces in which an answer was kept while it came, since the
// answer says it all again, and holds those that no answer came of. Entries that only
// count what was used go with them.
type drafts struct {
	// all says that they are wanted, back that the newest entry comes first, branch that
	// messages of programs which are not for display are left out.
	all, back, branch bool
	// pieces are what is held, the oldest first.
	pieces   []string
	answered bool
}

// leavesOut looks at the next entry, and reports whether it is not to be shown.
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

// printCutOff prints what there is of an answer that no entry says as a whole.
func (p *program) printCutOff(pieces []string) error {
	if len(pieces) == 0 {
		return nil
	}
	if _, err := io.WriteString(p.stdout, prose.CutOff(strings.Join(pieces, ""))); err != nil {
		return fmt.Errorf("print an entry: %w", err)
	}
	return nil
}

// all reports whether every entry is shown, pieces of answers too.
func (f *catFlags) all(json bool) bool { return json || f.raw || f.full || f.view == wire.ViewDisk }

// limit is how many entries are asked for: as many as wanted, or more where not all
// are shown.
func (f *catFlags) limit(json bool) int {
	if f.all(json) {
		return int(f.count)
	}
	return 0
}
