package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

// work is a conversation with facts worth keeping.
func work() []firn.Entry {
	return talk(someDay,
		"I prefer tabs over spaces in all Go code.", "Noted.",
		"We decided to use Postgres because SQLite locks too much.", "Postgres it is; the schema lives in db/schema.sql.",
		"The demo for the board is tomorrow.", "Good luck.",
		"What is the weather?", "I cannot know.")
}

func TestExtractWithAModel(t *testing.T) {
	model := scripted.New(provider.Info{}, scripted.Reply(strings.Join([]string{
		"Here is what I found:",
		"MEMORY: preference | 9 | The user prefers tabs over spaces in Go code | 1",
		"MEMORY: Decision | 8/10 | Postgres is used because SQLite locks too much | 3",
		"- MEMORY: project | 7 | The schema lives in db/schema.sql",              // finds its line
		"MEMORY: project | 6 | The moon is made of cheese and holes | 2",         // has no source
		"MEMORY: project | 6 | The demo for the board is tomorrow | 99, 5",       // one line exists
		"MEMORY: weather | 5 | It rains | 7",                                     // no category
		"MEMORY: preference | much | The user likes rain | 7",                    // no number
		"MEMORY: constraint | 1 | Tabs must be used in Go code | 1",              // not sure
		"MEMORY: decision | 9 | The assistant decided to use Postgres | 3",       // junk
		"MEMORY: constraint | 9 | Answers are brief and to the point always | 1", // familiar
	}, "\n")))
	x := Extractor{Model: model, Familiar: []string{"Answers are always brief and to the point."}}
	found, err := x.Extract(t.Context(), Collect("s1", work(), "", false))
	if err != nil || found.Fallback != "" || found.Usage == nil {
		t.Fatalf("got %+v, %v", found, err)
	}
	var got []string
	for _, f := range found.Facts {
		got = append(got, fmt.Sprintf("%s %.1f %s %v", f.Category, f.Confidence, f.Text, f.Sources))
	}
	want := []string{
		"preference 0.9 The user prefers tabs over spaces in Go code [s1/e01]",
		"decision 0.8 Postgres is used because SQLite locks too much [s1/e03]",
		"project 0.7 The schema lives in db/schema.sql [s1/e04]",
		"project 0.6 The demo for the board is tomorrow [s1/e05]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	asked := model.Requests()[0]
	if asked.Purpose != provider.ForMemory || !strings.Contains(fmt.Sprint(asked.Window.Items), "[5] user, 2026-08-05: The demo for the board is tomorrow.") {
		t.Errorf("the model received %+v", asked.Window.Items)
	}
}

func TestExtractWithoutAModel(t *testing.T) {
	m := Collect("s1", work(), "", false)
	for name, model := range map[string]provider.Model{
		"none": nil, "failing": scripted.New(provider.Info{}, scripted.Fail(&provider.Error{Kind: provider.BadRequest, Message: "no"})),
		"chatting": scripted.New(provider.Info{}, scripted.Reply("I would be glad to help!")),
	} {
		found, err := Extractor{Model: model}.Extract(t.Context(), m)
		if err != nil || (found.Fallback != "") != (model != nil) {
			t.Fatalf("%s: %+v, %v", name, found, err)
		}
		got := fmt.Sprint(factTexts(found.Facts))
		if len(found.Facts) != 2 || found.Facts[0].Category != Preference || found.Facts[1].Category != Decision || found.Facts[1].Sources[0] != (Source{"s1", "e03"}) {
			t.Errorf("%s: %s", name, got)
		}
	}
	none, err := Extractor{Model: scripted.New(provider.Info{}, scripted.Reply("NONE"))}.Extract(t.Context(), m)
	if err != nil || len(none.Facts) != 0 || none.Fallback != "" {
		t.Errorf("a model that finds nothing gives %+v, %v", none, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Extractor{Model: scripted.New(provider.Info{}, scripted.Reply("NONE"))}).Extract(ctx, m); !errors.Is(err, context.Canceled) {
		t.Errorf("when it ends: %v", err)
	}
}

// FuzzAnswer reads any answer.
func FuzzAnswer(f *testing.F) {
	f.Add("MEMORY: project | 5 | x y z | 1,2\nMERGE: 1, 2 | x y z\nNOTE: t | 1,2 | x\nNONE")
	lines := Collect("s1", work(), "", false).Lines
	f.Fuzz(func(t *testing.T, answer string) {
		candidates, _ := parseAnswer(answer)
		for _, fact := range (Extractor{}).ground(t.Context(), candidates, lines, nil) {
			if len(fact.Sources) == 0 || fact.Confidence <= 0 || fact.Confidence > 1 || strings.Contains(fact.Text, "\n") {
				t.Errorf("%q gives %+v", answer, fact)
			}
		}
		for _, s := range parseAdvice(answer, []string{"one two three", "two three four"}) {
			if !s.valid() {
				t.Errorf("%q gives %+v", answer, s)
			}
		}
	})
}

func TestLearn(t *testing.T) {
	d, c := folderOf(t, map[string]string{"memory/2026-08-01.md": "- The port of the server is 8080\n", "memory/house.md": "We never deploy on Mondays here.\n"})
	facts := []Fact{
		{Category: Preference, Text: "The user prefers tabs over spaces", Confidence: 0.8, Sources: []Source{{"s1", "e1"}}, written: someDay, spoken: true},
		{Category: Project, Text: "The demo is tomorrow", Confidence: 0.7, Sources: []Source{{"s1", "e2"}}, written: someDay, spoken: true},
		{Category: Project, Text: "The port of the server is 9090", Confidence: 0.9, Sources: []Source{{"s1", "e3"}}, written: someDay, spoken: true},
		{Category: Constraint, Text: "never deploy on Mondays", Confidence: 0.9, Sources: []Source{{"s1", "e4"}}, written: someDay, spoken: true}, // known by hand
	}
	if _, err := d.Learn(t.Context(), facts, "s1", "e9"); err != nil {
		t.Fatal(err)
	}
	want := "---\nname: Extracted memories\ndescription: Facts extracted from conversations, with their evidence.\ncreated: 2026-08-05T00:00:00Z\n---\n\n## Auto-extracted memories\n\n### Session memories — 2026-08-05\n" +
		"- **[preference]** The user prefers tabs over spaces *(confidence: 80%)* <!-- from s1/e1 -->\n" +
		"- **[project]** The demo is on 2026-08-06 *(confidence: 70%)* <!-- from s1/e2 -->\n" +
		"- **[project]** The port of the server is 9090 *(confidence: 90%)* <!-- from s1/e3 -->\n"
	if got := fileText(t, d, "memory/extracted.md"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := fileText(t, d, "memory/2026-08-01.md"); got != "- ~~The port of the server is 8080~~ (superseded 2026-08-05)\n" {
		t.Errorf("the outdated fact is %q", got)
	}
	if at, err := d.Examined("s1"); at != "e9" || err != nil {
		t.Errorf("the conversation was read up to %s, %v", at, err)
	}
	before := fileText(t, d, "memory/extracted.md")
	if change, err := d.Learn(t.Context(), facts, "s1", "e9"); err != nil || len(change.Files) > 0 || fileText(t, d, "memory/extracted.md") != before {
		t.Errorf("learning the same again changes %+v, %v:\n%s", change.Files, err, fileText(t, d, "memory/extracted.md"))
	}
	c.pass(24 * 3600 * 1e9)
	echo := []Fact{{Category: Preference, Text: "The user prefers tabs over spaces", Confidence: 0.9, Sources: []Source{{"s2", "e5"}}, written: c.now()}} // repeated by the agent
	if change, err := d.Learn(t.Context(), echo, "", ""); err != nil || len(change.Files) > 0 {
		t.Errorf("an echo changes %+v, %v", change, err)
	}
	echo[0].spoken = true // now it is the user
	change, err := d.Learn(t.Context(), echo, "", "")
	if err != nil || len(change.Edits) != 1 || change.Edits[0].Do != "merge" || !strings.Contains(fileText(t, d, "memory/extracted.md"), "*(confidence: 95%)* <!-- from s1/e1, s2/e5 -->") {
		t.Errorf("more evidence gives %+v, %v", change.Edits, err)
	}
}

// TestRecalledTextIsNotLearned has an agent repeat text from memory: from messages, a tool, a
// note of another scope and another conversation. Only the agent's own findings are learned.
func TestRecalledTextIsNotLearned(t *testing.T) {
	other, _ := folderOf(t, map[string]string{"memory/2026-08-01.md": "- The ferry to Moss leaves at nine\n"})
	past := func(_ context.Context, query string, _ int) ([]PastMessage, error) {
		return []PastMessage{
			{Session: "s0", Entry: "x1", Relevance: 0.9, Text: "user: The office is painted in deep orange", Time: someDay.AddDate(0, 0, -3)},
			{Session: "s9", Entry: "x2", Relevance: 0.9, Text: "user: The parser is written in plain Haskell", Time: someDay.AddDate(0, 0, 3)}, // sent later
			{Session: "fork", Entry: "e06", Relevance: 0.9, Text: "assistant: The schema lives in db/schema.sql", Time: someDay},               // a copy of one of firn's notes
		}, nil
	}
	entries := talk(someDay,
		"<recall>\nThe cat of the house is called Tom\n</recall>\nWhat is the cat called? When does the ferry leave for Moss?", "The cat of the house is called Tom. The ferry to Moss leaves at nine.",
		"And the office?", "The office is painted in deep orange.",
		"Where is the schema, and what is the parser?", "The schema lives in db/schema.sql and the parser is written in plain Haskell.",
		"What of the train?", "The train to Bergen has seven wagons.")
	call := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.ToolCall{ID: "c", Name: "mcp__firn__recall"}}})
	result := firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "c", Content: []firn.Part{firn.Text{Text: "[1] note agent/x\n  The train to Bergen has seven wagons"}}}}})
	entries = append(entries[:7:7], call, result, entries[7])
	model := func() provider.Model {
		return scripted.New(provider.Info{}, scripted.Reply(strings.Join([]string{
			"MEMORY: project | 9 | The cat of the house is called Tom | 1, 2",
			"MEMORY: project | 9 | The ferry to Moss leaves at nine | 1, 2",
			"MEMORY: project | 9 | The office is painted in deep orange | 3, 4",
			"MEMORY: project | 9 | The schema lives in db/schema.sql | 5, 6",
			"MEMORY: project | 9 | The parser is written in plain Haskell | 6",
			"MEMORY: project | 9 | The train to Bergen has seven wagons | 8",
		}, "\n")))
	}
	material := Collect("s1", entries, "", false)
	found, err := Extractor{Model: model(), Notes: Shelf{Agent: other, Past: past}}.Extract(t.Context(), material)
	if got := strings.Join(factTexts(found.Facts), "|"); err != nil || got != "The schema lives in db/schema.sql|The parser is written in plain Haskell" {
		t.Errorf("learned was %q, %v", got, err)
	}
	// In a fork the same entries are copied: still nothing is learned.
	found, err = Extractor{Model: model(), Notes: Shelf{Agent: other, Past: past}}.Extract(t.Context(), Collect("fork", entries, "", false))
	if err != nil || len(found.Facts) != 2 {
		t.Errorf("in a fork learned was %q, %v", factTexts(found.Facts), err)
	}
	// If the search fails, the text may be from memory.
	broken := func(context.Context, string, int) ([]PastMessage, error) { return nil, firn.ErrLocked }
	if found, err = (Extractor{Model: model(), Notes: Shelf{Past: broken}}).Extract(t.Context(), material); err != nil || len(found.Facts) != 0 {
		t.Errorf("without the past learned was %q, %v", factTexts(found.Facts), err)
	}
}

