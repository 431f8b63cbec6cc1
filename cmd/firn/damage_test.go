package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/term/cli"
	"firn.dev/wire"
)

// damageID names the sessions of these tests.
const damageID = "01980000-0000-7000-8000-00000000000"

// talk is a session as lines: a header, and messages 1 to n in a row.
type talk struct {
	id    string
	lines []string
	// parts are the numbers of the lines that begin another part.
	parts []int
}

func newTalk(id string, n int) *talk {
	s := &talk{id: id}
	s.lines = append(s.lines, fmt.Sprintf(`{"type":"session","version":3,"id":"%s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"","firn":1,"agent":"main"}`, id))
	for i := 1; i <= n; i++ {
		s.add(entryName(i), parentName(i), fmt.Sprintf("message %d.", i))
	}
	return s
}

func entryName(n int) string { return fmt.Sprintf("e%011d", n) }

func parentName(n int) string {
	if n == 1 {
		return "null"
	}
	return `"` + entryName(n-1) + `"`
}

// add adds a message.
func (s *talk) add(id, parent, text string) {
	s.lines = append(s.lines, fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":[{"type":"text","text":"%s"}],"timestamp":1767323046000}}`, id, parent, text))
}

// write writes the files, after change was made to the bytes of the part it names.
func (s *talk) write(t *testing.T, home string, part int, change func([]byte) []byte) {
	t.Helper()
	dir := filepath.Join(home, "agents", "main", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	from := 0
	for i, to := range append(slices.Clone(s.parts), len(s.lines)) {
		data := []byte(strings.Join(s.lines[from:to], "\n") + "\n")
		if i+1 == part && change != nil {
			data = change(data)
		}
		name := s.id + ".jsonl"
		if i > 0 {
			name = fmt.Sprintf("%s_part%d.jsonl", s.id, i+1)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		from = to
	}
}

// replace changes the first occurrence of old.
func replace(old, with string) func([]byte) []byte {
	return func(b []byte) []byte {
		if !bytes.Contains(b, []byte(old)) {
			panic("there is no " + old)
		}
		return bytes.Replace(b, []byte(old), []byte(with), 1)
	}
}

// onLines changes lines; lines[0] is the first of the part.
func onLines(change func(lines []string) []string) func([]byte) []byte {
	return func(b []byte) []byte {
		lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		return []byte(strings.Join(change(lines), "\n") + "\n")
	}
}

// damageKind is one way in which a session can be damaged.
type damageKind struct {
	name string
	// entries is how many messages there are, 9 if zero; parts where parts begin.
	entries int
	parts   []int
	// shape changes the whole session before it is damaged.
	shape func(*talk)
	// part is which part is damaged, the first if zero.
	part   int
	change func([]byte) []byte
	// mark is in the line that names the damage; empty if it is not damage.
	mark string
	// lost means that content cannot be read, quiet that it is not in the live part.
	lost, quiet bool
	// gone holds the messages that are not shown, aside those that are shown only with
	// everything on disk.
	gone, aside []int
	// verify is the exit code of firn verify.
	verify int
	// loose means that the order of entries differs.
	loose bool
}

func damageKinds() []damageKind {
	swap := func(lines []string) []string { lines[5], lines[6] = lines[6], lines[5]; return lines }
	compacted := func(s *talk) {
		s.lines = append(s.lines, `{"type":"compaction","id":"c00000000001","parentId":"`+entryName(9)+`","timestamp":"2026-01-02T03:04:07.000Z","summary":"what was said.","firstKeptEntryId":"`+entryName(8)+`","tokensBefore":9}`)
		s.add("e0000000010x", `"c00000000001"`, "message 10.")
	}
	zeros := func(b []byte) []byte {
		at := bytes.Index(b, []byte("message 5."))
		clear(b[at : at+4096])
		return b
	}
	gone := make([]int, 0, 30)
	for i := 5; i <= 25; i++ {
		gone = append(gone, i)
	}
	return []damageKind{
		{name: "nothing"},
		{name: "zero byte", change: replace("message 5.", "mess\x00ge 5."), mark: "an entry after #4 could not be read (zero bytes; ", lost: true, gone: []int{5}, verify: 8},
		{name: "0xff", change: replace("message 5.", "message 5.\xff"), mark: "entry #5 contains invalid UTF-8 (", lost: true, verify: 8},
		{name: "cut line", change: onLines(func(l []string) []string { l[5] = l[5][:100]; return l }), mark: "an entry after #4 could not be read (invalid JSON", lost: true, gone: []int{5}, verify: 8},
		{name: "cut line and newline", change: onLines(func(l []string) []string { l[5] = l[5][:100] + l[6]; return slices.Delete(l, 6, 7) }), mark: "an entry after #4 could not be read (invalid JSON", lost: true, gone: []int{5}, verify: 8},
		{name: "bracket changed", change: onLines(func(l []string) []string { l[5] = strings.Replace(l[5], `[{"type"`, `({"type"`, 1); return l }), mark: "could not be read (invalid JSON", lost: true, gone: []int{5}, verify: 8},
		{name: "newline lost", change: onLines(func(l []string) []string { l[5] += l[6]; return slices.Delete(l, 6, 7) }), mark: "a newline is missing between two records", verify: 8},
		{name: "type misspelt", change: onLines(func(l []string) []string { l[5] = strings.Replace(l[5], `{"type"`, `{"typd"`, 1); return l }), gone: []int{5}},
		{name: "parent missing", change: onLines(func(l []string) []string { return slices.Delete(l, 5, 6) }), mark: "entry #5 is out of place (its parent e00000000005", gone: []int{5}, verify: 8},
		{name: "lines swapped", change: onLines(swap), mark: "entry #5 is out of place (its parent e00000000005", aside: []int{5}, verify: 8, loose: true},
		{name: "id used twice", shape: func(s *talk) { s.add(entryName(10), parentName(10), "message 10.") }, change: replace(`"id":"`+entryName(10), `"id":"`+entryName(3)), mark: "entry #10 is out of place (an earlier entry has the same id", verify: 8},
		{name: "purged", change: onLines(func(l []string) []string {
			erased := `{"type":"erased","id":"` + entryName(5) + `","parentId":"` + entryName(4) + `"}`
			l[5] = erased + strings.Repeat(" ", len(l[5])-len(erased))
			return l
		}), gone: []int{5}},
		{name: "unfinished end", change: func(b []byte) []byte { return append(b, `{"type":"message","id":"e000000`...) }, verify: 8},
		{name: "4 kB of zeros", entries: 40, change: zeros, mark: "one entry or more after #4 could not be read (zero bytes; ", lost: true, gone: gone, verify: 8},
		{name: "header", change: replace(`"version":3`, "\"vers\x00on\":3"), mark: "the header could not be read (zero bytes; ", lost: true, verify: 8},
		{name: "part 2 of 3", parts: []int{4, 7}, part: 2, change: replace("message 5.", "mess\x00ge 5."), mark: "of part 2)", lost: true, gone: []int{5}, verify: 8},
		{name: "first line of part 2", parts: []int{5, 7}, part: 2, change: replace("message 5.", "mess\x00ge 5."), mark: "at byte 0 of part 2)", lost: true, gone: []int{5}, verify: 8},
		{name: "before the compaction", shape: compacted, change: replace("message 3.", "mess\x00ge 3."), mark: "an entry after #2 could not be read (zero bytes; ", lost: true, quiet: true, gone: []int{3}, verify: 8},
	}
}

// damageRun runs a command in a home.
func damageRun(t *testing.T, home string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	env := func(name string) string {
		return map[string]string{"FIRN_HOME": home, "HOME": home, "FIRN_MODEL": "firn/offline"}[name]
	}
	var out, errs bytes.Buffer
	code = cli.Main(t.Context(), args, cli.Process{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: env, Open: open, Providers: providers, Build: build()})
	return code, out.String(), errs.String()
}

// both makes a session as it should be and as it is damaged, in homes of their own.
func (k damageKind) both(t *testing.T, id string) (sound, damaged string) {
	t.Helper()
	if k.entries == 0 {
		k.entries = 9
	}
	s := newTalk(id, k.entries)
	s.parts = k.parts
	if k.shape != nil {
		k.shape(s)
	}
	sound, damaged = t.TempDir(), t.TempDir()
	s.write(t, sound, 0, nil)
	s.write(t, damaged, max(k.part, 1), k.change)
	return sound, damaged
}

var entryHead = regexp.MustCompile(`(?m)^(#\d+ )?(\S+)  (\S+ \S+)  \S+(  \(.*\))?$`)

// damageBlocks returns the entries that a command printed, without their numbers and IDs,
// without damage marks, and without the given messages.
func damageBlocks(text string, without []int, sorted bool) []string {
	var blocks []string
	for _, b := range strings.Split(text, "\n\n") {
		var lines []string
		for _, l := range strings.Split(b, "\n") {
			if !strings.Contains(l, "⚠") {
				lines = append(lines, l)
			}
		}
		b = strings.ReplaceAll(strings.TrimSpace(strings.Join(lines, "\n")), "\uFFFD", "")
		b = entryHead.ReplaceAllString(b, "$2 $3")
		drop := b == "" || strings.HasPrefix(b, "session ") || strings.HasPrefix(b, "(torn at ") || strings.HasPrefix(b, "purged ") || strings.Contains(b, "an entry without a type")
		for _, n := range without {
			drop = drop || strings.Contains(b, fmt.Sprintf("message %d.", n))
		}
		if !drop {
			blocks = append(blocks, b)
		}
	}
	if sorted {
		slices.Sort(blocks)
	}
	return blocks
}

// TestDamageIsNamed damages sessions in all ways and runs all commands on them: each names
// the place and the next step, shows the rest unchanged, and exits with 8 if content was
// lost. Undamaged parts are not reported.
func TestDamageIsNamed(t *testing.T) {
	for i, k := range damageKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			id := damageID + fmt.Sprintf("%x", i%16)
			sound, damaged := k.both(t, id)
			if code, out, _ := damageRun(t, damaged, "verify", id); code != k.verify {
				t.Errorf("verify ended with %d, want %d\n%s", code, k.verify, out)
			}
			k.checkReading(t, id, sound, damaged)
			k.checkJSON(t, id, damaged)
			k.checkLists(t, id, damaged)
			k.checkLive(t, id, damaged)
		})
	}
}

