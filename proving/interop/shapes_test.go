package interop

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
)

// shape is a kind of session that firn can write.
type shape struct {
	build func(t *testing.T, s *session)
	// says are the texts of firn's window; nil if another test checks them.
	says []string
	// hides is true if it contains tombstones, which pi ignores.
	hides bool
}

// shapes are all shapes by name.
var shapes = map[string]shape{
	"one line of every kind":         {build: everyKind},
	"odd text":                       {build: oddText},
	"a header and nothing else":      {build: func(*testing.T, *session) {}},
	"no answer yet":                  {build: func(t *testing.T, s *session) { s.add(t, userMessage("hello?")) }, says: []string{"hello?"}},
	"an answer that failed":          {build: failed, says: slices.Concat(turns("one"), []string{"ask two"}, turns("three"))},
	"a system prompt":                {build: systemPrompt, says: turns("one")},
	"branched":                       {build: branched, says: slices.Concat(turns("one", "two"), []string{branchText}, turns("five"))},
	"rewound":                        {build: rewound, says: turns("one")},
	"two roots":                      {build: twoRoots, says: append([]string{"something else"}, turns("three")...)},
	"compacted":                      {build: func(t *testing.T, s *session) { compacted(t, s) }, says: summed("One was asked.", "two", "three", "four")},
	"compacted and nothing kept":     {build: nothingKept, says: summed("One, two and three.", "four")},
	"compacted twice":                {build: compactedTwice, says: summed("One and two were asked.", "three", "four", "five")},
	"compacted, then left":           {build: compactedThenLeft, says: turns("one", "two", "five")},
	"compacted and undone":           {build: uncompacted, says: turns("one", "two", "three", "four", "five"), hides: true},
	"compacted, undone and restored": {build: recompacted, says: summed("One was asked.", "two", "three", "four", "five", "six")},
	"a message hidden":               {build: func(t *testing.T, s *session) { hidden(t, s) }, says: turns("one", "three", "four"), hides: true},
	"a message hidden and restored":  {build: restored, says: turns("one", "two", "three", "four", "five")},
	"hidden on another branch":       {build: hiddenElsewhere, says: turns("one", "three")},
	"the session hidden":             {build: sessionHidden, says: turns("one")},
	"an entry purged":                {build: purged, says: turns("one", "three", "four")},
	"the last entry purged":          {build: lastPurged, says: turns("one")},
	"the kept-from mark purged":      {build: markPurged, says: slices.Concat(summed("One was asked."), []string{"answer two"}, turns("three", "four", "five"))},
	"a compaction purged":            {build: compactionPurged, says: turns("one", "two", "three", "four")},
	"a title taken away":             {build: titleTakenAway, says: turns("one")},
	"a torn tail repaired":           {build: tornTail, says: turns("one", "two")},
	"a missing newline repaired":     {build: missingNewline, says: turns("one", "two")},
}

// turns returns the texts of the messages that [session.talk] appends.
func turns(words ...string) []string {
	var texts []string
	for _, word := range words {
		texts = append(texts, "ask "+word, "answer "+word)
	}
	return texts
}

// summed returns the texts of a summary and of the turns after it.
func summed(summary string, words ...string) []string {
	text := "The conversation history before this point was compacted into the following summary:\n\n<summary>\n" + summary + "\n</summary>"
	return append([]string{text}, turns(words...)...)
}

const branchText = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nThree led nowhere.</summary>"

// at is the time of all messages.
var at = time.Date(2026, 11, 15, 2, 45, 47, 206e6, time.UTC)

// userMessage returns a message of the user.
func userMessage(text string) *firn.Message {
	return &firn.Message{Role: firn.RoleUser, Time: at, Parts: []firn.Part{firn.Text{Text: text}}}
}

// answered returns an answer of a model.
func answered(text string, more ...firn.Part) *firn.Message {
	m := &firn.Message{
		Role: firn.RoleAssistant, Time: at.Add(time.Second), API: "anthropic-messages", Provider: "fake", Model: "fake-1", StopReason: firn.StopEnd,
		Parts: append([]firn.Part{firn.Text{Text: text}}, more...),
		Usage: &firn.Usage{Input: 629, Output: 7, Total: 636, Cost: firn.Cost{Input: .001887, Output: .000105, Total: .001992}},
	}
	if len(more) > 0 {
		m.StopReason = firn.StopToolUse
	}
	return m
}

