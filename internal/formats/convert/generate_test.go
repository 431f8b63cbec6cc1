package convert_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
)

// hardCases returns transcripts that are hard to import: generated ones, and damaged
// variants of the corpus.
func hardCases(t *testing.T, seed uint64) []specimen {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 41))
	claude, _ := dialects.Find(string(dialect.ClaudeCode))
	codex, _ := dialects.Find(string(dialect.Codex))
	var all []specimen
	for n := range 8 {
		all = append(all,
			specimen{claude, fmt.Sprintf("parallel-%d-%d.jsonl", seed, n), claudeParallel(random)},
			specimen{codex, fmt.Sprintf("parallel-%d-%d.jsonl", seed, n), codexParallel(random)})
	}
	for i, s := range append(all[:4:4], smallOf(corpus(t))...) {
		for _, how := range slices.Sorted(maps.Keys(mishaps)) {
			all = append(all, specimen{s.tool, fmt.Sprintf("%s-%s", how, s.name), mishaps[how](rand.New(rand.NewPCG(seed, uint64(i))), bytes.Clone(s.text))})
		}
	}
	return all
}

// smallOf returns the shortest transcript of each tool with more than three lines, at most
// its first 20.
func smallOf(all []specimen) []specimen {
	small := make(map[dialect.Name]specimen)
	for _, s := range all {
		if old, ok := small[s.tool.Name()]; bytes.Count(s.text, []byte{'\n'}) > 3 && (!ok || len(s.text) < len(old.text)) {
			small[s.tool.Name()] = s
		}
	}
	var list []specimen
	for _, tool := range dialects.Others() {
		if s, ok := small[tool.Name()]; ok {
			lines := bytes.SplitAfter(s.text, []byte{'\n'})
			s.text = bytes.Join(lines[:min(len(lines), 20)], nil)
			list = append(list, s)
		}
	}
	return list
}

// mishaps are kinds of file damage. Each leaves a file that starts like the tool's files.
var mishaps = map[string]func(*rand.Rand, []byte) []byte{
	"no-newline": func(_ *rand.Rand, text []byte) []byte { return bytes.TrimRight(text, "\n") },
	"crlf":       func(_ *rand.Rand, text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) },
	"blank": func(_ *rand.Rand, text []byte) []byte {
		return bytes.ReplaceAll(text, []byte("}\n"), []byte("}\n\n \n"))
	},
	"bom": func(_ *rand.Rand, text []byte) []byte { return append([]byte("\xef\xbb\xbf"), text...) },
	"torn-end": func(r *rand.Rand, text []byte) []byte {
		return text[:len(text)-2-r.IntN(20)]
	},
	"torn-continued": func(r *rand.Rand, text []byte) []byte { return tornInside(r, text, "\n") },
	"torn-glued":     func(r *rand.Rand, text []byte) []byte { return tornInside(r, text, "") },
	"glued": func(r *rand.Rand, text []byte) []byte {
		lines := bytes.SplitAfter(text, []byte{'\n'})
		n := 1 + r.IntN(len(lines)-2)
		lines[n] = bytes.TrimRight(lines[n], "\n")
		return bytes.Join(lines, nil)
	},
	"repeated": func(r *rand.Rand, text []byte) []byte {
		lines := bytes.SplitAfter(text, []byte{'\n'})
		n := 1 + r.IntN(len(lines)-2)
		lines[n] = bytes.Repeat(lines[n], 2)
		return append(bytes.Join(lines, nil), lines[len(lines)-2]...)
	},
	"noise": func(r *rand.Rand, text []byte) []byte {
		lines := bytes.SplitAfter(text, []byte{'\n'})
		n := 1 + r.IntN(len(lines)-2)
		lines[n] = append([]byte("not JSON at all\n[1,2]\n\x00\x00\n\xff\xfe{\n"), lines[n]...)
		return bytes.Join(lines, nil)
	},
}

// tornInside inserts the start of a line before that line, as a tool does that crashed and
// was restarted.
func tornInside(r *rand.Rand, text []byte, end string) []byte {
	lines := bytes.SplitAfter(text, []byte{'\n'})
	n := 1 + r.IntN(len(lines)-2)
	torn := bytes.Clone(lines[n][:1+r.IntN(len(lines[n])-2)])
	lines[n] = append(append(torn, end...), lines[n]...)
	return bytes.Join(lines, nil)
}

// claudeParallel generates a transcript of Claude Code with responses on several lines and
// parallel calls, whose results are between the lines of the response in any order, with
// any parent that Claude Code may use.
func claudeParallel(r *rand.Rand) []byte {
	w := &claudeLines{random: r}
	if r.IntN(2) == 0 {
		w.plain(`{"type":"summary","summary":"An earlier one","leafUuid":"x"}`)
	}
	parent := w.addLine("user", "", `"role":"user","content":"go"`)
	for turn := range 1 + r.IntN(3) {
		parent = w.answer(turn, parent)
		if r.IntN(3) == 0 {
			w.plain(`{"type":"ai-title","aiTitle":"Automatic %d","sessionId":"s"}`, turn)
		}
		if r.IntN(2) == 0 {
			parent = w.addLine("user", parent, fmt.Sprintf(`"role":"user","content":"and then %d?"`, turn))
		}
	}
	if r.IntN(4) > 0 {
		w.addLine("assistant", parent, `"id":"msg_end","role":"assistant","model":"m","content":[{"type":"text","text":"That is all."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":9}`)
	}
	return w.out.Bytes()
}

