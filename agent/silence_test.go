package agent_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

// TestSilentReplies compares with the answers that two versions of OpenClaw treat as silent.
func TestSilentReplies(t *testing.T) {
	data, err := os.ReadFile("testdata/silent_reply.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Text     string
			Mark     bool   `json:"jan2026_isSilent"`
			Exact    bool   `json:"mar2026_isSilent"`
			Stripped string `json:"mar2026_stripped"`
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil || len(golden.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(golden.Cases), err)
	}
	for _, c := range golden.Cases {
		if got := agent.SilentMark.Silent(c.Text); got != c.Mark {
			t.Errorf("by mark, %q is silent: %t", c.Text, got)
		}
		if got := agent.SilentExact.Silent(c.Text); got != c.Exact {
			t.Errorf("exactly, %q is silent: %t", c.Text, got)
		}
		if got := agent.SilentExact.Strip(c.Text); !c.Exact && got != c.Stripped {
			t.Errorf("of %q there is left %q, want %q", c.Text, got, c.Stripped)
		}
		if agent.SilentNever.Silent(c.Text) {
			t.Errorf("%q is silent though nothing is", c.Text)
		}
	}
}

// TestSilentStream streams silent and other answers in chunks of every size: nothing of a
// silent one is shown, and everything of the others.
func TestSilentStream(t *testing.T) {
	for _, text := range []string{
		"NO_REPLY", "  NO_REPLY\n", "NO_REPLY: noted, three things.", "\n\nNO_REPLY", "**NO_REPLY**",
		"NO", "NO_", "NO_REPLYING is a word", "No, I do not think so.", "Nothing", "你好，世界", "*** stars", "N", "- NO way",
		"I say NO_REPLY in the middle of it",
	} {
		for size := 1; size <= len(text); size++ {
			var events []provider.Event
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				events = append(events, provider.TextDelta{Text: rest[:n]})
				rest = rest[n:]
			}
			b := play(t, scripted.Step{Events: events})
			happened, err := b.run(t.Context(), agent.TextInput("go"))
			if err != nil {
				t.Fatal(err)
			}
			var shown strings.Builder
			for _, e := range happened {
				if d, ok := e.(agent.Delta); ok {
					shown.WriteString(d.Text)
				}
			}
			out := happened[len(happened)-1].(agent.Finished).Outcome
			wanted := text
			if out.Silent {
				wanted = ""
			}
			if out.Silent != agent.SilentMark.Silent(text) || shown.String() != wanted {
				t.Errorf("of %q in pieces of %d there was shown %q, silent %t", text, size, shown.String(), out.Silent)
			}
			if !strings.Contains(b.log(), text) {
				t.Errorf("%q is not recorded", text)
			}
		}
	}
}
