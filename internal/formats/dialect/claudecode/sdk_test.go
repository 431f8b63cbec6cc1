package claudecode

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"firn.dev"
)

// sdkLine is a line as the official SDK reads it.
type sdkLine struct {
	Type, Subtype, UUID, ParentUUID, Timestamp string
	IsSidechain, IsMeta                        bool
	LeafUUID                                   string
	Message                                    struct {
		ID      string
		Content json.RawMessage
	}
}

// sdkOrder lists the messages as the SDK 0.3.325 does: the chain up to the leaf, with the
// other lines of its responses, by time, after the last line of each response on the chain.
func sdkOrder(data []byte) (uuids []string, seen map[string]string) {
	byID := make(map[string]*sdkLine)
	leaf, named := "", ""
	followed := make(map[string]bool)
	for raw := range bytes.Lines(data) {
		l := new(sdkLine)
		if json.Unmarshal(raw, l) != nil {
			continue
		}
		if l.Type == "last-prompt" {
			named = l.LeafUUID
		}
		if l.UUID == "" || l.IsSidechain {
			continue
		}
		byID[l.UUID] = l
		if l.Type == "user" || l.Type == "assistant" {
			leaf = l.UUID
		}
	}
	for _, l := range byID {
		followed[l.ParentUUID] = true
	}
	if byID[named] != nil && !followed[named] {
		leaf = named
	}
	var chain []*sdkLine
	on := make(map[string]bool)
	for l := byID[leaf]; l != nil && !on[l.UUID]; l = byID[l.ParentUUID] {
		chain = append(chain, l)
		on[l.UUID] = true
	}
	slices.Reverse(chain)
	chain = splice(chain, byID, on)
	seen = make(map[string]string)
	for _, l := range chain {
		if (l.Type == "user" || l.Type == "assistant") && !l.IsMeta {
			uuids = append(uuids, l.UUID)
			seen[l.UUID] = string(l.Message.Content)
		}
	}
	return uuids, seen
}

// splice adds the lines of responses that are not on the chain.
func splice(chain []*sdkLine, byID map[string]*sdkLine, on map[string]bool) []*sdkLine {
	last := make(map[string]string) // the last line of each response
	for _, l := range chain {
		if l.Type == "assistant" && l.Message.ID != "" {
			last[l.Message.ID] = l.UUID
		}
	}
	aside := make(map[string][]*sdkLine) // by the line they follow
	for _, l := range byID {
		if on[l.UUID] {
			continue
		}
		id := l.Message.ID
		if up := byID[l.ParentUUID]; l.Type == "user" && up != nil && strings.Contains(string(l.Message.Content), `"tool_result"`) {
			id = up.Message.ID
		}
		if behind := last[id]; id != "" && behind != "" {
			aside[behind] = append(aside[behind], l)
		}
	}
	var whole []*sdkLine
	for _, l := range chain {
		whole = append(whole, l)
		more := aside[l.UUID]
		slices.SortFunc(more, func(a, b *sdkLine) int { return strings.Compare(a.Timestamp, b.Timestamp) })
		whole = append(whole, more...)
	}
	return whole
}

// TestReader compares the reader of this file with the real one.
func TestReader(t *testing.T) {
	files := corpus(t)
	for name := range goldens(t) {
		got, _ := sdkOrder(files[name].Data)
		if want := golden(t, name); !slices.Equal(got, want) {
			t.Errorf("%s: the order is not the SDK's", name)
		}
	}
}

// goldens returns the files with golden output.
func goldens(t *testing.T) map[string]bool {
	t.Helper()
	dir, err := os.ReadDir("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]bool)
	for _, f := range dir {
		if stem, ok := strings.CutSuffix(f.Name(), ".messages.json"); ok {
			all[stem+".jsonl"] = true
		}
	}
	return all
}

// golden returns the order in which the SDK lists the messages of a file.
func golden(t *testing.T, name string) (uuids []string) {
	t.Helper()
	data, err := os.ReadFile(path.Join("testdata/golden", strings.TrimSuffix(name, ".jsonl")+".messages.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ UUIDs [][2]string }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, u := range list.UUIDs {
		if u[0] != "system" {
			uuids = append(uuids, u[1])
		}
	}
	return uuids
}

// TestHideRecordedMessages hides and restores messages that Claude Code wrote, including
// parts of responses and results of parallel calls.
func TestHideRecordedMessages(t *testing.T) {
	for name, every := range map[string]int{"real-tools-before-compact.jsonl": 1, "real-tools-compact-rename.jsonl": 1, "258c7280-ae70-4798-800f-63464d01a85d.jsonl": 30} {
		data := corpus(t)[name].Data
		before, words := sdkOrder(data)
		f := newFile(t)
		f.data = data
		number := 0
		for _, e := range pathOf(f.entries()) {
			m, ok := e.Body.(*firn.Message)
			if !ok || !slices.Contains(before, string(e.ID)) {
				continue
			}
			if number++; number%every != 0 {
				continue
			}
			t.Run(string(e.ID), func(t *testing.T) {
				hideTheirs(t, data, e.ID, m, before, words)
			})
		}
	}
}

func hideTheirs(t *testing.T, data []byte, id firn.EntryID, m *firn.Message, before []string, words map[string]string) {
	f := newFile(t)
	f.data = bytes.Clone(data)
	stone := f.add(&firn.Tombstone{Target: id})
	after, now := sdkOrder(f.data)
	hidden := !slices.Contains(after, string(id))
	if m.Role == firn.RoleToolResult {
		hidden = now[string(id)] != words[string(id)]
	}
	if !hidden {
		t.Errorf("it is still there")
	}
	left := slices.DeleteFunc(slices.Clone(before), func(u string) bool { return !slices.Contains(after, u) })
	if gone := len(before) - len(after); gone > 2 || !slices.Equal(left, after) {
		t.Errorf("%d are missing, and the others are\n%v\nwant\n%v", gone, after, left)
	}
	if slices.ContainsFunc(live(f.entries()), func(u string) bool { return u == string(id) }) && m.Role != firn.RoleToolResult {
		t.Errorf("it is still on the path")
	}
	f.add(&firn.Tombstone{Target: stone})
	if again, back := sdkOrder(f.data); !slices.Equal(again, before) || back[string(id)] != words[string(id)] {
		t.Errorf("restored, the messages are\n%v\nwant\n%v", again, before)
	}
	if len(f.lost) > 0 {
		t.Errorf("lost %v", f.lost)
	}
}
