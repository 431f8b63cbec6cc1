package filestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
)

// damage is a damaged transcript.
type damage struct {
	name  string
	parts map[string][]byte
	// want holds the intact lines that must be read; mustReport is set if the damage must
	// be reported.
	want       [][]byte
	mustReport bool
}

// check reads a damaged transcript without changing it, then appends to it. Exactly the
// intact lines must be read, in both directions.
func (d damage) check(t *testing.T, windows bool) error {
	h := openDamaged(t, d.parts)
	before := h.files(t)
	st, err := h.open(true)
	if err != nil {
		return err
	}
	s, err := readExpected(st, store.Start, d.want, true)
	if err != nil {
		return err
	}
	if len(s.extra) > 0 || d.mustReport && len(s.gaps) == 0 {
		return fmt.Errorf("gaps: %v, and additional lines: %q", s.gaps, s.extra)
	}
	if err := lookBack(st, d.want, true); err != nil {
		return err
	}
	if windows {
		if err := checkWindows(st); err != nil {
			return err
		}
	}
	if err := st.Close(); err != nil {
		return err
	}
	if !maps.Equal(before, h.files(t)) {
		return errors.New("reading changed a file")
	}
	if err := d.goOn(h, windows); err != nil {
		return fmt.Errorf("continuing: %w", err)
	}
	return nil
}

// goOn appends an entry after the damage.
func (d damage) goOn(h *damagedStore, windows bool) error {
	st, err := h.open(false)
	if err != nil {
		return err
	}
	e := firn.Entry{ID: "new", Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "and now?"}}}}
	if _, err := st.Append(context.Background(), hurtSession, store.Any, e); err != nil {
		return err
	}
	s, err := readExpected(st, store.Start, d.want, false)
	if err != nil {
		return err
	}
	if n := len(s.extra); n == 0 || !bytes.Contains(s.extra[n-1], []byte(`"id":"new"`)) || n > 1 && len(d.want) > 0 {
		return fmt.Errorf("after the existing lines are %q", s.extra)
	}
	path, err := collect(st, hurtSession)
	if err != nil || path.Head != "new" {
		return fmt.Errorf("the head is %q: %w", path.Head, err)
	}
	if windows {
		if err := checkWindows(st); err != nil {
			return err
		}
	}
	return st.Close()
}

// one returns damage to a transcript in one file.
func one(data []byte, reported bool, want ...[]byte) damage {
	return damage{parts: map[string][]byte{"": data}, want: want, mustReport: reported}
}

// checkAll checks damages by name, the windows of every seventh.
func checkAll(t *testing.T, damages []damage) {
	t.Helper()
	for i, d := range damages {
		if err := d.check(t, i%7 == 0); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
	}
}

func join(pieces ...[]byte) []byte { return bytes.Join(pieces, nil) }

// without returns all lines except some.
func (tr transcript) without(gone ...int) [][]byte {
	var left [][]byte
	for i, line := range tr.lines {
		if !slices.Contains(gone, i) {
			left = append(left, line)
		}
	}
	return left
}

// before and from return the bytes of the file before line i, and from it on.
func (tr transcript) before(i int) []byte { return transcript{tr.lines[:i]}.bytesOrNone() }
func (tr transcript) from(i int) []byte   { return transcript{tr.lines[i:]}.bytesOrNone() }

func (tr transcript) bytesOrNone() []byte {
	if len(tr.lines) == 0 {
		return nil
	}
	return tr.bytes()
}