// calls returns a tool call for an answer.
func calls(id string) firn.ToolCall {
	return firn.ToolCall{ID: id, Name: "read", Arguments: json.RawMessage(`{"path": "a.txt", "limit": 1.50}`)}
}

// returned returns a tool result.
func returned(id, text string) *firn.Message {
	return &firn.Message{Role: firn.RoleToolResult, Time: at.Add(2 * time.Second), Parts: []firn.Part{firn.ToolResult{
		CallID: id, Name: "read", Content: []firn.Part{firn.Text{Text: text}}, Details: json.RawMessage(`{"lines":1}`)}}}
}

// talk appends turns of the user and the assistant and returns their IDs.
func (s *session) talk(t *testing.T, words ...string) []firn.EntryID {
	t.Helper()
	var ids []firn.EntryID
	for _, word := range words {
		ids = append(ids, s.add(t, userMessage("ask "+word)), s.add(t, answered("answer "+word)))
	}
	return ids
}

// dot is an image of one pixel.
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// everyKind appends all kinds of entries that do not change the live part, with all kinds
// of parts.
func everyKind(t *testing.T, s *session) {
	ok := 0
	first := s.add(t, userMessage("What is in a.txt?"))
	for _, body := range []firn.Body{
		&firn.ModelChange{Provider: "fake", Model: "fake-1"},
		&firn.ThinkingChange{Level: "medium"},
		answered("Reading it.", calls("toolu_1"), calls("toolu_2")),
		returned("toolu_1", "alpha\n"),
		&firn.Message{Role: firn.RoleToolResult, Time: at, Parts: []firn.Part{firn.ToolResult{CallID: "toolu_2", Name: "read", IsError: true,
			Content: []firn.Part{firn.Text{Text: "no such file"}, firn.Image{MimeType: "image/png", Data: dot}}}}},
		&firn.Message{Role: firn.RoleAssistant, Time: at, API: "anthropic-messages", Provider: "fake", Model: "fake-1", StopReason: firn.StopEnd, Parts: []firn.Part{
			firn.Thinking{Text: "Alpha, then.", Signature: "c2ln"}, firn.Thinking{Signature: "ZW5j", Redacted: true}, firn.Text{Text: "Alpha.", Signature: "dHNpZw=="}}},
		&firn.Message{Role: firn.RoleUser, Time: at, Parts: []firn.Part{firn.Text{Text: "And here?"}, firn.Image{MimeType: "image/png", Data: dot}}},
		&firn.Message{Role: firn.RoleShell, Time: at, Parts: []firn.Part{firn.Shell{Command: "ls", Output: "a.txt\n", ExitCode: &ok}}},
		&firn.Message{Role: firn.RoleShell, Time: at, Parts: []firn.Part{firn.Shell{Command: "true", ExitCode: &ok}}},
		&firn.Message{Role: firn.RoleShell, Time: at, Parts: []firn.Part{firn.Shell{Command: "cat key", Output: "secret", ExitCode: &ok, Hidden: true}}},
		&firn.Label{Target: first, Name: "checkpoint"},
		&firn.Label{Target: first},
		&firn.Label{Target: first, Name: "start"},
		&firn.Title{Name: "A guess", Source: firn.SourceAuto},
		&firn.Title{Name: "Reading a file", Source: firn.SourceUser},
		&firn.Custom{Type: "counter", Data: json.RawMessage(`{"n": 1.0}`)},
		&firn.Custom{Type: "flag"},
		&firn.CustomMessage{Type: "note", Parts: []firn.Part{firn.Text{Text: "The user is away."}}, Display: true, Details: json.RawMessage(`{"k":1}`)},
		&firn.BranchSummary{From: first, Summary: "Tried another file; nothing there.", Details: json.RawMessage(`{"readFiles":["a.txt"]}`)},
		&firn.BranchSummary{From: first},
		&firn.Opaque{Raw: json.RawMessage(`{"type":"from_the_future","deep":{"a":[1.50]}}`)},
		&firn.Head{Reason: "stay here"},
	} {
		s.add(t, body)
	}
	e := firn.NewEntry(answered("A dot."))
	e.Extra = firn.Fields{{Name: "traceId", Value: json.RawMessage(`"7f"`)}, {Name: "big", Value: json.RawMessage(`12345678901234567890123`)}}
	s.append(t, e)
}

