package memory

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseNote(t *testing.T) {
	made := time.Date(2026, 8, 1, 9, 30, 0, 0, time.UTC)
	tests := []struct {
		name, text string
		want       Note
	}{
		{"plain", "Just text.\n", Note{Body: "Just text.\n"}},
		{"whole", "---\nname: Tea\ndescription: 'it''s green'\ntype: preference\nconfidence: 0.9\ncreated: 2026-08-01T09:30:00Z\nsources:\n  - s1/e1\n  - s2\n---\n\nGreen.\n",
			Note{Title: "Tea", Description: "it's green", Type: "preference", Confidence: 0.9, Created: made, Sources: []Source{{"s1", "e1"}, {"s2", ""}}, Body: "Green.\n"}},
		{"list in a line", "---\nsources: [s1/e1, s2/e2]\n---\n", Note{Sources: []Source{{"s1", "e1"}, {"s2", "e2"}}}},
		{"windows", "\ufeff---\r\nname: Tea\r\n---\r\nGreen.\r\n", Note{Title: "Tea", Body: "Green.\n"}},
		{"a day", "---\ncreated: 2026-08-01\n---\n", Note{Created: made.Truncate(24 * time.Hour)}},
		{"unknown keys stay", "---\ntags:\n  - a\nname: Tea\nconfidence: high\n# hm\n---\nx", Note{Title: "Tea", Extra: []string{"tags:", "  - a", "confidence: high", "# hm"}, Body: "x"}},
		{"not closed", "---\nname: Tea\nGreen.\n", Note{Body: "---\nname: Tea\nGreen.\n"}},
		{"empty front", "---\n---\nx", Note{Body: "x"}},
		{"only front", "---\nname: x\n---", Note{Title: "x"}},
		{"twice", "---\nname: a\nname: b\n---\n", Note{Title: "a", Extra: []string{"name: b"}}},
		{"not text", "a\x00b\xff", Note{Body: "a\ufffdb\ufffd"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := parseNote("", []byte(test.text))
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n%#v\nwant\n%#v", got, test.want)
			}
			if again := parseNote("", got.Markdown()); !reflect.DeepEqual(again, got) {
				t.Errorf("encoded as\n%s\nit is\n%#v", got.Markdown(), again)
			}
		})
	}
}

// FuzzNote checks that any input can be parsed and that the output parses to the same note.
func FuzzNote(f *testing.F) {
	for _, seed := range []string{"", "---\n---\n", "---\nname: x\n---\ny", "---\n---\n---\n---\nx", "---\n- a\nsources: [a/b,c]\n  - \"d: e\"\nsources: x\n---\n", "---\nname: \"a\\nb\"\n---", "---\ntype: ''\nname: ' x'\n---\n\n\n- **[decision]** x *(confidence: 80%)* <!-- from a/b -->"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n := parseNote("n", data)
		again := parseNote("n", n.Markdown())
		if !reflect.DeepEqual(n, again) {
			t.Fatalf("%q is\n%#v\nencoded %q\nis\n%#v", data, n, n.Markdown(), again)
		}
		for _, fact := range n.Facts() {
			if fact.Text == "" || fact.Line < 1 || fact.Line > strings.Count(n.Body, "\n")+1 {
				t.Errorf("a fact is %+v", fact)
			}
		}
		_ = n.pieces()
	})
}

// FuzzFact checks that any line can be parsed and that the output parses to the same fact.
func FuzzFact(f *testing.F) {
	for _, seed := range []string{"- x", "* **[project]** a b *(confidence: 150%)* <!-- from a/b, c -->", "- ~~**[decision]** a *(confidence: 8%)*~~ (superseded 2026-01-01) <!-- from a/b -->", "- **[nothing]** x", "- ~~~~", "-  <!-- from -->"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			return
		}
		fact, ok := parseFact(line)
		if !ok {
			return
		}
		again, ok := parseFact(fact.String())
		if !ok || again.Text == "" {
			t.Fatalf("%q is %+v, encoded %q and not read", line, fact, fact.String())
		}
		third, ok := parseFact(again.String())
		if !ok || third.String() != again.String() {
			t.Errorf("%q does not settle: %q, %q", line, again.String(), third.String())
		}
	})
}

func TestFactLines(t *testing.T) {
	tests := []struct {
		line string
		want Fact
	}{
		{"- plain", Fact{Text: "plain"}},
		{"- **[preference]** Uses tabs *(confidence: 90%)*", Fact{Category: Preference, Text: "Uses tabs", Confidence: 0.9}},
		{"- **[user_preference]** Uses tabs *(confidence: 90%)* <!-- from s1/e1, s2/e2 -->", Fact{Category: Preference, Text: "Uses tabs", Confidence: 0.9, Sources: []Source{{"s1", "e1"}, {"s2", "e2"}}}},
		{"- ~~**[decision]** Uses tabs~~ (superseded 2026-08-01) <!-- from s1/e1 -->", Fact{Category: Decision, Text: "Uses tabs", Gone: true, Sources: []Source{{"s1", "e1"}}}},
		{"- **[odd]** thing", Fact{Text: "**[odd]** thing"}},
	}
	for _, test := range tests {
		got, ok := parseFact(test.line)
		if !ok || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s is %+v, want %+v", test.line, got, test.want)
		}
	}
	for _, line := range []string{"", "text", "-x", "- ", "#- x"} {
		if f, ok := parseFact(line); ok {
			t.Errorf("%q is the fact %+v", line, f)
		}
	}
}

