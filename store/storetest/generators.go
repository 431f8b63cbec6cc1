package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"firn.dev"

	"pgregory.net/rapid"
)

// batch draws entries to append to a session.
func (w *twins) batch(id firn.ID) []firn.Entry {
	var batch []firn.Entry
	if rapid.IntRange(0, 7).Draw(w.T, "header") == 0 {
		h := &firn.Header{Session: id, CWD: someText.Draw(w.T, "cwd"), Agent: rapid.SampledFrom([]string{"", "main", "ops"}).Draw(w.T, "agent")}
		batch = append(batch, firn.Entry{Time: w.time(), Body: h})
	}
	for range rapid.IntRange(1, 3).Draw(w.T, "entries") {
		e := firn.Entry{Time: w.time()} // first, since it increments the counter
		e.ID = firn.EntryID(fmt.Sprintf("e%d", w.made))
		e.Body = w.body(id)
		e.Parent = w.parent(id)
		e.Extra = someFields.Draw(w.T, "extra")
		batch = append(batch, e)
	}
	return batch
}

// time draws a time that is usually later than the preceding ones.
func (w *twins) time() time.Time {
	w.made++
	jump := rapid.SampledFrom([]time.Duration{0, 0, 0, -time.Hour, time.Hour}).Draw(w.T, "jump")
	return day.Add(12*time.Hour + time.Duration(w.made/2)*1234*time.Millisecond + jump)
}

func (w *twins) parent(id firn.ID) firn.EntryID {
	switch rapid.IntRange(0, 9).Draw(w.T, "parent") {
	case 0:
		return firn.Root
	case 1, 2:
		return w.someEntry(id).Draw(w.T, "parent")
	}
	return ""
}

// body draws the body of an entry.
func (w *twins) body(id firn.ID) firn.Body {
	text := func(what string) string { return someText.Draw(w.T, what) }
	target := func() firn.EntryID { return w.someEntry(id).Draw(w.T, "target") }
	raw := func() json.RawMessage { return someJSON.Draw(w.T, "json") }
	switch rapid.IntRange(0, 16).Draw(w.T, "kind") {
	case 0:
		return &firn.Compaction{Summary: text("summary"), FirstKept: target(), TokensBefore: rapid.Int64Min(0).Draw(w.T, "tokens"), Details: raw()}
	case 1:
		return &firn.BranchSummary{From: target(), Summary: text("summary"), FromHook: true}
	case 2, 3:
		return &firn.Tombstone{Target: target(), Reason: text("reason")}
	case 4:
		return &firn.Tombstone{Target: firn.EntryID(id)}
	case 5:
		return &firn.Label{Target: target(), Name: text("name")}
	case 6:
		source := rapid.SampledFrom([]firn.Source{firn.SourceUser, firn.SourceAuto, ""}).Draw(w.T, "source")
		return &firn.Title{Name: text("title"), Source: source}
	case 7:
		return &firn.ModelChange{Provider: text("provider"), Model: text("model")}
	case 8:
		return &firn.ThinkingChange{Level: text("level")}
	case 9:
		return &firn.Custom{Type: text("type"), Data: raw()}
	case 10:
		return &firn.CustomMessage{Type: text("type"), Parts: someParts(false).Draw(w.T, "parts"), Display: true, Details: raw()}
	case 11:
		return &firn.Head{Reason: text("reason")}
	case 12:
		line := fmt.Sprintf(`{"type":"x_new","x":%s}`, rapid.SampledFrom(jsonSamples[1:]).Draw(w.T, "json"))
		return &firn.Opaque{Type: "x_new", Raw: json.RawMessage(line)}
	}
	return someMessage.Draw(w.T, "message")
}

