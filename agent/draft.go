package agent

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// draftEvery is the interval at which chunks are stored, so that a crash loses less than a
// second of the answer.
const draftEvery = 500 * time.Millisecond

// draftChunk is the data of an entry of type firn.DraftType.
type draftChunk struct {
	// Answer is the ID that the answer will have.
	Answer   firn.EntryID `json:"answer"`
	Thinking string       `json:"thinking,omitempty"`
	Text     string       `json:"text,omitempty"`
	// Held means that the text is not shown yet: the answer may still turn out to be silent.
	Held bool `json:"held,omitempty"`
}

func (p draftChunk) empty() bool { return p.Thinking == "" && p.Text == "" }

func (p draftChunk) entry() firn.Entry {
	data, err := json.Marshal(p)
	if err != nil { // strings can always be encoded
		data = nil
	}
	return firn.NewEntry(&firn.Custom{Type: firn.DraftType, Data: data})
}

// draft is an answer that is being streamed.
type draft struct {
	// id is the ID that the answer will have.
	id firn.EntryID
	// whole is the answer so far, fresh the part that is not stored yet.
	whole  provider.Draft
	fresh  draftChunk
	filter silenceFilter
}

func newDraft(silence Silence) *draft {
	return &draft{id: firn.NewEntryID(), filter: silenceFilter{mode: silence}}
}

// add processes the next event and returns the text to show for it.
func (d *draft) add(e provider.Event) (shown Delta, ok bool) {
	d.whole.Add(e)
	shown.Entry = d.id
	switch e := e.(type) {
	case provider.TextDelta:
		d.fresh.Text += e.Text
		shown.Text = d.filter.add(e.Text)
	case provider.ThinkingDelta:
		d.fresh.Thinking += e.Text
		shown.Thinking, shown.Text = true, e.Text
	}
	return shown, shown.Text != ""
}

// take returns the text received since the previous call.
func (d *draft) take() draftChunk {
	p := d.fresh
	p.Answer, p.Held = d.id, p.Text != "" && d.filter.held.Len() > 0
	d.fresh = draftChunk{}
	return p
}

// errKilled marks an answer that was cut off by a crash.
var errKilled = errors.New("interrupted: firn exited during the answer")

// recoverDraft returns a marked answer made from the chunks that a crash left. It returns
// false if there are none.
func (t starter) recoverDraft() (firn.Entry, bool) {
	thinking, text := joinLoose(t.path)
	var parts []firn.Part
	if thinking != "" {
		parts = append(parts, firn.Thinking{Text: thinking})
	}
	if text != "" {
		parts = append(parts, firn.Text{Text: text})
	}
	sealed := t.failureEntry(firn.StopAborted, parts, errKilled)
	if by := askedAgent(t.path); by != "" {
		sealed = window.WithAnsweringAgent(sealed, by)
	}
	return sealed, len(parts) > 0
}

// askedAgent returns the agent that the last user message names, or an empty string.
func askedAgent(p window.Path) string {
	for _, e := range slices.Backward(p.Entries) {
		if _, ok := messageWithRole(e, firn.RoleUser); ok {
			return window.AnsweringAgent(&e)
		}
	}
	return ""
}

// PartialAnswer returns the partial text of an answer that a crash cut off and that is not marked
// yet, or an empty string. The next turn marks it.
func PartialAnswer(p window.Path) string {
	thinking, text := joinLoose(p)
	if text != "" {
		return text
	}
	return thinking
}

// joinLoose joins the loose chunks of a path.
func joinLoose(p window.Path) (thinking, text string) {
	var a, b strings.Builder
	for _, piece := range looseChunks(p) {
		a.WriteString(piece.Thinking)
		b.WriteString(piece.Text)
	}
	return a.String(), b.String()
}

// looseChunks returns the chunks at the end of a path that have no answer. Chunks of a
// hidden answer are hidden too.
func looseChunks(path window.Path) []draftChunk {
	var pieces []draftChunk
	for _, e := range slices.Backward(path.Entries) {
		switch b := e.Body.(type) {
		case *firn.Message:
			if b.Role == firn.RoleAssistant || b.Role == firn.RoleToolResult {
				return lastAnswerChunks(pieces)
			}
		case *firn.Custom:
			if p, ok := readChunk(b); ok && !path.Hides(p.Answer) {
				pieces = append(pieces, p)
			}
		}
	}
	return lastAnswerChunks(pieces)
}

// lastAnswerChunks keeps only the chunks of the latest answer and reverses them into log
// order.
func lastAnswerChunks(pieces []draftChunk) []draftChunk {
	if len(pieces) > 0 {
		last := pieces[0].Answer
		pieces = slices.DeleteFunc(pieces, func(p draftChunk) bool { return p.Answer != last })
	}
	slices.Reverse(pieces)
	return pieces
}

func readChunk(c *firn.Custom) (draftChunk, bool) {
	if c.Type != firn.DraftType {
		return draftChunk{}, false
	}
	var p draftChunk
	if json.Unmarshal(c.Data, &p) != nil || p.empty() {
		return draftChunk{}, false
	}
	return p, true
}
