package filestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
)

// TestCutAtEveryByte truncates a transcript with entries of all kinds at every byte of each
// kind. All complete entries must be readable, the rest reported and saved, and appending
// must work.
func TestCutAtEveryByte(t *testing.T) {
	t.Parallel()
	tr := writeTranscript(t, 200)
	data, step := tr.bytes(), 1
	if testing.Short() {
		step = 23
	}
	const shares = 4
	cuts := cutsOf(tr)
	for share := range shares {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			t.Parallel()
			for i := share * step; i < len(cuts); i += shares * step {
				n := cuts[i]
				if err := cutAt(t, tr, data, n); err != nil {
					t.Fatalf("cut at byte %d of %d: %v", n, len(data), err)
				}
			}
		})
	}
}

// cutsOf returns the offsets at which a transcript is truncated: every byte of a line whose
// shape, ignoring digits, is new. For other lines only the offsets around the newline and a
// few others.
func cutsOf(tr transcript) []int {
	var cuts []int
	shapes, at := make(map[string]bool), 0
	for _, line := range tr.lines {
		shape := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, string(line))
		for n := range len(line) + 1 {
			if !shapes[shape] || n < 2 || n > len(line)-2 || (at+n)%11 == 0 {
				cuts = append(cuts, at+n)
			}
		}
		shapes[shape] = true
		at += len(line) + 1
	}
	return append(cuts, at)
}

// thorough selects every seventh cut for a complete check. For the others only the end is
// checked.
func thorough(n int) bool { return n%7 == 0 }

// cutAt truncates a transcript at a byte and checks the result.
func cutAt(t *testing.T, tr transcript, data []byte, n int) error {
	h := openDamaged(t, map[string][]byte{"": data[:n]})
	whole := tr.lines[:bytes.Count(data[:n], []byte("\n"))]
	fragment := data[bytes.LastIndexByte(data[:n], '\n')+1 : n]
	finished := false
	if next := len(whole); next < len(tr.lines) && bytes.Equal(bytes.TrimSpace(fragment), bytes.TrimSpace(tr.lines[next])) {
		whole, finished = tr.lines[:next+1], true // only the newline is missing
	}
	if err := lookAtCut(t, h, whole, len(fragment) > 0 && !finished, thorough(n), n%49 == 0); err != nil {
		return fmt.Errorf("as it was left: %w", err)
	}
	if err := addToCut(h, whole, thorough(n)); err != nil {
		return fmt.Errorf("having added to it: %w", err)
	}
	return h.checkRepair(t, fragment, finished)
}

// lookFrom returns the position to read from and the expected lines.
func lookFrom(whole [][]byte, all bool) (store.Pos, [][]byte) {
	skip := len(whole) - 3
	if all || skip <= 0 {
		return store.Start, whole
	}
	from := skip // the newlines
	for _, line := range whole[:skip] {
		from += len(line)
	}
	return store.Pos(from), whole[skip:]
}

// lookAtCut reads the truncated transcript without changing it.
func lookAtCut(t *testing.T, h *damagedStore, whole [][]byte, torn, all, windows bool) error {
	before := h.files(t)
	st, err := h.open(true)
	if err != nil {
		return err
	}
	from, tail := lookFrom(whole, all)
	s, err := readExpected(st, from, tail, all)
	if len(before[hurtPath[1:]]) == 0 && errors.Is(err, firn.ErrNotFound) {
		return st.Close()
	}
	if err != nil {
		return err
	}
	if torn != (len(s.gaps) == 1) || len(s.gaps) > 1 || torn && s.gaps[0].Kind != firn.GapTorn || len(s.extra) > 0 {
		return fmt.Errorf("torn: %v, gaps: %v, more lines: %s", torn, s.gaps, s.extra)
	}
	if err := lookBack(st, whole, all); err != nil {
		return err
	}
	if windows {
		if err := checkWindows(st); err != nil {
			return err
		}
	}
	if !maps.Equal(before, h.files(t)) {
		return errors.New("reading changed a file")
	}
	return st.Close()
}

// addToCut appends an entry to the truncated transcript.
func addToCut(h *damagedStore, whole [][]byte, all bool) error {
	st, err := h.open(false)
	if err != nil {
		return err
	}
	e := firn.Entry{ID: "new", Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "and now?"}}}}
	if _, err := st.Append(context.Background(), hurtSession, store.Any, e); err != nil {
		return err
	}
	from, tail := lookFrom(whole, all)
	s, err := readExpected(st, from, tail, all)
	if err != nil {
		return err
	}
	added := 1
	if len(whole) == 0 { // a new session, with a header
		added = 2
	}
	if len(s.gaps) > 0 || len(s.extra) != added || !bytes.Contains(s.extra[added-1], []byte(`"id":"new"`)) {
		return fmt.Errorf("there are %d gaps, and after the existing lines %q", len(s.gaps), s.extra)
	}
	if all {
		if err := checkWindows(st); err != nil {
			return err
		}
	}
	return st.Close()
}

// checkRepair checks that a repair was reported and the removed bytes were saved.
func (h *damagedStore) checkRepair(t *testing.T, fragment []byte, finished bool) error {
	side := ""
	for name, data := range h.files(t) {
		if strings.Contains(name, ".torn-") {
			side = data
		}
	}
	output := strings.Join(h.reports, "; ")
	switch {
	case len(fragment) == 0 && (output != "" || side != ""):
		return fmt.Errorf("nothing was torn, but the report is: %s", output)
	case finished && (!strings.Contains(output, "newline") || side != ""):
		return fmt.Errorf("a newline was missing, but the report is: %s", output)
	case len(fragment) > 0 && !finished && (!strings.Contains(output, "moved to") || side != string(fragment)):
		return fmt.Errorf("%d bytes were cut off, %d of them kept; the report is: %s", len(fragment), len(side), output)
	}
	return nil
}