// checkReading checks the commands that print the session.
func (k damageKind) checkReading(t *testing.T, id, sound, damaged string) {
	branch := append(slices.Clone(k.gone), k.aside...)
	for _, c := range []struct {
		args    []string
		without []int
		// structure means that it names misplaced entries.
		structure bool
	}{
		{[]string{"cat", id}, branch, true},
		{[]string{"cat", id, "--view", "disk"}, k.gone, false},
		{[]string{"tail", id, "-n", "all"}, branch, true},
		{[]string{"tree", id, "-n", "all"}, nil, true},
		{[]string{"export", id, "--format", "html"}, branch, false},
		{[]string{"export", id, "--format", "html", "--view", "disk"}, k.gone, false},
		{[]string{"export", id, "--format", "native"}, nil, false},
	} {
		name := strings.Join(c.args, " ")
		if code, _, errs := damageRun(t, sound, c.args...); code != 0 || strings.Contains(errs, "firn verify") {
			t.Errorf("%s of the sound session ended with %d: %s", name, code, errs)
		}
		_, want, _ := damageRun(t, sound, c.args...)
		code, out, errs := damageRun(t, damaged, c.args...)
		if c.args[0] == "cat" || c.args[0] == "tail" {
			if got, want := damageBlocks(out, c.without, k.loose), damageBlocks(want, c.without, k.loose); !slices.Equal(got, want) {
				t.Errorf("%s shows\n%q, want\n%q", name, got, want)
			}
		}
		for n := 1; n <= max(k.entries, 9); n++ {
			text := fmt.Sprintf("message %d.", n)
			if !slices.Contains(k.gone, n) && !slices.Contains(branch, n) && !strings.Contains(out, text) {
				t.Errorf("%s does not show %q", name, text)
			}
		}
		named := k.lost || k.mark != "" && c.structure && k.name != "newline lost"
		k.checkNamed(t, name, id, named, code, out, errs, c.args[len(c.args)-1] == "native")
	}
}

