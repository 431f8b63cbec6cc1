package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"firn.dev"
)

// sampleEntries returns entries of every kind with every kind of part and every field set
// at least once. Each is the parent of the next.
func sampleEntries() []firn.Entry {
	at := time.Date(2026, 3, 15, 10, 0, 0, 7e6, time.UTC)
	var entries []firn.Entry
	for i, b := range galleryBodies(at) {
		e := firn.Entry{ID: firn.EntryID(fmt.Sprintf("g%02d", i)), Time: at.Add(time.Duration(i) * time.Second), Body: b}
		if _, ok := b.(*firn.Message); ok {
			e.Extra = oddFields()
		}
		entries = append(entries, e)
	}
	return entries
}

// oddFields returns unknown members with values that are easily damaged.
func oddFields() firn.Fields {
	return firn.Fields{
		{Name: "x_zebra", Value: json.RawMessage(`12345678901234567890123`)},
		{Name: "x_apple", Value: json.RawMessage(`{"b":1.0,"a":[1e-7,null,"<&>"],"b":2}`)},
		{Name: "X_Zebra", Value: json.RawMessage(`null`)},
		{Name: "x \"odd\"\n", Value: json.RawMessage("\"\u2028\"")},
	}
}

func galleryBodies(at time.Time) []firn.Body {
	code := 3
	return append(galleryMessages(at),
		&firn.Message{Role: firn.RoleShell, Time: at, Parts: []firn.Part{firn.Shell{
			Command: "make", Output: "no\n", ExitCode: &code, Truncated: true, FullOutput: "/tmp/out", Hidden: true}}},
		&firn.Message{Role: firn.RoleShell, Time: at, Parts: []firn.Part{firn.Shell{Command: "sleep 9", Cancelled: true}}},
		&firn.Compaction{Summary: "so far", FirstKept: "g01", TokensBefore: 123456, Details: json.RawMessage(`{"state":{"modelId":"m"}}`), FromHook: true},
		&firn.Compaction{Summary: "nothing kept"},
		&firn.BranchSummary{From: "g02", Summary: "was tried", Details: json.RawMessage(`[1,2]`), FromHook: true},
		&firn.Label{Target: "g01", Name: "here"},
		&firn.Label{Target: "g01"},
		&firn.Title{Name: "by the user", Source: firn.SourceUser},
		&firn.Title{Name: "by nobody"},
		&firn.ModelChange{Provider: "p", Model: "m-2"},
		&firn.ThinkingChange{Level: "high"},
		&firn.Custom{Type: "counter", Data: json.RawMessage("{\n  \"n\": 1\n}")},
		&firn.Custom{Type: "no data"},
		&firn.CustomMessage{Type: "note", Parts: []firn.Part{firn.Text{Text: "a"}, firn.Text{Text: "b"}}, Display: true, Details: json.RawMessage(`{}`)},
		&firn.Head{Reason: "back"},
		&firn.Tombstone{Target: "g00", Reason: "oops"},
		&firn.Opaque{Type: "from_the_future", Raw: json.RawMessage(`{"type":"from_the_future","deep":{"a":[1.50]},"n":1e400}`)},
	)
}

func galleryMessages(at time.Time) []firn.Body {
	return []firn.Body{
		&firn.Message{Role: firn.RoleUser, Time: at, Parts: []firn.Part{firn.Text{Text: "plain"}}},
		&firn.Message{Role: firn.RoleUser, Time: at.Add(time.Millisecond), Parts: []firn.Part{
			firn.Text{Text: "look"}, firn.Image{MimeType: "image/png", Data: "aGk="}, firn.Text{Text: "and", Extra: oddFields()}}},
		&firn.Message{Role: firn.RoleAssistant, Time: at, API: "api", Provider: "prov", Model: "m-1", StopReason: firn.StopToolUse,
			Usage: &firn.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Total: 10, Extra: oddFields(),
				Cost: firn.Cost{Input: .1, Output: .2, CacheRead: 1e-9, CacheWrite: 4, Total: 4.3000001}},
			Parts: []firn.Part{
				firn.Thinking{Text: "hm", Signature: "sig"}, firn.Thinking{Signature: "enc", Redacted: true},
				firn.Text{Text: "I will", Signature: "tsig"},
				firn.ToolCall{ID: "c1", Name: "ls", Arguments: json.RawMessage("{\n\"path\": \"/\", \"n\": 1.0}"), Signature: "csig", Extra: oddFields()},
				firn.OpaquePart{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","x":1e2}`)},
			}, Extra: oddFields()},
		&firn.Message{Role: firn.RoleToolResult, Time: at, Parts: []firn.Part{firn.ToolResult{CallID: "c1", Name: "ls", IsError: true,
			Content: []firn.Part{firn.Text{Text: "no"}, firn.Image{MimeType: "image/gif", Data: "R0k="}}, Details: json.RawMessage(`{"code":2}`)}}},
		&firn.Message{Role: firn.RoleToolResult, Time: at, Parts: []firn.Part{firn.ToolResult{CallID: "c2", Name: "cat"}}},
		&firn.Message{Role: firn.RoleAssistant, Time: at, StopReason: firn.StopError, Error: "overloaded", Provider: "prov", Model: "m-1"},
		&firn.Message{Role: firn.RoleSystem, Time: at, Parts: []firn.Part{firn.Text{Text: "be kind"}}},
	}
}
