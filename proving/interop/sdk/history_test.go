package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/tool"
	"firn.dev/window"
)

// pixel is the smallest image.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// sealed is a reasoning item of the Responses API that can be sent back.
const sealed = `{"id":"rs_1","type":"reasoning","encrypted_content":"c2VhbGVk","summary":[{"type":"summary_text","text":"hm"}]}`

// open is a reasoning item with readable content, as some other servers send it.
const open = `{"id":"rs_2","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":null,"status":null}`

func textPart(text string) firn.Part { return firn.Text{Text: text} }

func call(id, name, arguments string) firn.ToolCall {
	return firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func byUser(parts ...firn.Part) firn.Body {
	return &firn.Message{Role: firn.RoleUser, Parts: parts}
}

// byModel returns a message of the requested model.
func byModel(info provider.Info, parts ...firn.Part) firn.Body {
	return &firn.Message{
		Role: firn.RoleAssistant, Parts: parts, StopReason: firn.StopToolUse,
		API: info.API, Provider: info.Provider, Model: info.Name,
	}
}

func byTool(id string, failed bool, parts ...firn.Part) firn.Body {
	result := firn.ToolResult{CallID: id, Name: "read", Content: parts, IsError: failed}
	return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{result}}
}

// thought returns thinking with its proof for the model: a signature, or for the Responses
// API the whole item.
func thought(info provider.Info, text, signature, item string) firn.Part {
	if info.API == "openai-responses" {
		signature = item
	}
	return firn.Thinking{Text: text, Signature: signature}
}

// marked returns text and a call with the marks of the Responses API.
func marked(id string) []firn.Part {
	c := call("call_"+id, "read", `{"path":"`+id+`"}`)
	c.Signature = "fc_" + id
	return []firn.Part{
		firn.Text{Text: "Looking.", Signature: `{"v":1,"id":"msg_` + id + `","phase":"commentary"}`}, c,
	}
}

// history is a conversation and its injected content.
type history struct {
	system   string
	bodies   []firn.Body
	injected []window.Injection
}

// histories returns conversations with a model, each with a different feature.
func histories(info provider.Info) map[string]history {
	image := firn.Image{MimeType: "image/png", Data: pixel}
	monday := []window.Injection{{Name: "clock", Parts: []firn.Part{textPart("It is Monday.")}}}
	hidden := firn.Thinking{Redacted: true, Signature: "aGlkZGVu"}
	if info.API == "openai-responses" {
		hidden.Signature = `{"id":"rs_3","type":"reasoning","encrypted_content":"c2VhbGVk","summary":[]}`
	}
	loop := []firn.Body{
		byUser(textPart("What is in a?")),
		byModel(info, append([]firn.Part{thought(info, "first", "c2lnMQ==", sealed)}, marked("a1")...)...),
		byTool("call_a1", false, textPart("A")),
		byModel(info, thought(info, "second", "c2lnMg==", open), firn.Text{Text: "It is A.", Signature: "msg_2"}),
		byUser(textPart("And b?"), textPart("And the time?")),
		byModel(info, thought(info, "third", "c2lnMw==", sealed), hidden, textPart("Two at once."),
			call("call_b1", "read", `{"path": "b", "deep": {"a": [1, 2.50, null, "ü"]}}`), call("call_b2", "now", `{}`)),
		byTool("call_b1", false, textPart("B"), image, textPart("and more")),
		byTool("call_b2", true, textPart("no clock")),
	}
	foreign := provider.Info{API: "somebody", Provider: "else", Name: "model"}
	failed := byModel(info, textPart("half an ans")).(*firn.Message)
	failed.StopReason, failed.Error = firn.StopError, "overloaded"
	return map[string]history{
		"hello":        {bodies: []firn.Body{byUser(textPart("Hello."))}},
		"system":       {system: "Be \"kind\".\n<&>\u2028\U0001F44B", bodies: []firn.Body{byUser(textPart("Grüße 👋"))}},
		"image":        {system: "Look.", bodies: []firn.Body{byUser(textPart("What is it?"), image, image)}},
		"only image":   {bodies: []firn.Body{byUser(image)}},
		"loop":         {system: "Help.", bodies: loop},
		"injected":     {system: "Help.", bodies: loop, injected: monday},
		"injected end": {system: "Help.", bodies: append(loop[:len(loop):len(loop)], byUser(textPart("Well?"))), injected: append(monday, monday...)},
		"interrupted":  {bodies: append(loop[:6:6], byUser(textPart("Hello?")))},
		"half done":    {bodies: loop[:7]},
		"foreign": {bodies: []firn.Body{
			byUser(textPart("Read a.")), byModel(foreign, firn.Thinking{Text: "hm", Signature: "x"}, textPart("Yes."), call("toolu|x y", "re/ad", `[1]`)),
			byTool("toolu|x y", false), byModel(foreign, textPart("Done.")), byUser(textPart("Thanks.")),
		}},
		"all kinds": {system: "Help.", bodies: []firn.Body{
			&firn.Compaction{Summary: "They spoke of snow."}, &firn.BranchSummary{Summary: "They went elsewhere."},
			&firn.Message{Role: firn.RoleSystem, Parts: []firn.Part{textPart("Be brief.")}},
			&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "ls", Output: "a\nb"}}},
			&firn.CustomMessage{Type: "note", Parts: []firn.Part{textPart("A note.")}},
			failed, byUser(textPart("Go on."), firn.OpaquePart{Type: "video"}),
		}},
		"signed calls": {bodies: []firn.Body{
			byUser(textPart("Search.")),
			byModel(info, firn.ToolCall{ID: "call_1", Name: "read", Arguments: json.RawMessage(`{}`), Signature: "RWpRS01nRU1PZGJI"}),
			byTool("call_1", false, image),
		}},
	}
}

