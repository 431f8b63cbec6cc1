package sdk

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces splits a text at random positions.
func pieces(t *rapid.T, s string) []string {
	runes := []rune(s)
	var all []string
	for len(runes) > 0 {
		n := rapid.IntRange(1, len(runes)).Draw(t, "piece")
		all = append(all, string(runes[:n]))
		runes = runes[n:]
	}
	return all
}

func drawProse(t *rapid.T) string {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"snow", " ", "\n\n", "Grüße", "世界", "👩‍🚀", `"`, `\`, "\u2028", "<b>&", "{", "data: ", "\t", "\u00a0", "[DONE]"}), 1, 8)
	return strings.Join(words.Draw(t, "words"), "")
}

func drawObject(t *rapid.T) string {
	return one(t, `{}`, `{"path": "a b"}`, `{"a":{"b":[1,2.50,-3e2,null,true]},"c":"\n\"ü👋\""}`, `{"text":"data: [DONE]\n\n"}`, `{"a":"\ud83d\ude00\u00fc"}`)
}

// quote encodes a string as JSON, sometimes with unnecessary escapes.
func quote(t *rapid.T, s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if !rapid.Bool().Draw(t, "escaped") {
		return string(raw)
	}
	return strings.NewReplacer("ü", `\u00fc`, "世", `\u4e16`, "👋", `\ud83d\udc4b`, "/", `\/`).Replace(string(raw))
}

// frame encodes events as a stream, with random additional lines.
func frame(t *rapid.T, events []string) string {
	stream := sse(events...)
	if rapid.Bool().Draw(t, "comments") {
		stream = ": hello\n\n" + strings.ReplaceAll(stream, "\n\n", "\n: still there\nid: 7\n\n")
	}
	if rapid.Bool().Draw(t, "tight") {
		stream = strings.ReplaceAll(stream, "\ndata: ", "\ndata:")
	}
	if rapid.Bool().Draw(t, "crlf") {
		stream = strings.ReplaceAll(stream, "\n", "\r\n")
	}
	return stream
}

// weave interleaves lists of events, each of which stays in order.
func weave(t *rapid.T, lists ...[]string) []string {
	var all []string
	for {
		lists = slices.DeleteFunc(lists, func(l []string) bool { return len(l) == 0 })
		if len(lists) == 0 {
			return all
		}
		i := rapid.IntRange(0, len(lists)-1).Draw(t, "next")
		all = append(all, lists[i][0])
		lists[i] = lists[i][1:]
	}
}

// drawMessages draws a stream of the Messages API. The deltas of blocks may be interleaved;
// blocks start in order.
func drawMessages(t *rapid.T) string {
	n := func(name string) int { return rapid.IntRange(0, 5000).Draw(t, name) }
	events := []string{fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"output_tokens":1,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d}}}`, n("input"), n("read"), n("write"))}
	var deltas [][]string
	for i := range rapid.IntRange(0, 5).Draw(t, "blocks") {
		begin, rest := drawBlock(t, i)
		events = append(events, begin)
		if rapid.Bool().Draw(t, "at once") {
			events = append(events, rest...)
		} else {
			deltas = append(deltas, rest)
		}
	}
	events = append(events, weave(t, deltas...)...)
	reason := one(t, "end_turn", "tool_use", "max_tokens", "stop_sequence", "model_context_window_exceeded")
	usage := one(t, `{"output_tokens":%d}`, `{"output_tokens":%d,"input_tokens":7,"cache_read_input_tokens":null}`, `{"output_tokens":%d,"cache_creation_input_tokens":9}`)
	events = append(events, fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":"%s","stop_sequence":null},"usage":%s}`, reason, fmt.Sprintf(usage, n("output"))))
	if rapid.Bool().Draw(t, "ping") {
		events = slices.Insert(events, 1, `{"type":"ping"}`)
	}
	return frame(t, append(events, `{"type":"message_stop"}`))
}

// drawBlock draws the start of a block and the following events.
func drawBlock(t *rapid.T, i int) (begin string, rest []string) {
	kind, member, block, whole := "text_delta", "text", `{"type":"text","text":""}`, ""
	signature := ""
	switch rapid.IntRange(0, 3).Draw(t, "block") {
	case 0:
		whole = drawProse(t)
	case 1:
		kind, member, block, whole = "thinking_delta", "thinking", `{"type":"thinking","thinking":"","signature":""}`, drawProse(t)
		signature = "c2lnbmVk"
	case 2:
		block = fmt.Sprintf(`{"type":"redacted_thinking","data":"hidden%d"}`, i)
	default:
		kind, member, whole = "input_json_delta", "partial_json", drawObject(t)
		block = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"read","input":{}}`, i)
	}
	for _, piece := range pieces(t, whole) {
		rest = append(rest, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"%s","%s":%s}}`, i, kind, member, quote(t, piece)))
	}
	if signature != "" {
		rest = append(rest, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":%q}}`, i, signature))
	}
	rest = append(rest, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block), rest
}