// TestDamageZeros tests zero bytes left by a power failure: between lines, within one, or
// in place of bytes or lines.
func TestDamageZeros(t *testing.T) {
	t.Parallel()
	tr := writeTranscript(t, 120)
	step := 1
	if testing.Short() {
		step = 13
	}
	var damages []damage
	add := func(d damage, format string, args ...any) {
		d.name = fmt.Sprintf(format, args...)
		damages = append(damages, d)
	}
	for i := 0; i < len(tr.lines); i += step {
		line, zeros := tr.lines[i], make([]byte, []int{1, 7, 511, 512, 4096, 70000}[i%6])
		half := len(line) / 2
		behind := tr.from(i + 1)
		add(one(join(tr.before(i), zeros, tr.from(i)), true, tr.lines...), "%d zeros before line %d", len(zeros), i)
		add(one(join(tr.before(i), line, zeros, []byte("\n"), behind), true, tr.lines...), "%d zeros after line %d", len(zeros), i)
		add(one(join(tr.before(i), zeros, []byte("\n"), tr.from(i)), true, tr.lines...), "a line of %d zeros before line %d", len(zeros), i)
		if i == 7 { // half of an erased entry is spaces
			continue
		}
		add(one(join(tr.before(i), line[:half], zeros, line[half:], []byte("\n"), behind), true, tr.without(i)...), "%d zeros within line %d", len(zeros), i)
		add(one(join(tr.before(i), line[:half], make([]byte, len(line)-half), []byte("\n"), behind), true, tr.without(i)...), "zeros to the end of line %d", i)
		add(one(join(tr.before(i), make([]byte, half), line[half:], []byte("\n"), behind), true, tr.without(i)...), "zeros from the beginning of line %d", i)
		if i > 0 && i+1 < len(tr.lines) && i+1 != 7 {
			next := tr.lines[i+1]
			over := len(line) - half + 1 + len(next)/2
			add(one(join(tr.before(i), line[:half], make([]byte, over), next[len(next)/2:], []byte("\n"), tr.from(i+2)), true, tr.without(i, i+1)...),
				"zeros from within line %d to within the next", i)
		}
		if i+1 < len(tr.lines) && i+1 != 7 {
			next := tr.lines[i+1]
			add(one(join(tr.before(i), line, make([]byte, 1+len(next)/2), next[len(next)/2:], []byte("\n"), tr.from(i+2)), true, tr.without(i+1)...),
				"zeros from the end of line %d to within the next", i)
		}
		add(one(join(tr.before(i), line[:half], zeros), true, tr.lines[:i]...), "line %d torn, and %d zeros at the end", i, len(zeros))
		add(one(join(tr.before(i), line, zeros), true, tr.lines[:i+1]...), "line %d without its newline, and %d zeros at the end", i, len(zeros))
	}
	checkAll(t, damages)
}

// TestDamageByEditors tests changes made by editors and other programs.
func TestDamageByEditors(t *testing.T) {
	t.Parallel()
	tr := writeTranscript(t, 120)
	data, bom := tr.bytes(), []byte("\ufeff")
	damages := []damage{
		{name: "CRLF", parts: map[string][]byte{"": bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))}, want: tr.lines},
		{name: "CRLF, and the last one cut", parts: map[string][]byte{"": bytes.TrimSuffix(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), []byte("\n"))}, want: tr.lines},
		{name: "a byte order mark", parts: map[string][]byte{"": join(bom, data)}, want: tr.lines, mustReport: true},
		{name: "two of them", parts: map[string][]byte{"": join(bom, bom, data)}, want: tr.lines, mustReport: true},
		{name: "blank lines", parts: map[string][]byte{"": bytes.ReplaceAll(data, []byte("\n"), []byte("\n\n \t\r\n"))}, want: tr.lines},
		{name: "spaces around", parts: map[string][]byte{"": bytes.ReplaceAll(data, []byte("\n"), []byte(" \t\n  "))}, want: tr.lines},
		{name: "no newline at the end", parts: map[string][]byte{"": bytes.TrimSuffix(data, []byte("\n"))}, want: tr.lines},
		{name: "text before it", parts: map[string][]byte{"": join([]byte("hello, this is not JSON\n"), data)}, want: tr.lines, mustReport: true},
		{name: "text after it", parts: map[string][]byte{"": join(data, []byte("hello, this is not JSON\n"))}, want: tr.lines, mustReport: true},
		{name: "an array after it", parts: map[string][]byte{"": join(data, []byte("[{}]\n"))}, want: tr.lines, mustReport: true},
	}
	for i := range tr.lines {
		d := one(join(tr.before(i), bom, tr.from(i)), true, tr.lines...)
		d.name = fmt.Sprintf("a byte order mark before line %d", i)
		damages = append(damages, d)
		if i > 0 {
			glued := bytes.TrimSuffix(tr.before(i), []byte("\n"))
			d := one(join(glued, tr.from(i)), true, tr.lines...)
			d.name = fmt.Sprintf("line %d glued to the one before it", i)
			damages = append(damages, d)
		}
	}
	all := one(join(bytes.Join(tr.lines, nil), []byte("\n")), true, tr.lines...)
	all.name = "all lines glued"
	checkAll(t, append(damages, all))
}

