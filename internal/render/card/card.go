// Package card tells entries as pages show them: firn's entry in, a
// [wire.Card] in safe HTML out.
//
// One way of saying things serves the log, the answer that grows and the page
// that is exported, so that nothing looks otherwise here than there. It is pure,
// and it is total: whatever an entry says there is a card of it.
package card

import (
	"encoding/json"
	"net/url"
	"strconv"

	"firn.dev"
	"firn.dev/window"
	"firn.dev/wire"
)

// Options says how an entry is told. The zero value tells all of it.
type Options struct {
	// Session is whose entry it is: images are to be had there.
	Session firn.ID
	// Cut is how many bytes of each text are told; zero means all.
	Cut int
	// Bytes is how long the line of the entry is.
	Bytes int
	// Mask, if not nil, is what becomes of every text before it is told, as it can
	// be read: without the colours of terminals and what was written over. MaskHTML
	// is what becomes of HTML that was made of it: Markdown may hide what is read.
	Mask, MaskHTML func(string) string
	// Work, if not nil, is how much work may still be spent on setting texts as
	// Markdown, in all cards that share it: about a unit for each byte. What was
	// spent is taken off; when none is left, texts are told as they stand.
	Work *int
	// Image, if not nil, says where an image is to be had instead of from the
	// gateway; empty if nowhere.
	Image func(n int, image firn.Image) string
}

// Of tells an entry.
func Of(e firn.Entry, o Options) wire.Card {
	t := teller{o: o, entry: e.ID, card: wire.Card{ID: e.ID, Parent: e.Parent, Time: e.Time, Bytes: int64(o.Bytes)}}
	if t.card.Parent == firn.Root {
		t.card.Parent = ""
	}
	if e.Body == nil {
		return t.card
	}
	t.card.Kind = e.Body.Kind()
	switch b := e.Body.(type) {
	case *firn.Message:
		t.message(b, e.Extra)
	case *firn.CustomMessage:
		t.customMessage(b)
	case *firn.Compaction:
		t.compaction(b, e)
	case *firn.BranchSummary:
		t.card.Note = "what happened on a branch that was left"
		t.text(wire.BlockText, b.Summary)
	case *firn.Custom:
		t.custom(b)
	case *firn.Opaque:
		t.opaque(b)
	default:
		t.card.Note = t.plain(note(e.Body))
	}
	return t.card
}

// teller tells one entry.
type teller struct {
	o     Options
	entry firn.EntryID
	card  wire.Card
	// images counts those that were told, spent the bytes of HTML, work what it was
	// to set Markdown.
	images, spent, work int
}

// roles are the words for who speaks.
var roles = map[firn.Role]string{
	firn.RoleUser: "user", firn.RoleAssistant: "assistant", firn.RoleToolResult: "tool", firn.RoleShell: "shell", firn.RoleSystem: "system",
}

func (t *teller) message(m *firn.Message, extra firn.Fields) {
	c := &t.card
	c.Role = roles[m.Role]
	if c.Role == "" {
		c.Note = t.plain("said by " + string(m.Role))
	}
	if !m.Time.IsZero() {
		c.Time = m.Time
	}
	c.Sender = t.plain(textOf(extra.Get(window.SenderField)))
	if m.Role == firn.RoleAssistant {
		c.Sender = t.plain(textOf(extra.Get(window.AgentField)))
	}
	c.Provider, c.Model = t.plain(m.Provider), t.plain(m.Model)
	c.Tokens = window.Chars{}.CountMessage(m)
	if m.StopReason != firn.StopEnd && m.StopReason != firn.StopToolUse {
		c.Stop = t.plain(string(m.StopReason))
	}
	c.Error = t.plain(m.Error)
	if u := m.Usage; u != nil {
		c.Usage = &wire.Counters{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Cost: u.Cost.Total, Answers: 1}
	}
	for _, part := range m.Parts {
		t.part(part, m.Role)
	}
	if m.Role == firn.RoleSystem {
		for _, text := range firn.SystemPrompt(&firn.Message{Role: m.Role, Extra: m.Extra}) {
			t.text(wire.BlockText, text)
		}
	}
}

func (t *teller) customMessage(b *firn.CustomMessage) {
	t.card.Role, t.card.Type, t.card.Note = "system", t.plain(b.Type), t.plain("put before the model: "+b.Type)
	t.card.Tokens = window.Chars{}.CountMessage(&firn.Message{Parts: b.Parts})
	for _, part := range b.Parts {
		t.part(part, firn.RoleSystem)
	}
}

// details is what a compaction of ours tells of itself.
type details struct {
	Strategy    string `json:"strategy"`
	Model       string `json:"model"`
	Reason      string `json:"reason"`
	TokensAfter int64  `json:"tokensAfter"`
}

func (t *teller) compaction(b *firn.Compaction, e firn.Entry) {
	var d details
	if json.Unmarshal(b.Details, &d) != nil {
		d = details{} // others keep other things there
	}
	t.card.Compaction = &wire.Compaction{
		ID: e.ID, Before: b.TokensBefore, After: d.TokensAfter,
		Strategy: t.plain(d.Strategy), Reason: t.plain(d.Reason), Model: t.plain(d.Model),
	}
	if !e.Time.IsZero() {
		t.card.Compaction.At = e.Time.UTC().Format(timeForm)
	}
	t.card.Tokens = window.Chars{}.CountText(b.Summary)
	t.text(wire.BlockText, b.Summary)
}

const timeForm = "2006-01-02T15:04:05.999999999Z07:00"

// imageAt is where an image of an entry is to be had.
func imageAt(session firn.ID, entry firn.EntryID, n int) string {
	if session == "" || entry == "" {
		return ""
	}
	return "/v1/sessions/" + url.PathEscape(string(session)) + "/entries/" + url.PathEscape(string(entry)) + "/images/" + strconv.Itoa(n)
}

// textOf is a string of JSON; empty if it is none.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
