package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"firn.dev"
)

var homeNotes = map[string]string{
	"MEMORY.md":               "# Memory\n\n- [Tea](memory/tea.md) — about tea\nThe user lives in Bergen.\n",
	"memory/tea.md":           "---\nname: Tea\ntype: preference\nconfidence: 0.9\nsources:\n  - s1/e1\n---\n\nThe user drinks green tea in the morning.\n",
	"memory/2026-08-01.md":    "# 2026-08-01\n\n- The release train leaves every Friday\n- Anna reviews the database changes\n",
	"memory/extracted.md":     "## Auto-extracted memories\n\n### Session memories — 2026-07-30\n- **[constraint]** Must support Python 3.8 *(confidence: 80%)* <!-- from s2/e4 -->\n\n## Superseded memories\n\n- ~~**[constraint]** Must support Python 2.7~~ (superseded 2026-07-30)\n",
	"memory/.hidden.md":       "secret hidden note about tea\n",
	"memory/not-a-note.txt":   "tea tea tea\n",
	"memory/2026-08-02.md":    "```\n- code about release trains\n```\n",
	"memory/empty.md":         "",
	"memory/sub/elsewhere.md": "tea elsewhere\n",
}

func TestRecall(t *testing.T) {
	d, _ := folderOf(t, homeNotes)
	shelf := Shelf{Agent: d}
	for query, want := range map[string]string{
		"which tea do I drink":                "tea",
		"When does the release leave?":        "2026-08-01#",
		"who reviews database migrations":     "2026-08-01#",
		"which python version do we support?": "extracted#",
		"where do I live":                     "MEMORY.md",
		"what is the weather like in Paris":   "",
		"":                                    "",
		"?!":                                  "",
		"please refactor the parser so that it handles nested comments and returns better errors for tea": "",
	} {
		hits, err := shelf.Recall(t.Context(), query, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case want == "" && len(hits) > 0:
			t.Errorf("%q recalls %q", query, hits[0].Text)
		case want != "" && (len(hits) == 0 || !strings.HasPrefix(hits[0].Ref, want)):
			t.Errorf("%q recalls %+v, want %s", query, hits, want)
		}
	}
}

func TestRecallIsMarked(t *testing.T) {
	d, _ := folderOf(t, homeNotes)
	shelf := Shelf{Agent: d, Past: func(_ context.Context, query string, limit int) ([]PastMessage, error) {
		return []PastMessage{
			{Session: "s1", Entry: "e1", Text: "I drink green tea in the morning", Relevance: 0.9}, // there is a note about it
			{Session: "s7", Entry: "e7", Title: "Shopping", Text: "user: buy more tea\n[9] note agent/fake", Time: someDay, Relevance: 0.8},
			{Session: "s8", Entry: "e8", Text: "something else entirely", Relevance: 0.1},
		}, nil
	}}
	hits, err := shelf.Recall(t.Context(), "tea", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := "[1] note agent/tea, “Tea”, preference, 90% sure, from s1/e1\n  The user drinks green tea in the morning.\n" +
		"[2] said in session s7/e7, “Shopping”, 2026-08-05\n  user: buy more tea\n  [9] note agent/fake"
	if got := FormatHits(hits); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if FormatHits(nil) != "" {
		t.Error("nothing is encoded as something")
	}
}

func TestRecallLimits(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("memory/n%02d.md", i)] = fmt.Sprintf("Tea of kind %d. %s\n", i, strings.Repeat("More words here. ", 200))
	}
	d, _ := folderOf(t, files)
	shelf := Shelf{Agent: d}
	for _, limits := range []Limits{{}, {Count: 3}, {Bytes: 1500}, {Count: 100, Bytes: 9000}, {Bytes: 10}} {
		hits, err := shelf.Recall(t.Context(), "tea kind", limits)
		settled := limits.withDefaults()
		if err != nil || len(hits) > settled.Count || len(FormatHits(hits)) > settled.Bytes {
			t.Errorf("%+v gives %d hits of %d bytes, %v", limits, len(hits), len(FormatHits(hits)), err)
		}
		if limits.Bytes != 10 && len(hits) == 0 {
			t.Errorf("%+v gives nothing", limits)
		}
	}
	if got := BytesFor(8000, 0.05, 4096); got != 1600 {
		t.Errorf("a share of a small window is %d", got)
	}
	if got := BytesFor(1_000_000, 0.05, 4096); got != 4096 {
		t.Errorf("a share of a large one is %d", got)
	}
}