// checkNamed checks the mark, the hint and the exit code.
func (k damageKind) checkNamed(t *testing.T, name, id string, named bool, code int, out, errs string, plain bool) {
	t.Helper()
	want := 0
	if k.lost {
		want = 8
	}
	if code != want {
		t.Errorf("%s ended with %d, want %d: %s", name, code, want, errs)
	}
	if k.mark == "" && (strings.Contains(out+errs, "⚠") || strings.Contains(errs, "firn verify")) {
		t.Errorf("%s names damage where there is none:\n%s%s", name, out, errs)
	}
	if !named {
		return
	}
	text := strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(out)
	if !plain && !strings.Contains(text, k.mark) {
		t.Errorf("%s does not contain %q:\n%s", name, k.mark, out)
	}
	if plain && !strings.Contains(errs, "not read: 1 place") {
		t.Errorf("%s does not count it: %s", name, errs)
	}
	if !strings.Contains(errs, "firn verify "+id) {
		t.Errorf("%s does not print a hint: %s", name, errs)
	}
}

// checkLive checks the commands about the window, where only damage in the live part is
// reported.
func (k damageKind) checkLive(t *testing.T, id, home string) {
	live := k.mark != "" && !k.quiet && k.name != "id used twice"
	code, out, errs := damageRun(t, home, "window", id)
	if want := k.lost && live; (code == 8) != want || strings.Contains(out, "⚠") != live || live && !strings.Contains(out, k.mark) || strings.Contains(errs, "firn verify "+id) != live {
		t.Errorf("window ended with %d:\n%s%s", code, out, errs)
	}
	code, out, errs = damageRun(t, home, "chat", "--resume", id, "-p", "hello")
	if code != 0 || out == "" || strings.Contains(out, "⚠") {
		t.Errorf("chat ended with %d:\n%s%s", code, out, errs)
	}
	if strings.Contains(errs, "⚠") != live || live && (!strings.Contains(errs, k.mark) || !strings.Contains(errs, "firn verify "+id)) {
		t.Errorf("chat warns %v, want %v:\n%s", !live, live, errs)
	}
}