// oddText appends text that is hard for other programs, and a line longer than their read
// buffers.
func oddText(t *testing.T, s *session) {
	s.add(t, userMessage("line\u2028separator, paragraph\u2029separator, <b>&amp;</b>, \\u0041, \"quotes\", tab\t, bell\a, \x7f, \r\n, \ufeff"))
	s.add(t, answered("🧊 snow ❄️, 雪, \U0010ffff"))
	s.add(t, userMessage("half a letter: \xc3, a lone surrogate: \xed\xa0\x80, a zero: \x00"))
	s.add(t, answered(strings.Repeat("é雪🧊", 300_000)))
	s.add(t, userMessage(""))
	s.add(t, &firn.Title{Name: "Odd\u2028text"})
}

func failed(t *testing.T, s *session) {
	s.talk(t, "one")
	s.add(t, userMessage("ask two"))
	s.add(t, &firn.Message{Role: firn.RoleAssistant, Time: at, API: "anthropic-messages", Provider: "fake", Model: "fake-1", StopReason: firn.StopError, Error: "overloaded"})
	s.add(t, &firn.Message{Role: firn.RoleAssistant, Time: at, API: "anthropic-messages", Provider: "fake", Model: "fake-1", StopReason: firn.StopAborted, Error: "aborted",
		Parts: []firn.Part{firn.Text{Text: "half an ans"}}})
	s.talk(t, "three")
}

func systemPrompt(t *testing.T, s *session) {
	s.add(t, &firn.Message{Role: firn.RoleSystem, Time: at, Parts: []firn.Part{firn.Text{Text: "Be kind."}}})
	s.talk(t, "one")
}

// branched leaves two abandoned branches, one with a summary.
func branched(t *testing.T, s *session) {
	ids := s.talk(t, "one", "two", "three")
	s.addAfter(t, ids[1], &firn.Head{Reason: "try again"})
	s.talk(t, "four")
	s.addAfter(t, ids[3], &firn.BranchSummary{From: ids[5], Summary: "Three led nowhere."})
	s.talk(t, "five")
}

// rewound ends with a head move.
func rewound(t *testing.T, s *session) {
	ids := s.talk(t, "one", "two", "three")
	s.addAfter(t, ids[1], &firn.Head{Reason: "rewind"})
}

func twoRoots(t *testing.T, s *session) {
	s.talk(t, "one", "two")
	s.addAfter(t, firn.Root, userMessage("something else"))
	s.talk(t, "three")
}

// settled is the state that a compaction records.
const settled = `{"state":{"provider":"fake","modelId":"fake-1","thinkingLevel":"high"}}`

// compacted keeps a tail. It returns the IDs of the messages and of the compaction.
func compacted(t *testing.T, s *session) (ids []firn.EntryID, compaction firn.EntryID) {
	s.add(t, &firn.ThinkingChange{Level: "high"})
	ids = s.talk(t, "one", "two", "three")
	compaction = s.add(t, &firn.Compaction{Summary: "One was asked.", FirstKept: ids[2], TokensBefore: 38598, Details: json.RawMessage(settled)})
	return append(ids, s.talk(t, "four")...), compaction
}

// nothingKept compacts like CrabTalk: the kept-from mark is the compaction itself.
func nothingKept(t *testing.T, s *session) {
	s.talk(t, "one", "two")
	e := firn.NewEntry(nil)
	e.Body = &firn.Compaction{Summary: "One and two.", FirstKept: e.ID, TokensBefore: 9, Details: json.RawMessage(`{"state":{"provider":"fake","modelId":"fake-1"}}`)}
	s.append(t, e)
	s.talk(t, "three")
	s.add(t, &firn.Compaction{Summary: "One, two and three.", TokensBefore: 9, Details: json.RawMessage(`{"state":{"provider":"fake","modelId":"fake-1"}}`)})
	s.talk(t, "four")
}

