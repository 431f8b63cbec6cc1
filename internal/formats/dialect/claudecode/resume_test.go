package claudecode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
)

// This file is a second reader of transcripts, as simple as can be: what the
// programs themselves were seen to do with a file (versions 2.1.325, and 2.0.76
// with 1.0.128). What the printer writes is held against it.

// theirLine is a line as they read it.
type theirLine struct {
	Type, Subtype, UUID string
	ParentUUID          *string `json:"parentUuid"`
	Timestamp           string
	IsSidechain         bool
	IsAPIErrorMessage   bool `json:"isApiErrorMessage"`
	LeafUUID            string
	Message             struct {
		ID, Role string
		Content  json.RawMessage
	}
}

// resumed returns what a model is sent when the file is resumed: a line for
// each block. If old, the leaf is the one with the newest time.
func resumed(t testing.TB, data []byte, old bool) []string {
	t.Helper()
	byID := make(map[string]theirLine)
	var order []string
	named := ""
	for raw := range bytes.Lines(data) {
		var l theirLine
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("a line that is no JSON: %v in %s", err, raw)
		}
		if l.Type == "last-prompt" {
			named = l.LeafUUID
		}
		if l.UUID == "" {
			continue
		}
		if !slices.Contains([]string{"user", "assistant", "system", "attachment"}, l.Type) {
			t.Fatalf("a record of type %q on the chain", l.Type)
		}
		if _, err := time.Parse(time.RFC3339, l.Timestamp); err != nil {
			t.Fatalf("a record without a time: %s", raw)
		}
		order = slices.DeleteFunc(order, func(id string) bool { return id == l.UUID })
		order = append(order, l.UUID)
		byID[l.UUID] = l
	}
	var chain []theirLine
	for id := leafOf(byID, order, named, old); id != ""; {
		l, ok := byID[id]
		if !ok {
			t.Fatalf("the chain breaks: no record %s", id)
		}
		chain = append(chain, l)
		if len(chain) > len(byID) {
			t.Fatal("the chain goes round in circles")
		}
		id = ""
		if l.ParentUUID != nil {
			id = *l.ParentUUID
		}
	}
	slices.Reverse(chain)
	return blocksOf(t, chain)
}

// leafOf is the record that they go on from.
func leafOf(byID map[string]theirLine, order []string, named string, old bool) string {
	followed := make(map[string]bool)
	for _, l := range byID {
		if l.ParentUUID != nil {
			followed[*l.ParentUUID] = true
		}
	}
	leaf := ""
	if !old {
		if _, ok := byID[named]; ok && !followed[named] {
			return named
		}
		for _, id := range order {
			if l := byID[id]; (l.Type == "user" || l.Type == "assistant") && !l.IsSidechain {
				leaf = id
			}
		}
		return leaf
	}
	for _, id := range order {
		if l := byID[id]; !followed[id] && (leaf == "" || l.Timestamp > byID[leaf].Timestamp) {
			leaf = id
		}
	}
	return leaf
}

// blocksOf lists what is sent, and refuses what the API would.
func blocksOf(t testing.TB, chain []theirLine) (sent []string) {
	t.Helper()
	var open []string
	for _, l := range chain {
		if l.Type != "user" && l.Type != "assistant" || l.IsAPIErrorMessage {
			continue
		}
		if l.Type == "assistant" && len(open) > 0 {
			t.Errorf("an answer follows calls without results: %v", open)
		}
		var content []map[string]json.RawMessage
		if err := json.Unmarshal(l.Message.Content, &content); err != nil || len(content) == 0 {
			t.Fatalf("the content of %s is no array with something in it: %s", l.UUID, l.Message.Content)
		}
		if l.Type == "user" {
			content = answers(t, content, &open)
		}
		for _, b := range content {
			var kind string
			json.Unmarshal(b["type"], &kind)
			var s string
			switch kind {
			case "text":
				json.Unmarshal(b["text"], &s)
			case "tool_use":
				json.Unmarshal(b["id"], &s)
				open = append(open, s)
			case "tool_result":
				json.Unmarshal(b["tool_use_id"], &s)
				s += "=" + string(b["content"])
			default:
				s = string(b["source"]) + string(b["thinking"]) + string(b["data"])
			}
			sent = append(sent, fmt.Sprintf("%s %s %s", l.Type, kind, s))
		}
	}
	return sent
}

// answers checks that results answer calls and that the user says nothing else
// before all calls are answered.
func answers(t testing.TB, content []map[string]json.RawMessage, open *[]string) []map[string]json.RawMessage {
	t.Helper()
	for _, b := range content {
		var kind, id string
		json.Unmarshal(b["type"], &kind)
		if kind != "tool_result" {
			if len(*open) > 0 {
				t.Errorf("the user talks before the calls %v have results", *open)
			}
			continue
		}
		json.Unmarshal(b["tool_use_id"], &id)
		if !slices.Contains(*open, id) {
			t.Errorf("a result for %s, which nobody called", id)
		}
		*open = slices.DeleteFunc(*open, func(s string) bool { return s == id })
	}
	return content
}

// sentOf lists what a model is sent of entries, in the same words: their path
// from the last compaction on, without what is hidden.
func sentOf(entries []firn.Entry) (sent []string) {
	var tree firn.Tree
	for i, e := range entries {
		tree.Add(firn.Pos(i), firn.GlanceOf(e))
	}
	hidden := tree.Hidden()
	p := slices.DeleteFunc(pathOf(entries), func(e firn.Entry) bool { return hidden[e.ID] })
	for i := len(p) - 1; i >= 0; i-- {
		c, ok := p[i].Body.(*firn.Compaction)
		if !ok {
			continue
		}
		sent = append(sent, "user text "+summaryText(c.Summary))
		from := slices.IndexFunc(p[:i], func(e firn.Entry) bool { return e.ID == c.FirstKept })
		if from < 0 {
			from = i
		}
		p = slices.Concat(p[from:i], p[i+1:])
		break
	}
	for _, e := range p {
		m, ok := e.Body.(*firn.Message)
		if !ok || failed(m) {
			continue
		}
		for _, part := range m.Parts {
			switch b := part.(type) {
			case firn.Text:
				sent = append(sent, fmt.Sprintf("%s text %s", m.Role, b.Text))
			case firn.ToolCall:
				sent = append(sent, fmt.Sprintf("%s tool_use %s", m.Role, b.ID))
			case firn.ToolResult:
				sent = append(sent, fmt.Sprintf("user tool_result %s=%s", b.CallID, quote(firn.JoinText(b.Content))))
			}
		}
	}
	return sent
}

func summaryText(s string) string {
	if strings.HasPrefix(s, "This session is being continued") {
		return s
	}
	return preamble + s
}