// checkLists checks show and ls before and after the session was indexed.
func (k damageKind) checkLists(t *testing.T, id, home string) {
	code, out, errs := damageRun(t, home, "show", id)
	if code != 0 || strings.Contains(out, "⚠") != (k.mark != "") || k.mark != "" && (!strings.Contains(out, k.mark) || !strings.Contains(out, "firn verify "+id)) {
		t.Errorf("show ended with %d:\n%s%s", code, out, errs)
	}
	_, out, _ = damageRun(t, home, "ls")
	if k.lost && !k.quiet && !strings.Contains(out, "⚠1") || !k.lost && strings.Contains(out, "⚠") {
		t.Errorf("ls shows\n%s", out)
	}
	code, out, errs = damageRun(t, home, "search", "message")
	if code != 0 || strings.Contains(errs, "could not be read") != k.lost {
		t.Errorf("search ended with %d:\n%s%s", code, out, errs)
	}
	_, out, _ = damageRun(t, home, "ls")
	if strings.Contains(out, "⚠1") != k.lost {
		t.Errorf("ls marks it after indexing: %v, want %v\n%s", !k.lost, k.lost, out)
	}
}

// checkJSON checks the JSON output.
func (k damageKind) checkJSON(t *testing.T, id, home string) {
	_, out, errs := damageRun(t, home, "cat", id, "--json")
	found := 0
	for line := range strings.Lines(out) {
		var e wire.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Damage == nil {
			continue
		}
		found++
		if e.Damage.Reason == "" || e.Damage.Next < e.Damage.At || e.Damage.Part == 0 || e.Damage.Lost != k.lost {
			t.Errorf("the damage is reported as %+v", *e.Damage)
		}
	}
	if want := k.mark != ""; (found == 1) != want {
		t.Errorf("cat --json reports %d places:\n%s", found, out)
	}
	if k.lost && !strings.Contains(errs, `"kind":"integrity"`) {
		t.Errorf("the error is %s", errs)
	}
	_, out, _ = damageRun(t, home, "show", id, "--json")
	var s wire.Session
	if err := json.Unmarshal([]byte(out), &s); err != nil || (s.Unread > 0) != k.lost {
		t.Errorf("show --json: %v, %d unread, want lost %v", err, s.Unread, k.lost)
	}
}
