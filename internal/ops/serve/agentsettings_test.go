package serve

import (
	"testing"
	"time"

	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/tool"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

// TestWindowSettingsReachTheAgent sets all window and compaction settings to other values
// than the defaults and checks that the agent has them.
func TestWindowSettingsReachTheAgent(t *testing.T) {
	h, _ := openInstance(t, Options{Settings: load(t, `
[defaults]
compact_threshold = 1234
result_budget = 5
result_chars = 600
result_lines = 7
history_limit = 8
rounds = 9
failures = 11
retries = 12
titles = false
[defaults.compaction]
mode = "suggest"
fraction = 0.5
reserve = 13
reserve_floor = 14
keep_recent = 15
failures = 16
cooldown = "90s"
timeout = "17s"
[defaults.memory_flush]
enabled = false
soft = 18
system = "a system"
prompt = "a prompt"
tools = ["calc"]
[defaults.pruning]
after = "19s"
keep_last = 20
soft_ratio = 0.21
hard_ratio = 0.22
min_chars = 23
soft_max_chars = 24
soft_head_chars = 25
soft_tail_chars = 26
hard_clear = false
placeholder = "gone"
allow = ["calc"]
deny = ["now"]
`)})
	h.mu.Lock()
	a := h.agents["main"]
	h.mu.Unlock()
	for what, pair := range map[string][2]any{
		"compaction": {a.Compaction, compact.Settings{
			Mode: compact.Suggest, Threshold: 1234, Fraction: 0.5, Reserve: 13, ReserveFloor: 14, KeepRecent: 15, Failures: 16, Cooldown: 90 * time.Second, Timeout: 17 * time.Second,
			Backoff: provider.Backoff{Retries: 12},
		}},
		"flush": {a.Flush, agent.Flush{Off: true, Soft: 18, System: "a system", Prompt: "a prompt", Tools: []string{"calc"}}},
		"pruning": {a.Pruning, agent.Pruning{After: 19 * time.Second, Pruning: window.Pruning{
			KeepLastAssistants: 20, SoftTrimRatio: 0.21, HardClearRatio: 0.22, MinPrunableChars: 23,
			SoftTrim:  window.SoftTrim{MaxChars: 24, HeadChars: 25, TailChars: 26},
			HardClear: window.HardClear{Disabled: true, Placeholder: "gone"}, Allow: []string{"calc"}, Deny: []string{"now"},
		}}},
		"results": {a.Results, tool.Limits{Chars: 600, Lines: 7}},
		"bounds":  {[]any{a.ResultBudget, a.Turns, a.Rounds, a.Failures, a.Backoff.Retries, a.NoTitles}, []any{5, 8, 9, 11, 12, true}},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}