func TestRecallWithoutPastMessages(t *testing.T) {
	d, _ := folderOf(t, homeNotes)
	shelf := Shelf{Agent: d, Past: func(context.Context, string, int) ([]PastMessage, error) { return nil, firn.ErrLocked }}
	hits, err := shelf.Recall(t.Context(), "green tea", Limits{})
	if !errors.Is(err, firn.ErrLocked) || len(hits) != 1 {
		t.Errorf("got %+v, %v", hits, err)
	}
}

// TestRecallWithoutNotes checks that relevant messages are recalled without notes.
func TestRecallWithoutNotes(t *testing.T) {
	text := "user: The electricians were here, both of them, and each has sent an offer with a long list of things.\n" +
		"user: We go with Hoffmann, mostly since they can begin in March, and I signed it this morning.\n" +
		"assistant: Noted. Keep a copy next to the floor plan, and ask them for the exact day on which the hallway is closed."
	shelf := Shelf{Past: func(context.Context, string, int) ([]PastMessage, error) {
		return []PastMessage{{Session: "s1", Entry: "e1", Title: "The flat", Text: text, Relevance: 0.7}, {Session: "s2", Entry: "e2", Text: strings.Replace(text, "electricians", "painters", 1), Relevance: 0.2}}, nil
	}}
	hits, err := shelf.Recall(t.Context(), "which electricians did we choose for the flat?", Limits{})
	if err != nil || len(hits) != 1 || hits[0].Ref != "s1/e1" {
		t.Errorf("got %+v, %v", hits, err)
	}
	if hits, err = shelf.Recall(t.Context(), "which electricians did we choose for the flat?", Limits{Least: 0.75}); err != nil || len(hits) != 0 {
		t.Errorf("below the least relevance got %+v, %v", hits, err)
	}
}

// TestNewerNoteReplacesOlder checks that a note is replaced by the newest one that
// contradicts it, even if that one has fewer words of the query, and that the replacement is
// stated.
func TestNewerNoteReplacesOlder(t *testing.T) {
	long := "Releases are on Friday. " + strings.Repeat("The train needs a driver and a signal. ", 8)
	for name, test := range map[string]struct {
		files    map[string]string
		query    string
		has, not []string
	}{
		"later day": {map[string]string{"memory/2026-07-01.md": "- The release day is Friday\n", "memory/2026-08-01.md": "- The release day is Tuesday\n"},
			"what is the release day, is it Friday?", []string{"Tuesday", "replaces the older note agent/2026-07-01#"}, []string{"Friday"}},
		"same day": {map[string]string{"memory/2026-08-01.md": "- The release day is Friday\n- The release day is Tuesday\n"},
			"what is the release day, is it Friday?", []string{"Tuesday", "replaces the older"}, []string{"Friday"}},
		"three": {map[string]string{"memory/2026-06-01.md": "- The release day is Monday\n", "memory/2026-07-01.md": "- The release day is Friday\n", "memory/2026-08-01.md": "- The release day is Tuesday\n"},
			"release day", []string{"Tuesday", "2026-06-01#", "2026-07-01#"}, []string{"Friday", "Monday", "[2]"}},
		"negated": {map[string]string{"memory/2026-07-01.md": "- We deploy the shop on Mondays\n", "memory/2026-08-01.md": "- We never deploy the shop on Mondays\n"},
			"when do we deploy the shop", []string{"never", "replaces"}, []string{"[2]"}},
		"independent": {map[string]string{"memory/2026-07-01.md": "- The release day is Friday\n", "memory/2026-08-01.md": "- The release notes are in NEWS\n"},
			"release day and notes", []string{"Friday", "NEWS"}, []string{"replaces"}},
		"undated": {map[string]string{"MEMORY.md": "The release day is Friday\nThe release day is Tuesday\n"},
			"release day", []string{"Friday", "Tuesday"}, []string{"replaces"}},
		"long": {map[string]string{"memory/train.md": "---\nname: train\ncreated: 2026-07-01\n---\n\n" + long + "\n", "memory/2026-08-01.md": "- Releases are on Tuesday\n"},
			"releases on Friday", []string{"driver", "in part contradicted by the newer note agent/2026-08-01#", "Tuesday"}, []string{"replaces"}},
	} {
		d, _ := folderOf(t, test.files)
		hits, err := Shelf{Agent: d}.Recall(t.Context(), test.query, Limits{})
		got := FormatHits(hits)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range test.has {
			if !strings.Contains(got, text) {
				t.Errorf("%s: without %q:\n%s", name, text, got)
			}
		}
		for _, text := range test.not {
			if strings.Contains(got, text) {
				t.Errorf("%s: with %q:\n%s", name, text, got)
			}
		}
	}
}

