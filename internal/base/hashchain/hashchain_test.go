package hashchain

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const session = "01a1"

// transcript returns linked lines of a session: a header and n entries.
func transcript(t testing.TB, session string, n int) [][]byte {
	t.Helper()
	state := Start(session)
	var lines [][]byte
	for i := range n + 1 {
		line := fmt.Appendf(nil, `{"type":"message","id":"e%d","parentId":"e%d","text":"it costs 100"}`, i, i-1)
		if i == 0 {
			line = []byte(`{"type":"session","id":"` + session + `"}`)
		}
		line, state = state.Append(line, 0)
		lines = append(lines, line)
	}
	return lines
}

// check returns the checker and the explanation of lines.
func check(session string, lines [][]byte, wanted ...State) (*Checker, Fault, bool) {
	c, x := NewChecker(session, wanted...), NewExplainer(session)
	owner := session
	for _, line := range lines {
		c.Add(line)
		l := Line{Data: line}
		if parts := strings.Split(string(line), `"`); len(parts) > 11 && parts[3] == "message" || len(parts) > 11 && parts[3] == "erased" {
			l.ID, l.Parent = parts[7], parts[11]
		} else if len(parts) > 7 && parts[3] == "session" {
			owner = parts[7]
		}
		if l.Parent == "e0" || l.Parent == "e-1" {
			l.Parent = ""
		}
		x.Add(l)
	}
	faults := x.Faults(owner, false)
	if len(faults) == 0 {
		return c, Fault{}, false
	}
	return c, faults[0], true
}

// erase returns the line in the place of an erased one.
func erase(line []byte, n int, kept bool) []byte {
	b := fmt.Appendf(nil, `{"type":"erased","id":"e%d","parentId":"e%d"`, n, n-1)
	if kept {
		b = AppendSum(b, line)
	}
	b = append(b, '}')
	return append(b, bytes.Repeat([]byte(" "), len(line)-len(b))...)
}