// someMessage draws a message, sometimes an invalid one.
var someMessage = rapid.Custom(func(t *rapid.T) *firn.Message {
	m := &firn.Message{Time: day.Add(time.Duration(rapid.IntRange(0, 1e6).Draw(t, "said")) * time.Millisecond), Extra: someFields.Draw(t, "extra")}
	switch rapid.IntRange(0, 9).Draw(t, "role") {
	case 0, 1, 2, 3:
		m.Role, m.Parts = firn.RoleUser, someParts(false).Draw(t, "parts")
	case 4, 5, 6:
		m.Role, m.Parts = firn.RoleAssistant, someParts(true).Draw(t, "parts")
		m.API, m.Provider, m.Model = someText.Draw(t, "api"), someText.Draw(t, "provider"), someText.Draw(t, "model")
		m.StopReason = firn.StopError
		m.Error = someText.Draw(t, "error")
		m.Usage = &firn.Usage{Input: rapid.Int64Min(0).Draw(t, "input"), Total: 3, Cost: firn.Cost{Total: rapid.Float64().Draw(t, "cost")}}
	case 7:
		m.Role = firn.RoleShell
		m.Parts = []firn.Part{firn.Shell{Command: someText.Draw(t, "command"), Output: someText.Draw(t, "output"), Hidden: rapid.Bool().Draw(t, "hidden")}}
	case 8:
		m.Role = firn.RoleToolResult
		m.Parts = []firn.Part{firn.ToolResult{CallID: someText.Draw(t, "call"), Name: someText.Draw(t, "name"),
			Content: someParts(false).Draw(t, "content"), IsError: rapid.Bool().Draw(t, "failed"), Details: someJSON.Draw(t, "details")}}
	case 9: // a shell part in the wrong role
		m.Role, m.Parts = firn.RoleUser, []firn.Part{firn.Shell{Command: "ls"}}
	}
	return m
})

// someParts draws the parts of a user or model message.
func someParts(model bool) *rapid.Generator[[]firn.Part] {
	part := rapid.Custom(func(t *rapid.T) firn.Part {
		n := rapid.IntRange(0, 5).Draw(t, "part")
		switch {
		case n == 0:
			return firn.Image{MimeType: "image/png", Data: someText.Draw(t, "data")}
		case n == 1:
			return firn.OpaquePart{Type: "x_part", Raw: json.RawMessage(`{"type":"x_part","x":[1.0]}`)}
		case n == 2 && model:
			return firn.Thinking{Text: someText.Draw(t, "thought"), Signature: someText.Draw(t, "signature")}
		case n == 3 && model:
			return firn.ToolCall{ID: someText.Draw(t, "id"), Name: someText.Draw(t, "name"), Arguments: someArguments.Draw(t, "arguments")}
		}
		return firn.Text{Text: someText.Draw(t, "text"), Extra: someFields.Draw(t, "extra")}
	})
	return rapid.SliceOfN(part, 0, 3)
}

var someArguments = rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{}`), json.RawMessage("{\n \"a\": \"\u2028\"}"), json.RawMessage(`{"a":1.0,"a":2,"B":"\ud800"}`)})

// jsonSamples are JSON values that are easily damaged. The first is empty.
var jsonSamples = []string{"", "null", "true", "0", "-1.50e+3", "12345678901234567890", `""`, `"<\u0000&>"`, "[\n1,\n[]]", `{"b":{},"a":[null]}`, `{"x":"\ud83e\udd80"}`}

var someJSON = rapid.Custom(func(t *rapid.T) json.RawMessage {
	sample := rapid.SampledFrom(jsonSamples).Draw(t, "sample")
	if sample == "" {
		return nil
	}
	return json.RawMessage(sample)
})

// someText draws text: short, unusual, or invalid UTF-8.
var someText = rapid.OneOf(
	rapid.SampledFrom([]string{"", "hello", "two\nlines", "\u2028", "bad \xff\x00", `"\/`, "🦀", strings.Repeat("long ", 50)}),
	rapid.StringN(0, 12, 40),
)

// someFields draws unknown members; usually none.
var someFields = rapid.Custom(func(t *rapid.T) firn.Fields {
	var fields firn.Fields
	for i := range max(0, rapid.IntRange(-6, 2).Draw(t, "fields")) {
		fields = append(fields, firn.Field{
			Name:  fmt.Sprintf("x_%d%s", 9-i, someText.Draw(t, "name")),
			Value: json.RawMessage(rapid.SampledFrom(jsonSamples[1:]).Draw(t, "value")),
		})
	}
	return fields
})