func TestWithFacts(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 8, n, 0, 0, 0, 0, time.UTC) }
	one := []Fact{{Category: Project, Text: "One", Confidence: 0.8}}
	two := []Fact{{Text: "Two"}}
	body := withFacts("Mine.\n", day(1), one)
	want := "Mine.\n\n## Auto-extracted memories\n\n### Session memories — 2026-08-01\n- **[project]** One *(confidence: 80%)*\n"
	if body != want {
		t.Fatalf("got\n%s", body)
	}
	body = withFacts(body, day(1), two) // directly below the heading
	if want = strings.Replace(want, "- **[", "- Two\n- **[", 1); body != want {
		t.Errorf("the same day:\n%s", body)
	}
	body = withFacts(body, day(2), two) // before the others
	if want = strings.Replace(want, "### Session", "### Session memories — 2026-08-02\n- Two\n\n### Session", 1); body != want {
		t.Errorf("the next day:\n%s\nwant\n%s", body, want)
	}
	gone, left := withGone(body, []string{"- ~~a~~", "- ~~b~~"}, 3)
	if len(left) > 0 {
		t.Errorf("there is room for %q", left)
	}
	gone, left = withGone(gone, []string{"- ~~c~~", "- ~~d~~"}, 3)
	if len(left) != 1 || left[0] != "- ~~b~~" {
		t.Errorf("there is no room for %q", left)
	}
	if want += "\n## Superseded memories\n\n- ~~c~~\n- ~~d~~\n- ~~a~~\n"; gone != want {
		t.Errorf("with what is gone:\n%s\nwant\n%s", gone, want)
	}
	rest := Note{Name: "x", Body: gone}
	var current []string
	for _, f := range rest.Facts() {
		if !f.Gone {
			current = append(current, f.Day.Format(dayFormat)+" "+f.Text)
		}
	}
	if got := strings.Join(current, "|"); got != "2026-08-02 Two|2026-08-01 Two|2026-08-01 One" {
		t.Errorf("the facts are %s", got)
	}
}

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Release plan!": "release-plan", "Größe über alles": "grosse-uber-alles", "../../etc/passwd": "etc-passwd", "2026-08-01": "note-2026-08-01",
		"東京": "東京", " -- ": "", strings.Repeat("long ", 40): strings.TrimRight(strings.Repeat("long-", 12), "-"),
	} {
		if got := Slug(title); got != want {
			t.Errorf("%q becomes %q, want %q", title, got, want)
		}
	}
}

func TestCutIndex(t *testing.T) {
	short := "# Mine\n- a\n"
	if got := cutIndex(short); got != short {
		t.Errorf("a short one becomes %q", got)
	}
	for name, text := range map[string]string{"lines": strings.Repeat("- x\n", 500), "bytes": strings.Repeat(strings.Repeat("é", 300)+"\n", 60), "one line": strings.Repeat("x", 30_000)} {
		got := cutIndex(text)
		lines := strings.Split(strings.TrimRight(got, "\n"), "\n")
		if len(got) > maxIndexBytes || len(lines) > maxIndexLines || !strings.HasPrefix(lines[len(lines)-1], "<!-- MEMORY.md truncated: ") {
			t.Errorf("%s: %d bytes, %d lines, ending %q", name, len(got), len(lines), lines[len(lines)-1])
		}
		if body := strings.Join(lines[:len(lines)-1], "\n"); !strings.HasPrefix(text, body) {
			t.Errorf("%s: it is not the beginning", name)
		}
	}
}

// TestCutIndexForASmallWindow checks the cut at a line, the notice and the limit.
func TestCutIndexForASmallWindow(t *testing.T) {
	text := strings.Repeat("- one line of many\n", 100)
	got := CutIndexTo(text, 500)
	if len(got) > 500 || !strings.HasPrefix(got, "- one line of many\n") || !strings.Contains(got, "<!-- MEMORY.md truncated: ") || !strings.HasPrefix(text, got[:strings.Index(got, "<!--")]) {
		t.Errorf("it is %q", got)
	}
	if got := CutIndexTo("- a\n", 500); got != "- a\n" {
		t.Errorf("a short one becomes %q", got)
	}
}

func TestReindexed(t *testing.T) {
	var notes []Note
	for i := range 300 {
		notes = append(notes, Note{Name: "n" + strings.Repeat("x", 3) + string(rune('a'+i%26)) + strings.Repeat("y", i/26), Title: "T", Confidence: 0.5, Created: someDay.AddDate(0, 0, i)})
	}
	notes[7].Confidence = 0.9
	index := updateIndex("# Mine\n\nBy hand.\n", notes)
	lines := strings.Split(strings.TrimRight(index, "\n"), "\n")
	if len(lines) > maxIndexLines || len(index) > maxIndexBytes {
		t.Errorf("it has %d lines and %d bytes", len(lines), len(index))
	}
	if !strings.Contains(index, "By hand.") || !strings.Contains(index, notes[299].Name+".md") || strings.Contains(index, "/"+notes[0].Name+".md") || !strings.Contains(index, "/"+notes[7].Name+".md") {
		t.Error("the handwritten, certain and new note was not kept")
	}
	if again := updateIndex(index, notes); again != index {
		t.Error("to do it again changes it")
	}
}
