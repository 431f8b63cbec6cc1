package window_test

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

const openclaw = "../testdata/corpus/openclaw/golden/"

// clawMessage is a message in OpenClaw's golden files.
type clawMessage struct {
	Role       firn.Role
	Content    json.RawMessage
	ToolCallID string
	ToolName   string
	IsError    bool
}

type clawPart struct {
	Type, Text, ID, Name string
	Arguments            json.RawMessage
}

// item reads a message; content may be a string or a list.
func (m clawMessage) item(t *testing.T) window.Item {
	t.Helper()
	var parts []firn.Part
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		parts = []firn.Part{firn.Text{Text: text}}
	} else {
		var list []clawPart
		if err := json.Unmarshal(m.Content, &list); err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if p.Type == "toolCall" {
				parts = append(parts, firn.ToolCall{ID: p.ID, Name: p.Name, Arguments: p.Arguments})
			} else {
				parts = append(parts, firn.Text{Text: p.Text})
			}
		}
	}
	if m.Role == firn.RoleToolResult {
		parts = []firn.Part{firn.ToolResult{CallID: m.ToolCallID, Name: m.ToolName, Content: parts, IsError: m.IsError}}
	}
	return window.Item{Message: firn.Message{Role: m.Role, Parts: parts}}
}

func clawItems(t *testing.T, messages []clawMessage) []window.Item {
	var items []window.Item
	for _, m := range messages {
		items = append(items, m.item(t))
	}
	return items
}

// bare formats items without the fields that only firn has.
func bare(items []window.Item) string {
	plain := make([]window.Item, len(items))
	for i, it := range items {
		plain[i] = window.Item{Message: it.Message}
	}
	return formatItems(plain)
}

func readClaw(t *testing.T, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(readFile(t, openclaw+name+".json"), into); err != nil {
		t.Fatal(err)
	}
}

// TestOpenClawPairing checks that pairing gives the same result as OpenClaw's, except for the
// texts of placeholder results.
func TestOpenClawPairing(t *testing.T) {
	var cases map[string]struct {
		In  []clawMessage
		Out struct {
			Messages           []clawMessage
			Added              []clawMessage
			DroppedOrphanCount int
		}
	}
	readClaw(t, "tool_pairing_repair", &cases)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, repairs := only(t, "pair", "anthropic").Apply(clawItems(t, c.In), window.Ask{})
			theirs := "[clawdbot] missing tool result in session history; inserted synthetic error result for transcript repair."
			ours := "[firn] the tool call was interrupted; no result was recorded"
			want := strings.ReplaceAll(bare(clawItems(t, c.Out.Messages)), theirs, ours)
			if diff := cmp.Diff(want, bare(got)); diff != "" {
				t.Errorf("results differ: - OpenClaw, + firn\n%s", diff)
			}
			added, orphans := 0, 0
			for _, r := range repairs {
				if strings.HasSuffix(r.What, "a placeholder was added") {
					added++
				}
				if strings.HasSuffix(r.What, "no such call before it") {
					orphans++
				}
			}
			check(t, "results added", added, len(c.Out.Added))
			check(t, "orphans noted", orphans, c.Out.DroppedOrphanCount)
		})
	}
}

// TestOpenClawCallIDs checks that call IDs are cleaned as OpenClaw cleans them.
func TestOpenClawCallIDs(t *testing.T) {
	var cases struct {
		Strict, Strict9 [][2]string
		Mapped          []clawMessage `json:"mapped_strict"`
		Mapped9         []clawMessage `json:"mapped_strict9"`
	}
	readClaw(t, "tool_call_ids", &cases)
	one := func(profile, id string) string {
		call := firn.ToolCall{ID: id, Name: "t", Arguments: json.RawMessage("{}")}
		items, _ := only(t, "call-ids", profile).Apply([]window.Item{{Message: firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{call}}}}, window.Ask{})
		return items[0].Message.Parts[0].(firn.ToolCall).ID
	}
	for _, c := range cases.Strict {
		// OpenClaw's list shows only the cleaning; in a window IDs are cut at 40 characters.
		check(t, "strict id of "+c[0], one("gemini", c[0]), firn.CutText(c[1], 40))
	}
	for _, c := range cases.Strict9 {
		check(t, "strict9 id of "+c[0], one("mistral", c[0]), c[1])
	}
	// The tool names in the golden file contain the original IDs.
	for profile, want := range map[string][]clawMessage{"gemini": cases.Mapped, "mistral": cases.Mapped9} {
		in := clawItems(t, want)
		for i := range in {
			for j, part := range in[i].Message.Parts {
				switch p := part.(type) {
				case firn.ToolCall:
					p.ID = strings.TrimPrefix(p.Name, "t_")
					in[i].Message.Parts[j] = p
				case firn.ToolResult:
					p.CallID = strings.TrimPrefix(p.Name, "t_")
					in[i].Message.Parts[j] = p
				}
			}
		}
		got, _ := only(t, "call-ids", profile).Apply(in, window.Ask{})
		if diff := cmp.Diff(bare(clawItems(t, want)), bare(got)); diff != "" || len(got) == 0 {
			t.Errorf("%s: results differ: - OpenClaw, + firn\n%s", profile, diff)
		}
	}
}

// TestOpenClawTurns checks that turns are joined as OpenClaw joins them, except for the text
// that OpenClaw loses.
func TestOpenClawTurns(t *testing.T) {
	var cases map[string]struct{ In, Out []clawMessage }
	readClaw(t, "turn_validation", &cases)
	rules := map[string][2]string{"anthropic": {"merge-users", "anthropic"}, "gemini": {"merge-assistants", "gemini"}}
	for name, rule := range rules {
		got, _ := only(t, rule[0], rule[1]).Apply(clawItems(t, cases[name].In), window.Ask{})
		if diff := cmp.Diff(bare(clawItems(t, cases[name].Out)), bare(got)); diff != "" {
			t.Errorf("%s: results differ: - OpenClaw, + firn\n%s", name, diff)
		}
	}
	// Two user messages whose content is a string: OpenClaw sends an empty message.
	lost := cases["anthropic_string_content_lost"]
	if theirs := clawItems(t, lost.Out); len(theirs) != 1 || len(theirs[0].Message.Parts) != 0 {
		t.Fatalf("the golden no longer shows the loss: %s", bare(theirs))
	}
	got, _ := window.Anthropic().Apply(clawItems(t, lost.In), window.Ask{})
	check(t, "two users", bare(got), "user: text \"a\" ; text \"b\"\n")
}