// TestDamageGluedToTorn tests a record torn at any byte with the next one written directly
// after it. The next one must be found.
func TestDamageGluedToTorn(t *testing.T) {
	t.Parallel()
	tr := writeTranscript(t, 120)
	step := 1
	if testing.Short() {
		step = 19
	}
	kinds := 28 // all kinds are among the first lines
	for i := 0; i < kinds; i++ {
		torn, rest := tr.lines[i], [][]byte{tr.lines[i+1], tr.lines[i+2]}
		head := [][]byte{tr.lines[0]}
		if i == 0 {
			head = nil
		}
		for k := 1 + i%step; k < len(torn); k += step {
			want := slices.Concat(head, rest)
			if bytes.Equal(bytes.TrimSpace(torn[:k]), bytes.TrimSpace(torn)) {
				want = slices.Concat(head, [][]byte{torn}, rest)
			}
			file := transcript{slices.Concat(head, [][]byte{join(torn[:k], rest[0])}, rest[1:])}.bytes()
			if err := one(file, true, want...).check(t, k%49 == 0); err != nil {
				t.Errorf("line %d torn at byte %d: %v", i, k, err)
			}
		}
	}
}

// TestDamageNoText checks that entries with invalid UTF-8 can be read.
func TestDamageNoText(t *testing.T) {
	t.Parallel()
	tr := writeTranscript(t, 60)
	for _, junk := range []string{"\xff", "\xc3", "\xed\xa0\x80", "\xf0\x9f\x92", `\ud800`, `\udc00\ud800`} {
		for i, line := range tr.lines {
			at := bytes.LastIndex(line, []byte(`"text":"`))
			if at < 0 || bytes.Contains(line, []byte(`"type":"erased"`)) {
				continue
			}
			at += len(`"text":"`)
			hurtLine := join(line[:at], []byte(junk), line[at:])
			want := slices.Clone(tr.lines)
			want[i] = hurtLine
			d := one(transcript{want}.bytes(), false, want...)
			if err := d.check(t, i%7 == 0); err != nil {
				t.Errorf("%q in line %d: %v", junk, i, err)
			}
		}
	}
}

// TestDamageLongLine tests long lines, complete or truncated.
func TestDamageLongLine(t *testing.T) {
	t.Parallel()
	tr := writeTranscript(t, 60)
	long := []byte(strings.Replace(string(tr.lines[3]), `"text":"`, `"text":"`+strings.Repeat("0123456789abcdef", 5<<20/16), 1))
	with := transcript{slices.Clone(tr.lines)}
	with.lines[3] = long
	damages := []damage{one(with.bytes(), false, with.lines...)}
	places := []int{1, 100, len(long) / 2, len(long) - 1}
	if testing.Short() {
		places = places[2:3]
	}
	for _, k := range places {
		torn := one(join(tr.before(3), long[:k]), true, tr.lines[:3]...)
		glued := one(join(tr.before(3), long[:k], tr.from(4)), true, tr.without(3)...)
		torn.name, glued.name = fmt.Sprintf("5 MB torn at %d", k), fmt.Sprintf("5 MB torn at %d and another glued to it", k)
		damages = append(damages, torn, glued)
	}
	zeros := one(join(tr.before(3), make([]byte, 5<<20), tr.from(3)), true, tr.lines...)
	zeros.name = "5 MB of zeros"
	checkAll(t, append(damages, zeros))
}

// TestDamageParts tests truncated, empty and missing parts.
func TestDamageParts(t *testing.T) {
	t.Parallel()
	tr := writeTranscript(t, 60)
	cuts := []int{15, 30, 31, 45} // first lines of the second and further parts
	names := []string{"", "_part2", "_part3", "_part4", "_part5"}
	lines := make([][][]byte, len(names))
	for i := range names {
		from, to := 0, len(tr.lines)
		if i > 0 {
			from = cuts[i-1]
		}
		if i < len(cuts) {
			to = cuts[i]
		}
		lines[i] = tr.lines[from:to]
	}
	step := 5
	if testing.Short() {
		step = 29
	}
	for hit := range names {
		data := transcript{lines[hit]}.bytes()
		for n := len(data); n >= 0; n -= step {
			d := damage{name: fmt.Sprintf("part %d cut at byte %d of %d", hit+1, n, len(data)), parts: make(map[string][]byte)}
			for i, name := range names {
				d.parts[name] = transcript{lines[i]}.bytes()
				if i == hit {
					d.parts[name] = data[:n]
				}
				for line := range bytes.Lines(d.parts[name]) {
					if i != hit || slices.ContainsFunc(lines[i], func(whole []byte) bool { return bytes.Equal(bytes.TrimSpace(whole), bytes.TrimSpace(line)) }) {
						d.want = append(d.want, bytes.TrimSpace(line))
					} else {
						d.mustReport = true
					}
				}
			}
			if hit == 0 && n == 0 {
				continue // without its first part there is no session
			}
			if err := d.check(t, n%49 == 0); err != nil {
				t.Errorf("%s: %v", d.name, err)
			}
		}
	}
}