// build builds a window for a model.
func (h history) build(info provider.Info) window.Window {
	var path window.Path
	for i, body := range h.bodies {
		path.Entries = append(path.Entries, firn.Entry{ID: firn.EntryID(fmt.Sprint("e", i)), Body: body})
	}
	return window.Build(path, window.Options{System: h.system, Profile: info.Profile, Ask: info.Ask(), Injected: h.injected})
}

// levels returns all thinking levels, and none.
func levels() []provider.Thinking {
	return []provider.Thinking{"", provider.ThinkOff, provider.ThinkMinimal, provider.ThinkLow, provider.ThinkMedium, provider.ThinkHigh, provider.ThinkMax}
}

// tools returns some of firn's tools, one without a schema, and one with a complex schema.
func tools(t *testing.T) []provider.Tool {
	type point struct {
		X int      `json:"x" desc:"Right."`
		Y *float64 `json:"y,omitempty"`
	}
	made := tool.New("plot", "Draws.", func(context.Context, struct {
		Points []point           `json:"points"`
		Kind   string            `json:"kind,omitempty" enum:"line|bar"`
		Names  map[string]string `json:"names,omitempty"`
		Any    any               `json:"any,omitempty"`
	}) (tool.Result, error) {
		return tool.Result{}, nil
	})
	specs := []provider.Tool{tool.Calc().Spec(), tool.Now(time.Now).Spec(), made.Spec(), {Name: "bare"}}
	schema := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"required":["a"],
		"properties":{"a":{"type":["string","null"],"pattern":"^\\d+$"},"b":{"anyOf":[{"const":1},{"$ref":"#/$defs/c"}],"default":1e3}},
		"$defs":{"c":{"type":"integer","minimum":-5,"exclusiveMaximum":9007199254740991}},"x-note":{"deep":[[],{}]}}`
	if !json.Valid([]byte(schema)) {
		t.Fatal("the schema is not JSON")
	}
	return append(specs, provider.Tool{Name: "mcp__far-off", Description: "Far \"off\".", Schema: json.RawMessage(schema)})
}
