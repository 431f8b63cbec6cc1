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

// draftEvery is how often the pieces are kept: half a second, so that a crash
// loses less than a second of what was said.
const draftEvery = 500 * time.Millisecond

// piece is the data of such an entry.
type piece struct {
	// Answer is the name the answer will have.
	Answer   firn.EntryID `json:"answer"`
	Thinking string       `json:"thinking,omitempty"`
	Text     string       `json:"text,omitempty"`
}

func (p piece) empty() bool { return p.Thinking == "" && p.Text == "" }

func (p piece) entry() firn.Entry {
	data, err := json.Marshal(p)
	if err != nil { // strings always can be
		data = nil
	}
	return firn.NewEntry(&firn.Custom{Type: firn.DraftType, Data: data})
}

// draft is an answer on its way.
type draft struct {
	// id is the name the answer will have.
	id firn.EntryID
	// whole is all that came, fresh what is not kept yet.
	whole provider.Draft
	fresh piece
	hush  hush
}

func newDraft(silence Silence) *draft {
	return &draft{id: firn.NewEntryID(), hush: hush{mode: silence}}
}

// add takes the next event and returns what may be shown of it.
func (d *draft) add(e provider.Event) (shown Delta, ok bool) {
	d.whole.Add(e)
	shown.Entry = d.id
	switch e := e.(type) {
	case provider.TextDelta:
		d.fresh.Text += e.Text
		shown.Text = d.hush.pass(e.Text)
	case provider.ThinkingDelta:
		d.fresh.Thinking += e.Text
		shown.Thinking, shown.Text = true, e.Text
	}
	return shown, shown.Text != ""
}

// take returns what came since the last time.
func (d *draft) take() piece {
	p := d.fresh
	p.Answer = d.id
	d.fresh = piece{}
	return p
}

// errKilled is why an answer is marked that a crash cut off.
var errKilled = errors.New("interrupted: firn ended while the answer was being given")

// seal makes the entry that marks an answer which a crash cut off; false if
// there is none.
func (t *turn) seal() (firn.Entry, bool) {
	thinking, text := joined(t.path)
	var parts []firn.Part
	if thinking != "" {
		parts = append(parts, firn.Thinking{Text: thinking})
	}
	if text != "" {
		parts = append(parts, firn.Text{Text: text})
	}
	sealed := t.failure(firn.StopAborted, parts, errKilled)
	if by := askedAgent(t.path); by != "" {
		sealed = window.WithAnswerer(sealed, by)
	}
	return sealed, len(parts) > 0
}

// askedAgent returns the agent that the last message of the user names; empty if it names
// none.
func askedAgent(p window.Path) string {
	for _, e := range slices.Backward(p.Entries) {
		if _, ok := saidBy(e, firn.RoleUser); ok {
			return window.Answerer(&e)
		}
	}
	return ""
}

// CutOff returns what a path has of an answer that a crash cut off and that no
// turn has marked yet; empty if there is none. The next turn marks it.
func CutOff(p window.Path) string {
	thinking, text := joined(p)
	if text != "" {
		return text
	}
	return thinking
}

// joined is what the loose pieces of a path say.
func joined(p window.Path) (thinking, text string) {
	var a, b strings.Builder
	for _, piece := range loose(p) {
		a.WriteString(piece.Thinking)
		b.WriteString(piece.Text)
	}
	return a.String(), b.String()
}

// loose returns the pieces at the end of a path that no answer came of. Those
// of an answer that was hidden are as hidden as the answer.
func loose(path window.Path) []piece {
	var pieces []piece
	for _, e := range slices.Backward(path.Entries) {
		switch b := e.Body.(type) {
		case *firn.Message:
			if b.Role == firn.RoleAssistant || b.Role == firn.RoleToolResult {
				return ordered(pieces)
			}
		case *firn.Custom:
			if p, ok := readPiece(b); ok && !path.Hides(p.Answer) {
				pieces = append(pieces, p)
			}
		}
	}
	return ordered(pieces)
}

// ordered puts pieces that were gathered from the end the right way round,
// and keeps those of the last answer.
func ordered(pieces []piece) []piece {
	if len(pieces) > 0 {
		last := pieces[0].Answer
		pieces = slices.DeleteFunc(pieces, func(p piece) bool { return p.Answer != last })
	}
	slices.Reverse(pieces)
	return pieces
}

func readPiece(c *firn.Custom) (piece, bool) {
	if c.Type != firn.DraftType {
		return piece{}, false
	}
	var p piece
	if json.Unmarshal(c.Data, &p) != nil || p.empty() {
		return piece{}, false
	}
	return p, true
}
