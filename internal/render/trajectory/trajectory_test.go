package trajectory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev/wire"
)

// lines are the entries of a session with all that a trajectory has, and things that it
// leaves out.
var lines = []string{
	`{"type":"session","id":"s","timestamp":"2026-11-15T02:45:47Z"}`,
	`{"type":"message","id":"a","timestamp":"2026-11-15T02:45:47.621Z","sender":"ann","message":{"role":"user","content":[{"type":"text","text":"what is 6*7? password=hunter2hunter2"},{"type":"image","mimeType":"image/png","data":"aGk="}]}}`,
	`{"type":"message","id":"b","timestamp":"2026-11-15T02:45:48Z","message":{"role":"assistant","provider":"p","model":"m","content":[{"type":"thinking","thinking":"I calculate."},{"type":"text","text":"One moment."},{"type":"toolCall","id":"c1","name":"calc","arguments":{"x":"6*7"}},{"type":"toolCall","id":"c2","name":"odd","arguments":"no object"}],"usage":{"input":10,"output":5,"cacheRead":100,"cacheWrite":1,"cost":{"total":0.25}}}}`,
	`{"type":"message","id":"c","message":{"role":"toolResult","toolCallId":"c2","isError":true,"content":[{"type":"text","text":"failed"}]}}`,
	`{"type":"message","id":"d","message":{"role":"toolResult","toolCallId":"c1","content":[{"type":"text","text":"42"}]}}`,
	`{"type":"message","id":"e","message":{"role":"toolResult","toolCallId":"lost","content":"from elsewhere"}}`,
	`{"type":"message","id":"f","message":{"role":"assistant","model":"m","content":"It is 42.","usage":{"input":3,"output":2}}}`,
	`{"type":"compaction","id":"g","summary":"They calculated."}`,
	`{"type":"session_info","id":"h","name":"a title"}`, `[]`, `{`,
}

// write returns a trajectory of the lines.
func write(t *testing.T, o Options, lines ...string) map[string]any {
	t.Helper()
	var b strings.Builder
	w := New(&b, wire.Session{ID: "s", Agent: "main", State: &wire.State{Provider: "p", Model: "m"}}, o)
	for _, line := range lines {
		if err := w.Entry(wire.Entry{Line: json.RawMessage(line)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(b.String()), &all); err != nil {
		t.Fatalf("%v:\n%s", err, b.String())
	}
	if err := validate(all); err != nil {
		t.Errorf("%v:\n%s", err, b.String())
	}
	return all
}

// validate checks the rules of the format: required members, numbers of steps, members that
// only steps of the agent may have, and results that refer to a call of their step.
func validate(all map[string]any) error {
	agent, _ := all["agent"].(map[string]any)
	steps, ok := all["steps"].([]any)
	if all["schema_version"] != Version || all["session_id"] == "" || agent["name"] == "" || agent["version"] == "" || !ok {
		return fmt.Errorf("the head is %v %v %v", all["schema_version"], all["session_id"], agent)
	}
	for i, x := range steps {
		s := x.(map[string]any)
		if s["step_id"] != float64(i+1) || !slices.Contains([]any{"user", "agent", "system"}, s["source"]) {
			return fmt.Errorf("step %d: %v", i+1, s)
		}
		if _, ok := s["message"].(string); !ok {
			return fmt.Errorf("step %d has no message", i+1)
		}
		if at, ok := s["timestamp"].(string); ok {
			if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
				return err
			}
		}
		for _, member := range []string{"tool_calls", "metrics", "model_name", "reasoning_content"} {
			if s["source"] != "agent" && s[member] != nil {
				return fmt.Errorf("step %d is not of the agent and has %s", i+1, member)
			}
		}
		var calls []any
		for _, c := range list(s["tool_calls"]) {
			if _, ok := c["arguments"].(map[string]any); !ok {
				return fmt.Errorf("step %d: the arguments are %v", i+1, c["arguments"])
			}
			calls = append(calls, c["tool_call_id"])
		}
		o, _ := s["observation"].(map[string]any)
		for _, r := range list(o["results"]) {
			if id := r["source_call_id"]; id != nil && !slices.Contains(calls, id) {
				return fmt.Errorf("step %d: a result of %v", i+1, id)
			}
		}
	}
	if n := all["final_metrics"].(map[string]any)["total_steps"]; n != float64(len(steps)) {
		return fmt.Errorf("%v steps of %d", n, len(steps))
	}
	return nil
}

func list(v any) (all []map[string]any) {
	items, _ := v.([]any)
	for _, x := range items {
		all = append(all, x.(map[string]any))
	}
	return all
}

// TestTrajectory writes messages, calls and results as steps, with their tokens.
func TestTrajectory(t *testing.T) {
	all := write(t, Options{Program: "1.2.3"}, lines...)
	steps := list(all["steps"])
	var brief []string
	for _, s := range steps {
		brief = append(brief, fmt.Sprint(s["source"], ": ", s["message"]))
	}
	want := "user: what is 6*7? password=hunter2hunter2\n[image image/png]|agent: One moment.|system: |agent: It is 42.|system: They calculated."
	if got := strings.Join(brief, "|"); got != want {
		t.Errorf("the steps are\n%s\nwant\n%s", got, want)
	}
	answer, _ := json.Marshal(steps[1])
	for _, part := range []string{`"reasoning_content":"I calculate."`, `"model_name":"p/m"`, `"prompt_tokens":111`, `"cached_tokens":100`, `"cost_usd":0.25`, `{"content":"failed","source_call_id":"c2"},{"content":"42","source_call_id":"c1"}`, `{"arguments":"\"no object\""}`} {
		if !strings.Contains(string(answer), part) {
			t.Errorf("there is no %s in %s", part, answer)
		}
	}
	if sum := all["final_metrics"].(map[string]any); sum["total_prompt_tokens"] != 114.0 || sum["total_completion_tokens"] != 7.0 || sum["total_cost_usd"] != 0.25 {
		t.Errorf("the sums are %v", sum)
	}
	masked, _ := json.Marshal(write(t, Options{Mask: true}, lines...))
	if strings.Contains(string(masked), "hunter2") || !strings.Contains(string(masked), "[secret]") {
		t.Errorf("not masked: %s", masked)
	}
	if empty := write(t, Options{}); len(list(empty["steps"])) != 0 {
		t.Errorf("an empty session has %v", empty)
	}
}

// FuzzTrajectory checks that every line gives a valid trajectory.
func FuzzTrajectory(f *testing.F) {
	for _, line := range lines {
		f.Add(line, lines[2])
	}
	f.Fuzz(func(t *testing.T, one, two string) { write(t, Options{}, one, two, lines[4]) })
}
