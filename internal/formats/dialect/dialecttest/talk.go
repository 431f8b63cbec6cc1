package dialecttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// talk is the model's context along the path to the last entry. Tool results are unordered:
// tools write them between the calls or after them.
type talk struct {
	// messages are the texts and the calls, in order.
	messages []string
	results  []string
	// partial is set if some of it is not compared.
	partial bool
}

// talkOf returns the talk of entries, without lost ones.
func talkOf(entries []firn.Entry, lost map[firn.EntryID]bool) talk {
	var t talk
	hidden := hiddenOf(entries)
	path := slices.DeleteFunc(pathOf(entries), func(e firn.Entry) bool { return hidden[e.ID] })
	for i, e := range slices.Backward(path) {
		if b, ok := e.Body.(*firn.Compaction); ok {
			first := slices.IndexFunc(path[:i], func(e firn.Entry) bool { return e.ID != "" && e.ID == b.FirstKept })
			if first < 0 {
				first = i
			}
			t.partial = t.partial || lost[e.ID]
			if !lost[e.ID] {
				t.text("summary", b.Summary)
			}
			path = path[first:]
			break
		}
	}
	for _, e := range path {
		m, ok := e.Body.(*firn.Message)
		if lost[e.ID] {
			t.partial = true
		} else if ok {
			t.parts(string(m.Role), m.Parts)
		}
	}
	slices.Sort(t.results)
	return t
}

func (t *talk) text(who, text string) {
	if text = strings.TrimSpace(text); text != "" {
		t.messages = append(t.messages, who+": "+text)
	}
}

func (t *talk) parts(who string, parts []firn.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case firn.Text:
			t.text(who, p.Text)
		case firn.ToolCall:
			t.messages = append(t.messages, fmt.Sprintf("call %s(%s)", p.Name, compact(p.Arguments)))
		case firn.ToolResult:
			t.results = append(t.results, "result: "+strings.TrimSpace(firn.JoinText(p.Content)))
		}
	}
}

// compact normalizes JSON.
func compact(raw []byte) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return string(raw)
	}
	text, _ := json.Marshal(value) // it was just decoded
	return string(text)
}

// missing describes the first difference to another talk: an item that is missing, out of
// order or additional. It returns "" if there is none.
func (t talk) missing(other talk) string {
	for _, list := range []struct{ want, got []string }{{t.messages, other.messages}, {t.results, other.results}} {
		rest := list.got
		for n, want := range list.want {
			at := slices.Index(rest, want)
			if at < 0 {
				return fmt.Sprintf("number %d of %d is missing or in another place: %.200q", n+1, len(list.want), want)
			}
			rest = rest[at+1:]
		}
		if !t.partial && len(list.got) != len(list.want) {
			return fmt.Sprintf("there are %d texts, calls or results, want %d: %.200q", len(list.got), len(list.want), list.got)
		}
	}
	return ""
}

// pathOf returns the path to the last entry, preceded by the header.
func pathOf(entries []firn.Entry) []firn.Entry {
	at := make(map[firn.EntryID]int, len(entries))
	for i, e := range entries {
		at[e.ID] = i
	}
	var path []firn.Entry
	for i := len(entries) - 1; i > 0; {
		path = append(path, entries[i])
		next, ok := at[entries[i].Parent]
		if !ok || next >= i {
			break
		}
		i = next
	}
	if len(entries) > 0 {
		path = append(path, entries[0])
	}
	slices.Reverse(path)
	return path
}

// hiddenOf returns the entries that tombstones hide.
func hiddenOf(entries []firn.Entry) map[firn.EntryID]bool {
	hidden := make(map[firn.EntryID]bool)
	for _, e := range slices.Backward(entries) {
		if b, ok := e.Body.(*firn.Tombstone); ok && !hidden[e.ID] {
			hidden[b.Target] = true
		}
	}
	return hidden
}