type claudeLines struct {
	random *rand.Rand
	out    bytes.Buffer
	number int
}

func (w *claudeLines) plain(format string, args ...any) {
	fmt.Fprintf(&w.out, format+"\n", args...)
}

// addLine writes a line of the chain and returns its uuid.
func (w *claudeLines) addLine(kind, parent, message string) string {
	w.number++
	uuid := fmt.Sprintf("%08d-0000-4000-8000-000000000000", w.number)
	above := "null"
	if parent != "" {
		above = `"` + parent + `"`
	}
	at := w.number
	if w.random.IntN(8) == 0 {
		at-- // two lines with the same time
	}
	w.plain(`{"parentUuid":%s,"isSidechain":false,"cwd":"/w","sessionId":"s","version":"2.1.0","type":%q,"message":{%s},"uuid":%q,"timestamp":"2026-01-01T00:00:%02d.000Z"}`,
		above, kind, message, uuid, at%60)
	return uuid
}

// answer writes a response with calls and their results, and returns the uuid that the
// conversation continues from.
func (w *claudeLines) answer(turn int, parent string) string {
	calls := 1 + w.random.IntN(4)
	piece := func(parent, block string) string {
		return w.addLine("assistant", parent, fmt.Sprintf(
			`"id":"msg_%d","role":"assistant","model":"m","content":[%s],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":7}`, turn, block))
	}
	last := parent
	if w.random.IntN(2) == 0 {
		last = piece(last, `{"type":"thinking","thinking":"Let me see.","signature":"c2ln"}`)
	}
	if w.random.IntN(2) == 0 {
		last = piece(last, fmt.Sprintf(`{"type":"text","text":"I look at %d places."}`, calls))
	}
	type open struct{ call, uuid string }
	var waiting []open
	end := ""
	result := func(i int) {
		o := waiting[i]
		waiting = append(waiting[:i], waiting[i+1:]...)
		end = w.addLine("user", o.uuid, fmt.Sprintf(`"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"result of %s"}]`, o.call, o.call))
	}
	for n := range calls {
		call := fmt.Sprintf("toolu_%d_%d", turn, n)
		above := last
		if end != "" && w.random.IntN(2) == 0 {
			above = end
		}
		last = piece(above, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Read","input":{"path":"/%d"}}`, call, n))
		waiting = append(waiting, open{call, last})
		if w.random.IntN(3) == 0 {
			w.plain(`{"type":"progress","note":"aside %d"}`, n)
		}
		for len(waiting) > 0 && w.random.IntN(3) == 0 {
			result(w.random.IntN(len(waiting)))
		}
	}
	for len(waiting) > 0 {
		result(w.random.IntN(len(waiting)))
	}
	return end
}

// codexParallel generates a rollout with parallel calls whose outputs are between them.
func codexParallel(r *rand.Rand) []byte {
	var b strings.Builder
	second := 0
	line := func(kind, payload string, args ...any) {
		second++
		fmt.Fprintf(&b, `{"timestamp":"2026-01-01T00:%02d:%02d.000Z","type":%q,"payload":%s}`+"\n", second/60, second%60, kind, fmt.Sprintf(payload, args...))
	}
	line("session_meta", `{"id":"01a1e121-bc52-7613-ad59-b80dc54c94a9","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.160.0","model_provider":"openai"}`)
	line("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}`)
	for turn := range 1 + r.IntN(3) {
		if r.IntN(2) == 0 {
			line("event_msg", `{"type":"agent_message","message":"I look."}`)
			line("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]}`)
		}
		var open []string
		for n := range 1 + r.IntN(4) {
			call := fmt.Sprintf("call_%d_%d", turn, n)
			line("response_item", `{"type":"function_call","name":"shell","arguments":"{\"n\":%d}","call_id":%q}`, n, call)
			open = append(open, call)
			for len(open) > 0 && r.IntN(3) == 0 {
				i := r.IntN(len(open))
				line("response_item", `{"type":"function_call_output","call_id":%q,"output":"result of %s"}`, open[i], open[i])
				open = append(open[:i], open[i+1:]...)
			}
			if r.IntN(3) == 0 {
				line("event_msg", `{"type":"token_count","info":{"last_token_usage":{"input_tokens":5,"output_tokens":7,"total_tokens":12}}}`)
			}
		}
		for _, call := range open {
			line("response_item", `{"type":"function_call_output","call_id":%q,"output":"result of %s"}`, call, call)
		}
		if r.IntN(4) == 0 {
			line("event_msg", `{"type":"thread_rolled_back","num_turns":1}`)
			line("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"again %d"}]}`, turn)
		}
	}
	line("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"That is all."}]}`)
	if r.IntN(2) == 0 {
		line("event_msg", `{"type":"task_complete"}`)
	}
	return []byte(b.String())
}
