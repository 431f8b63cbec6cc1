package card

import (
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/render/richtext"
	"firn.dev/wire"
)

// noteRunes is the maximum length of a note.
const noteRunes = 300

// note describes an entry that is not a message in a few words.
func note(body firn.Body) string {
	switch b := body.(type) {
	case *firn.Header:
		return strings.TrimSuffix("the session begins in "+b.CWD, " in ")
	case *firn.Tombstone:
		return because("hides "+string(b.Target), b.Reason)
	case *firn.Label:
		if b.Name == "" {
			return "the label of " + string(b.Target) + " is taken away"
		}
		return fmt.Sprintf("%s is labelled “%s”", b.Target, b.Name)
	case *firn.Title:
		if b.Source == firn.SourceAuto {
			return "named by itself: " + b.Name
		}
		return "named: " + b.Name
	case *firn.ModelChange:
		return "the model is " + b.Provider + "/" + b.Model + " from here on"
	case *firn.ThinkingChange:
		return "thinking is " + b.Level + " from here on"
	case *firn.Head:
		return because("the head was moved here", b.Reason)
	}
	return ""
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// customs are the display names of firn's own custom entries.
var customs = map[string]string{
	"firn.draft": "a piece of an answer that was being given", "firn.queued": "a message waits", "firn.unqueued": "messages that waited are dropped",
	"firn.reset": "the key was reset", "firn.usage": "what was used", "firn.counters": "counters", "firn.spawned": "another session was begun",
	"firn.verbose": "how much is shown was changed", "firn.send": "where answers go was changed", "firn.tags": "tags were changed",
	"firn.prune": "long results were shortened for the model", "firn.repair": "the log was repaired", "firn.approval.asked": "a tool call waits for approval", "firn.approval.answered": "a tool call was allowed or refused",
	"firn.purpose": "what the session is for", "firn.machine": "begun by a program",
}

func (t *builder) custom(b *firn.Custom) {
	said, ours := customs[b.Type]
	if !ours {
		said = b.Type
	}
	t.card.Type, t.card.Note = t.plain(b.Type), t.plain(said)
	if m, ok := blocks.Sidechain(b); ok {
		t.card.Note = t.plain("said by a sub-agent (" + roles[m.Role] + ")")
		for _, part := range m.Parts {
			t.part(part, m.Role)
		}
		return
	}
	t.raw(b.Data)
}

func (t *builder) opaque(b *firn.Opaque) {
	if b.Type == firn.KindErased {
		t.card.Note = "this entry was erased"
		return
	}
	t.card.Note = t.plain("an entry of a kind that firn does not know: " + string(b.Type))
	t.raw(b.Raw)
}

// raw adds JSON data that is not a message.
func (t *builder) raw(data json.RawMessage) {
	if len(data) == 0 || string(data) == "null" {
		return
	}
	block := wire.Block{Kind: wire.BlockOther, Bytes: int64(len(data))}
	t.fill(&block, indentJSON(data), func(s string) string { return richtext.Code("json", s) })
	t.add(block)
}