// compactedTwice has the first compaction in the tail that the second keeps.
func compactedTwice(t *testing.T, s *session) {
	ids, _ := compacted(t, s)
	s.add(t, &firn.Compaction{Summary: "One and two were asked.", FirstKept: ids[4], TokensBefore: 41000, Details: json.RawMessage(settled)})
	s.talk(t, "five")
}

// compactedThenLeft rewinds to before the compaction.
func compactedThenLeft(t *testing.T, s *session) {
	ids, _ := compacted(t, s)
	s.addAfter(t, ids[3], &firn.Head{})
	s.talk(t, "five")
}

func uncompacted(t *testing.T, s *session) {
	_, compaction := compacted(t, s)
	s.add(t, &firn.Tombstone{Target: compaction, Reason: "uncompact"})
	s.talk(t, "five")
}

func recompacted(t *testing.T, s *session) {
	_, compaction := compacted(t, s)
	stone := s.add(t, &firn.Tombstone{Target: compaction})
	s.talk(t, "five")
	s.add(t, &firn.Tombstone{Target: stone})
	s.talk(t, "six")
}

// hidden hides two messages and returns the tombstones.
func hidden(t *testing.T, s *session) (stones []firn.EntryID) {
	ids := s.talk(t, "one", "two", "three")
	stones = append(stones, s.add(t, &firn.Tombstone{Target: ids[2], Reason: "a secret"}), s.add(t, &firn.Tombstone{Target: ids[3]}))
	s.talk(t, "four")
	return stones
}

func restored(t *testing.T, s *session) {
	for _, stone := range hidden(t, s) {
		s.add(t, &firn.Tombstone{Target: stone, Reason: "restore"})
	}
	s.talk(t, "five")
}

func hiddenElsewhere(t *testing.T, s *session) {
	ids := s.talk(t, "one", "two")
	s.addAfter(t, ids[1], &firn.Head{})
	s.talk(t, "three")
	s.add(t, &firn.Tombstone{Target: ids[3]})
}

func sessionHidden(t *testing.T, s *session) {
	s.talk(t, "one")
	s.add(t, &firn.Tombstone{Target: firn.EntryID(s.id), Reason: "not now"})
}

func purged(t *testing.T, s *session) {
	ids := s.talk(t, "one", "two", "three")
	s.purge(t, ids[2], ids[3])
	s.talk(t, "four")
}

func lastPurged(t *testing.T, s *session) {
	ids := s.talk(t, "one", "two")
	s.purge(t, ids[2], ids[3])
}

// markPurged purges the first entry that a compaction keeps.
func markPurged(t *testing.T, s *session) {
	ids, _ := compacted(t, s)
	s.purge(t, ids[2])
	s.talk(t, "five")
}

func compactionPurged(t *testing.T, s *session) {
	_, compaction := compacted(t, s)
	s.purge(t, compaction)
}

func titleTakenAway(t *testing.T, s *session) {
	s.talk(t, "one")
	s.add(t, &firn.Title{Name: "One", Source: firn.SourceUser})
	s.add(t, &firn.Title{Source: firn.SourceUser})
}

func (s *session) purge(t *testing.T, ids ...firn.EntryID) {
	t.Helper()
	if _, err := s.st.Purge(t.Context(), s.id, "a secret", ids...); err != nil {
		t.Fatal(err)
	}
}

func tornTail(t *testing.T, s *session) {
	s.talk(t, "one")
	s.tear(t, `{"type":"message","id":"torn","parentId":null,"timestamp":"2026-11-15T02:4`)
	s.talk(t, "two")
}

func missingNewline(t *testing.T, s *session) {
	ids := s.talk(t, "one")
	s.tear(t, `{"type":"custom","customType":"whole","id":"whole","parentId":"`+string(ids[1])+`","timestamp":"2026-11-15T02:45:47.206Z"}`)
	s.talk(t, "two")
}

// tear appends a partial line, as a killed process would.
func (s *session) tear(t *testing.T, fragment string) {
	t.Helper()
	f, err := os.OpenFile(s.file(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(fragment); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
