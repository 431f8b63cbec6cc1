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

// This file is a second, simple reader of transcripts. It implements the observed behavior
// of versions 2.1.325, 2.0.76 and 1.0.128. The printer's output is compared with it.

// theirLine is a line as Claude Code reads it.
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

// resumed returns the blocks that are sent to the model when the file is resumed. If old is
// set, the leaf is the record with the latest time.
func resumed(t testing.TB, data []byte, old bool) []string {
	t.Helper()
	byID := make(map[string]theirLine)
	var order []string
	named := ""
	for raw := range bytes.Lines(data) {
		var l theirLine
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("a line that is not JSON: %v in %s", err, raw)
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
			t.Fatal("the chain has a cycle")
		}
		id = ""
		if l.ParentUUID != nil {
			id = *l.ParentUUID
		}
	}
	slices.Reverse(chain)
	return blocksOf(t, chain)
}

// leafOf returns the record that Claude Code continues from.
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

// blocksOf lists the blocks that are sent, and fails on those that the API would reject.
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

// answers checks that results match calls and that no other user content precedes them.
func answers(t testing.TB, content []map[string]json.RawMessage, open *[]string) []map[string]json.RawMessage {
	t.Helper()
	for _, b := range content {
		var kind, id string
		json.Unmarshal(b["type"], &kind)
		if kind != "tool_result" {
			if len(*open) > 0 {
				t.Errorf("a user message precedes the results of the calls %v", *open)
			}
			continue
		}
		json.Unmarshal(b["tool_use_id"], &id)
		if !slices.Contains(*open, id) {
			t.Errorf("a result for %s without a call", id)
		}
		*open = slices.DeleteFunc(*open, func(s string) bool { return s == id })
	}
	return content
}

// sentOf lists the blocks of entries that are sent to the model in the same format: the
// path from the last compaction on, without hidden entries.
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