func TestFaults(t *testing.T) {
	foreign := []byte(`{"type":"message","id":"f1","parentId":"e3","text":"by another program"}`)
	forged := func(lines [][]byte, at int, text string) []byte {
		state, _ := LinkOf(lines[at])
		line, _ := state.Append([]byte(text), 0)
		return line
	}
	for _, test := range []struct {
		name   string
		change func([][]byte) [][]byte
		want   Fault
	}{
		{"nothing", func(l [][]byte) [][]byte { return l }, Fault{}},
		{"changed", func(l [][]byte) [][]byte {
			l[3] = bytes.Replace(l[3], []byte("100"), []byte("900"), 1)
			return l
		}, Fault{Changed, 4, 4}},
		{"the last one changed", func(l [][]byte) [][]byte {
			l[9] = bytes.Replace(l[9], []byte("100"), []byte("900"), 1)
			return l
		}, Fault{Changed, 10, 10}},
		{"the header changed", func(l [][]byte) [][]byte {
			l[0] = bytes.Replace(l[0], []byte("session"), []byte("Session"), 1)
			return l
		}, Fault{Changed, 1, 1}},
		{"the link changed", func(l [][]byte) [][]byte {
			c := &l[3][len(l[3])-30]
			if *c != 'A' {
				*c = 'A'
			} else {
				*c = 'B'
			}
			return l
		}, Fault{Changed, 4, 4}},
		{"removed", func(l [][]byte) [][]byte { return slices.Delete(l, 3, 5) }, Fault{Removed, 4, 4}},
		{"inserted", func(l [][]byte) [][]byte { return slices.Insert(l, 4, foreign, foreign) }, Fault{Inserted, 5, 6}},
		{"inserted with a fitting link", func(l [][]byte) [][]byte {
			return slices.Insert(l, 4, forged(l, 3, `{"type":"message","id":"f1","parentId":"e3","text":"forged"}`))
		}, Fault{Inserted, 5, 5}},
		{"repeated", func(l [][]byte) [][]byte { return slices.Insert(l, 6, l[2]) }, Fault{Inserted, 7, 7}},
		{"reordered", func(l [][]byte) [][]byte { l[4], l[5] = l[5], l[4]; return l }, Fault{Reordered, 5, 6}},
		{"moved to the end", func(l [][]byte) [][]byte { return append(slices.Delete(slices.Clone(l), 4, 5), l[4]) }, Fault{Reordered, 5, 10}},
		{"swapped", func([][]byte) [][]byte { return transcript(t, "02b2", 9) }, Fault{Swapped, 1, 1}},
		{"swapped with another header", func([][]byte) [][]byte {
			l := transcript(t, "02b2", 9)
			l[0] = bytes.Replace(l[0], []byte("02b2"), []byte(session), 1)
			return l
		}, Fault{Changed, 1, 1}},
		{"appended by another program", func(l [][]byte) [][]byte { return append(l, foreign) }, Fault{}},
		{"blank lines", func(l [][]byte) [][]byte { return slices.Insert(l, 4, nil, []byte("  ")) }, Fault{}},
		{"carriage returns and a byte order mark", func(l [][]byte) [][]byte {
			for i := range l {
				l[i] = append(l[i], '\r')
			}
			l[0] = append([]byte("\ufeff"), l[0]...)
			return l
		}, Fault{}},
		{"cut", func(l [][]byte) [][]byte { return l[:5] }, Fault{}},
		{"erased", func(l [][]byte) [][]byte { l[3] = erase(l[3], 3, true); return l }, Fault{}},
		{"redacted", func(l [][]byte) [][]byte {
			l[3] = Redact(bytes.Replace(l[3], []byte("100"), []byte("[secret]"), 1), l[3])
			return l
		}, Fault{}},
		{"erased without hash", func(l [][]byte) [][]byte { l[3] = erase(l[3], 3, false); return l }, Fault{Unproven, 4, 5}},
		{"erased, with another parent", func(l [][]byte) [][]byte {
			l[3] = bytes.Replace(erase(l[3], 3, true), []byte(`"parentId":"e2"`), []byte(`"parentId":"e1"`), 1)
			return l
		}, Fault{Changed, 4, 5}},
		{"erased, with text", func(l [][]byte) [][]byte {
			line := erase(l[3], 3, true)
			l[3] = bytes.Replace(line, []byte(`"type":"erased",`), []byte(`"type":"erased","type":"message",`), 1)
			return l
		}, Fault{Unproven, 4, 5}},
		{"erased and changed", func(l [][]byte) [][]byte {
			l[3] = erase(l[3], 3, true)
			l[5] = bytes.Replace(l[5], []byte("100"), []byte("900"), 1)
			return l
		}, Fault{Changed, 6, 6}},
		{"not a session", func([][]byte) [][]byte { return [][]byte{[]byte("x"), nil, []byte("{}"), []byte(`{"a":1}`)} }, Fault{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, fault, found := check(session, test.change(transcript(t, session, 9)))
			if fault != test.want || found != (test.want != Fault{}) {
				t.Errorf("the fault is %+v, want %+v", fault, test.want)
			}
			if (c.First > 0 || c.Unproven > 0) != found {
				t.Errorf("the checker's first fault is at line %d", c.First)
			}
		})
	}
}

// TestLinkCoversLinesOfOtherPrograms checks that a link covers lines of another program
// before it.
func TestLinkCoversLinesOfOtherPrograms(t *testing.T) {
	lines := transcript(t, session, 2)
	state, _ := LinkOf(lines[2])
	foreign := []byte(`{"type":"message","id":"f1","parentId":"e2","text":"by another program"}`)
	state = state.Next(foreign)
	last, _ := state.Append([]byte(`{"type":"message","id":"e9","parentId":"f1","text":"later"}`), 0)
	lines = append(lines, foreign, last)
	c, fault, found := check(session, lines)
	if found || c.Unlinked != 1 || c.Linked != 4 || c.Loose() != 0 {
		t.Errorf("fault %+v, %d linked, %d unlinked", fault, c.Linked, c.Unlinked)
	}
	lines[3] = bytes.Replace(foreign, []byte("another"), []byte("a second"), 1)
	if _, fault, _ := check(session, lines); fault != (Fault{Changed, 4, 5}) {
		t.Errorf("after a change of the other program's line the fault is %+v", fault)
	}
	if _, fault, _ := check(session, slices.Delete(lines, 3, 4)); fault != (Fault{Removed, 4, 4}) {
		t.Errorf("without the other program's line the fault is %+v", fault)
	}
}

