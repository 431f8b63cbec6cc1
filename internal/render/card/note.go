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
		return strings.TrimSuffix("session started in "+b.CWD, " in ")
	case *firn.Tombstone:
		return because("hides "+string(b.Target), b.Reason)
	case *firn.Label:
		if b.Name == "" {
			return "label removed from " + string(b.Target)
		}
		return fmt.Sprintf("%s labeled “%s”", b.Target, b.Name)
	case *firn.Title:
		if b.Source == firn.SourceAuto {
			return "auto-titled: " + b.Name
		}
		return "titled: " + b.Name
	case *firn.ModelChange:
		return "model changed to " + b.Provider + "/" + b.Model
	case *firn.ThinkingChange:
		return "thinking level changed to " + b.Level
	case *firn.Head:
		if b.Reason == "" || b.Reason == "rewind" {
			return "rewound to here"
		}
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
	"firn.draft": "part of an answer in progress", "firn.queued": "message queued", "firn.unqueued": "queued messages dropped",
	"firn.reset": "key reset", "firn.usage": "usage", "firn.counters": "counters", "firn.spawned": "another session started",
	"firn.verbose": "verbosity changed", "firn.send": "send policy changed", "firn.tags": "tags changed",
	"firn.prune": "long results shortened for the model", "firn.repair": "log repaired", "firn.approval.asked": "a tool call is waiting for approval", "firn.approval.answered": "a tool call was approved or denied",
	"firn.purpose": "purpose of the session", "firn.machine": "started by a program",
}

func (t *builder) custom(b *firn.Custom) {
	label, ours := customs[b.Type]
	if !ours {
		label = b.Type
	}
	t.card.Type, t.card.Note = t.plain(b.Type), t.plain(label)
	if m, ok := blocks.Sidechain(b); ok {
		t.card.Note = t.plain("from a sub-agent (" + roles[m.Role] + ")")
		t.card.Sidechain = roles[m.Role]
		for _, part := range m.Parts {
			t.part(part, m.Role)
		}
		return
	}
	t.card.Bookkeeping = !strings.HasPrefix(b.Type, "firn.") || b.Type == "firn.tags"
	t.raw(b.Data)
	t.refer(b)
}

// refer names the call that an approval is about and the session of a sub-agent.
func (t *builder) refer(b *firn.Custom) {
	if !strings.HasPrefix(b.Type, "firn.approval.") && b.Type != "firn.spawned" {
		return
	}
	var to struct {
		Call    string  `json:"call"`
		Session firn.ID `json:"session"`
	}
	if json.Unmarshal(b.Data, &to) != nil {
		return
	}
	if b.Type == "firn.spawned" {
		t.card.Session = firn.ID(t.plain(string(to.Session)))
	} else if len(t.card.Blocks) > 0 {
		t.card.Blocks[0].Call = t.plain(to.Call)
	}
}

func (t *builder) opaque(b *firn.Opaque) {
	if b.Type == firn.KindErased {
		t.card.Note = "this entry was erased"
		return
	}
	t.card.Note = t.plain("an entry of unknown type: " + string(b.Type))
	t.card.Bookkeeping = true
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