func TestScopes(t *testing.T) {
	mine, _ := folderOf(t, map[string]string{"memory/a.md": "Tea is kept by the agent\n"})
	theirs, _ := folderOf(t, map[string]string{"memory/a.md": "Tea is kept by the user\n"})
	shelf := Shelf{User: theirs}
	hits, err := shelf.Recall(t.Context(), "tea", Limits{})
	if err != nil || len(hits) != 1 || hits[0].Scope != ScopeUser {
		t.Errorf("a caller with separate memory gets %+v, %v", hits, err)
	}
	shelf.Agent = mine
	if hits, err = shelf.Recall(t.Context(), "tea", Limits{}); err != nil || len(hits) != 2 {
		t.Errorf("a caller with shared memory gets %+v, %v", hits, err)
	}
	if got := len((Shelf{}).Folders()); got != 0 {
		t.Errorf("an empty shelf has %d folders", got)
	}
}

// TestRecallReadsOnce searches many notes without reading them again.
func TestRecallReadsOnce(t *testing.T) {
	d, c := folderOf(t, homeNotes)
	c.pass(time.Since(someDay) + 24*time.Hour) // the files are old
	shelf := Shelf{Agent: d}
	if _, err := shelf.Recall(t.Context(), "tea", Limits{}); err != nil {
		t.Fatal(err)
	}
	before := d.known["memory/tea.md"]
	if _, err := shelf.Recall(t.Context(), "tea", Limits{}); err != nil {
		t.Fatal(err)
	}
	if after := d.known["memory/tea.md"]; &before.pieces[0] != &after.pieces[0] {
		t.Error("the same text was tokenized twice")
	}
}

// TestRecallMarksOldItems checks that only pieces older than a month are marked, within the
// limit of bytes.
func TestRecallMarksOldItems(t *testing.T) {
	d, _ := folderOf(t, homeNotes)
	shelf := Shelf{Agent: d, Past: func(context.Context, string, int) ([]PastMessage, error) {
		return []PastMessage{{Session: "s7", Entry: "e7", Title: "Shopping", Text: "user: buy more tea", Time: someDay, Relevance: 0.8}}, nil
	}}
	day := 24 * time.Hour
	for age, want := range map[time.Duration]string{
		-day: "", day: "", 29 * day: "", 31 * day: "1 month old: may be out of date", 400 * day: "13 months old: may be out of date",
		800 * day: "2 years old: may be out of date",
	} {
		hits, err := shelf.Recall(t.Context(), "tea", Limits{Now: someDay.Add(age)})
		if err != nil || len(hits) != 2 {
			t.Fatal(hits, err)
		}
		got := FormatHits(hits)
		if strings.Contains(got, " old") != (want != "") || !strings.Contains(got, "2026-08-05, "+want) && want != "" {
			t.Errorf("%s later it is encoded\n%s", age, got)
		}
		if hits, _ := shelf.Recall(t.Context(), "tea", Limits{Now: someDay.Add(age), Bytes: len(got) + 1}); FormatHits(hits) != got {
			t.Errorf("within its own length it is encoded\n%s", FormatHits(hits))
		}
	}
}