// TestRedactedLineIsAFault checks that a redacted line is a fault in a store.
func TestRedactedLineIsAFault(t *testing.T) {
	lines := transcript(t, session, 4)
	lines[2] = Redact(bytes.Replace(lines[2], []byte("100"), []byte("900"), 1), lines[2])
	state, _ := LinkOf(lines[4])
	c, x := NewChecker(session, state), NewExplainer(session)
	c.Whole = true
	for _, line := range lines {
		c.Add(line)
		x.Add(Line{Data: line})
	}
	if faults := x.Faults(session, true); c.First != 3 || c.Reached(state) || len(faults) != 1 || faults[0] != (Fault{Altered, 3, 3}) {
		t.Errorf("the first fault is in line %d; %+v", c.First, faults)
	}
}

// TestFinder checks that a long linked line does not end the chain, and that lines without
// links do.
func TestFinder(t *testing.T) {
	long, state := Start(session).Append([]byte(`{"type":"message","text":"`+strings.Repeat("x", MaxUnlinked)+`"}`), 0)
	var f Finder
	if f.Add(long) {
		t.Error("the search continues after a link")
	}
	if got, ok := f.State(session); !ok || got != state {
		t.Error("the state after a long line is not known")
	}
	f = Finder{}
	if f.Add(Without(long)) {
		t.Error("the search continues after many bytes without link")
	}
	if _, ok := f.State(session); ok {
		t.Error("a state is known without having read all lines")
	}
}

// TestRecordedStateProvesPrefix checks that a recorded state proves what precedes it, even if
// all links were recreated.
func TestRecordedStateProvesPrefix(t *testing.T) {
	lines := transcript(t, session, 9)
	state, _ := LinkOf(lines[6])
	longer := append(slices.Clone(lines), []byte(`{"type":"message","id":"f1"}`))
	longer[3] = erase(longer[3], 3, true)
	for _, test := range []struct {
		name  string
		lines [][]byte
		want  bool
	}{
		{"longer, with an erased line", longer, true},
		{"as it was", lines[:7], true},
		{"rolled back", lines[:5], false},
		{"recreated", transcript(t, session, 9), false}, // the salts differ
		{"another session", transcript(t, "02b2", 9), false},
	} {
		c, _, _ := check(session, test.lines, state)
		if c.Reached(state) != test.want {
			t.Errorf("%s: reached is %v", test.name, !test.want)
		}
	}
	lines[2] = bytes.Replace(lines[2], []byte("100"), []byte("900"), 1)
	if c, _, _ := check(session, lines, state); c.Reached(state) {
		t.Error("a state after a fault is reached")
	}
}

func TestParseState(t *testing.T) {
	state := Start(session)
	if again, err := ParseState(state.String()); err != nil || again != state {
		t.Errorf("%v, %v", again, err)
	}
	for _, text := range []string{"", "AAAA", strings.Repeat("A", 31), strings.Repeat("?", 32), strings.Repeat("A", 36)} {
		if _, err := ParseState(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, line := range transcript(f, session, 2) {
		f.Add(line)
		f.Add(erase(line, 3, true))
	}
	f.Add([]byte(`{}`))
	f.Add([]byte(`{ }`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		start := Start(session)
		linked, next := start.Append(bytes.Clone(line), 0)
		if start.Next(linked) != next {
			t.Fatalf("the state after %q is not the one that Append returned", linked)
		}
		if link, ok := LinkOf(linked); ok && !bytes.Equal(linked, line) {
			if link != next || !bytes.Equal(Without(linked), line) {
				t.Fatalf("%q is read back as %q", linked, Without(linked))
			}
		}
		c := NewChecker(session)
		if !c.Add(linked) {
			if _, ok := LinkOf(line); !ok {
				t.Fatalf("the link of %q does not fit", linked)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	line := []byte(`{"type":"message","text":"` + strings.Repeat("x", 1000) + `"}`)
	state := Start(session)
	buf := make([]byte, 0, 2048)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		buf, state = state.Append(append(buf[:0], line...), 0)
	}
}