// drawCompletion draws a stream of the Chat Completions API. The pieces of calls may be
// interleaved; calls start in order.
func drawCompletion(t *rapid.T) string {
	chunk := func(delta, reason string) string {
		return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}`, delta, reason)
	}
	events := []string{chunk(`{"role":"assistant","content":"","refusal":null}`, "null")}
	member := one(t, "content", "content", "refusal")
	for _, piece := range pieces(t, one(t, "", drawProse(t))) {
		events = append(events, chunk(fmt.Sprintf(`{"%s":%s}`, member, quote(t, piece)), "null"))
	}
	var deltas [][]string
	for i := range rapid.IntRange(0, 4).Draw(t, "calls") {
		events = append(events, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":"read","arguments":""}}]}`, i, i), "null"))
		var rest []string
		for _, piece := range pieces(t, drawObject(t)) {
			rest = append(rest, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(t, piece)), "null"))
		}
		deltas = append(deltas, rest)
	}
	events = append(events, weave(t, deltas...)...)
	events = append(events, chunk("{}", one(t, `"stop"`, `"tool_calls"`, `"length"`)))
	if rapid.Bool().Draw(t, "counted") {
		read, input, output := rapid.IntRange(0, 999).Draw(t, "read"), rapid.IntRange(1000, 5000).Draw(t, "input"), rapid.IntRange(1, 5000).Draw(t, "output")
		events = append(events, fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"audio_tokens":0}}}`, input, output, input+output, read))
	}
	return frame(t, append(events, "[DONE]"))
}

// drawResponse draws a stream of the Responses API.
func drawResponse(t *rapid.T) string {
	events := []string{`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","model":"m","output":[]}}`}
	var output []string
	for i := range rapid.IntRange(0, 4).Draw(t, "items") {
		begin, deltas, end := drawItem(t, i)
		events = append(events, fmt.Sprintf(`{"type":"response.output_item.added","sequence_number":0,"output_index":%d,"item":%s}`, i, begin))
		events = append(events, deltas...)
		events = append(events, fmt.Sprintf(`{"type":"response.output_item.done","sequence_number":0,"output_index":%d,"item":%s}`, i, end))
		output = append(output, end)
	}
	status, details := "completed", "null"
	if rapid.Bool().Draw(t, "incomplete") {
		status, details = "incomplete", `{"reason":"max_output_tokens"}`
	}
	read, write := rapid.IntRange(0, 400).Draw(t, "read"), rapid.IntRange(0, 400).Draw(t, "write")
	input, out := rapid.IntRange(1000, 5000).Draw(t, "input"), rapid.IntRange(1, 5000).Draw(t, "output")
	usage := fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`, input, read, write, out, input+out)
	return frame(t, append(events, fmt.Sprintf(`{"type":"response.%s","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"%s","error":null,"incomplete_details":%s,"model":"m","output":[%s],"usage":%s}}`,
		status, status, details, strings.Join(output, ","), usage)))
}

// drawItem draws an item: its start, its deltas, and the complete item.
func drawItem(t *rapid.T, i int) (begin string, deltas []string, end string) {
	delta := func(kind, id, more, whole string) {
		for _, piece := range pieces(t, whole) {
			deltas = append(deltas, fmt.Sprintf(`{"type":"response.%s.delta","sequence_number":0,"item_id":"%s","output_index":%d%s,"delta":%s}`, kind, id, i, more, quote(t, piece)))
		}
	}
	switch rapid.IntRange(0, 2).Draw(t, "item") {
	case 0:
		id := fmt.Sprint("rs_", i)
		var summary []string
		for n := range rapid.IntRange(0, 3).Draw(t, "summaries") {
			prose := drawProse(t)
			delta("reasoning_summary_text", id, fmt.Sprintf(`,"summary_index":%d`, n), prose)
			summary = append(summary, fmt.Sprintf(`{"type":"summary_text","text":%s}`, quote(t, prose)))
		}
		head := fmt.Sprintf(`{"id":"%s","type":"reasoning","summary":[`, id)
		return head + "]}", deltas, head + strings.Join(summary, ",") + `],"encrypted_content":"c2VhbGVk"}`
	case 1:
		id, prose := fmt.Sprint("msg_", i), drawProse(t)
		phase := one(t, "", `,"phase":"commentary"`, `,"phase":"final_answer"`)
		part := `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quote(t, prose) + `}`
		if rapid.IntRange(0, 4).Draw(t, "refusal") == 0 {
			delta("refusal", id, `,"content_index":0`, prose)
			part = `{"type":"refusal","refusal":` + quote(t, prose) + `}`
		} else {
			delta("output_text", id, `,"content_index":0,"logprobs":[]`, prose)
		}
		head := fmt.Sprintf(`{"id":"%s","type":"message","role":"assistant"%s,"status":`, id, phase)
		return head + `"in_progress","content":[]}`, deltas, head + `"completed","content":[` + part + `]}`
	}
	id, object := fmt.Sprint("fc_", i), drawObject(t)
	delta("function_call_arguments", id, "", object)
	head := fmt.Sprintf(`{"id":"%s","type":"function_call","call_id":"call_%d","name":"read","status":`, id, i)
	return head + `"in_progress","arguments":""}`, deltas, head + `"completed","arguments":` + quote(t, object) + `}`
}

// TestReadRandomly checks that firn and the SDK read the same from any stream of the API.
func TestReadRandomly(t *testing.T) {
	draw := map[string]func(*rapid.T) string{"anthropic": drawMessages, "chat": drawCompletion, "responses": drawResponse}
	for _, r := range readers() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			ctx := t.Context()
			rapid.Check(t, func(t *rapid.T) {
				stream := draw[r.name](t)
				ours, theirs := r.both(ctx, server, stream)
				if slices.ContainsFunc(ours, func(line string) bool { return strings.HasPrefix(line, "error") }) {
					t.Fatalf("firn reads %q from\n%s", ours, stream)
				}
				for _, complaint := range differ(ours, theirs, nil) {
					t.Fatalf("%s\nfrom\n%s", complaint, stream)
				}
			})
		})
	}
}