// TestForksDoNotRaiseConfidence checks that the copy of a message in a fork does not increase
// the confidence.
func TestForksDoNotRaiseConfidence(t *testing.T) {
	d, _ := folderOf(t, nil)
	fact := Fact{Category: Preference, Text: "The user prefers tabs over spaces", Confidence: 0.8, Sources: []Source{{"s1", "e1"}}, written: someDay, spoken: true}
	for _, s := range []Source{{"s1", "e1"}, {"fork", "e1"}} {
		fact.Sources = []Source{s}
		if _, err := d.Learn(t.Context(), []Fact{fact}, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := fileText(t, d, "memory/extracted.md"); !strings.Contains(got, "*(confidence: 80%)* <!-- from s1/e1, fork/e1 -->") {
		t.Errorf("it is\n%s", got)
	}
}

// TestExtractInOtherLanguages checks extraction without a model in known and unknown
// languages.
func TestExtractInOtherLanguages(t *testing.T) {
	m := Collect("s1", talk(someDay,
		"Merk dir, dass der Server in Oslo steht und die Daten in Bergen.", "Gut.",
		"Nous avons décidé de publier la version avec le nouveau moteur.", "Bien.",
		"Prefiero el café con leche y sin azúcar en la oficina.", "Vale.",
		"Wird das immer so gemacht, und ist das gut für die Leute?", "Ja.",
		"サーバーはオスロにあります。", "はい。"), "", false)
	found, err := Extractor{}.Extract(t.Context(), m)
	var got []string
	for _, f := range found.Facts {
		got = append(got, string(f.Category)+" "+f.Text)
	}
	want := "project Der Server in Oslo steht und die Daten in Bergen.|decision Nous avons décidé de publier la version avec le nouveau moteur.|preference Prefiero el café con leche y sin azúcar en la oficina."
	if strings.Join(got, "|") != want || err != nil {
		t.Errorf("found %q, %v", got, err)
	}
}
