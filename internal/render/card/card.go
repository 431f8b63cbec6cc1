// Package card renders entries for display: it converts an entry to a [wire.Card] with safe
// HTML.
//
// The log, streamed answers and exported pages share it, so an entry looks the same
// everywhere. It is pure and total: there is a card for every entry.
package card

import (
	"encoding/json"
	"net/url"
	"strconv"

	"firn.dev"
	"firn.dev/window"
	"firn.dev/wire"
)

// Options configures how an entry is rendered. The zero value renders all of it.
type Options struct {
	// Session is the session of the entry, for the addresses of images.
	Session firn.ID
	// Cut is the maximum number of bytes shown of each text; zero means no limit.
	Cut int
	// Bytes is the length of the entry's line.
	Bytes int
	// Mask, if not nil, is applied to the displayed form of every text, without terminal
	// colors and overwritten output. MaskHTML is applied to the HTML rendered from it,
	// since Markdown may split a secret.
	Mask, MaskHTML func(string) string
	// Work, if not nil, is the remaining work for rendering Markdown, shared by several
	// cards, in units of about one byte. The work done is subtracted. At zero, texts are
	// rendered as plain text.
	Work *int
	// Image, if not nil, returns the address of an image instead of the gateway's; empty if
	// there is none.
	Image func(n int, image firn.Image) string
	// Calls are the blocks of known calls by their IDs. They give the tool of a result that does
	// not name it.
	Calls map[string]wire.Block
}

// Render renders an entry.
func Render(e firn.Entry, o Options) wire.Card {
	t := builder{o: o, entry: e.ID, card: wire.Card{ID: e.ID, Parent: e.Parent, Time: e.Time, Bytes: int64(o.Bytes)}}
	if t.card.Parent == firn.Root {
		t.card.Parent = ""
	}
	t.card.Masked = maskedIn(e.Extra)
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
		t.card.Note = "summary of an abandoned branch"
		t.text(wire.BlockText, b.Summary)
	case *firn.Custom:
		t.custom(b)
	case *firn.Opaque:
		t.opaque(b)
	default:
		_, t.card.Bookkeeping = e.Body.(*firn.Title)
		t.card.Note = t.plain(note(e.Body))
	}
	return t.card
}

// builder renders one entry.
type builder struct {
	o     Options
	entry firn.EntryID
	card  wire.Card
	// images counts the images rendered so far, spent the bytes of HTML, work the work for
	// Markdown.
	images, spent, work int
}

// roles are the display names of roles.
var roles = map[firn.Role]string{
	firn.RoleUser: "user", firn.RoleAssistant: "assistant", firn.RoleToolResult: "tool", firn.RoleShell: "shell", firn.RoleSystem: "system",
}

func (t *builder) message(m *firn.Message, extra firn.Fields) {
	c := &t.card
	c.Role = roles[m.Role]
	if c.Role == "" {
		c.Note = t.plain("from " + string(m.Role))
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

func (t *builder) customMessage(b *firn.CustomMessage) {
	t.card.Role, t.card.Type, t.card.Note = "system", t.plain(b.Type), t.plain("injected: "+b.Type)
	t.card.Tokens = window.Chars{}.CountMessage(&firn.Message{Parts: b.Parts})
	for _, part := range b.Parts {
		t.part(part, firn.RoleSystem)
	}
}

// details is the part of firn's compaction details that is shown.
type details struct {
	Strategy    string `json:"strategy"`
	Model       string `json:"model"`
	Reason      string `json:"reason"`
	TokensAfter int64  `json:"tokensAfter"`
}

func (t *builder) compaction(b *firn.Compaction, e firn.Entry) {
	var d details
	if json.Unmarshal(b.Details, &d) != nil {
		d = details{} // other programs use the field for other values
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

// imageAt returns the address of an image of an entry.
func imageAt(session firn.ID, entry firn.EntryID, n int) string {
	if session == "" || entry == "" {
		return ""
	}
	return "/v1/sessions/" + url.PathEscape(string(session)) + "/entries/" + url.PathEscape(string(entry)) + "/images/" + strconv.Itoa(n)
}

// maskedIn returns the number of secrets that were replaced in an entry before it was stored; other
// programs may use the field for other values.
func maskedIn(extra firn.Fields) int {
	n, err := strconv.Atoi(string(extra.Get("masked")))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// textOf decodes a JSON string; it returns an empty string for other values.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
