package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/provider"
	"firn.dev/provider/providertest"
)

func TestContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T, play *providertest.Play) provider.Model {
		return New(Options{URL: play.Serve(t, encodeAnswer), Key: providertest.Key, Name: "claude-test", Spec: providertest.Spec()})
	})
}

// wire encodes a stream as the API does.
type wire struct{ bytes.Buffer }

func (w *wire) event(kind, format string, args ...any) {
	w.Write(sse.Append(nil, sse.Event{Name: kind, Data: fmt.Appendf(nil, `{"type":"%s"`+format+`}`, append([]any{kind}, args...)...)}))
}

func (w *wire) delta(index int, kind, member, text string) {
	quoted, _ := json.Marshal(text)
	w.event("content_block_delta", `,"index":%d,"delta":{"type":"%s","%s":%s}`, index, kind, member, quoted)
}

// encodeAnswer returns the complete body of a good answer.
func encodeAnswer(a providertest.Answer) []byte {
	var w wire
	w.event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[],"stop_reason":null,"stop_sequence":null,`+
		`"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}`, a.Usage.Input, a.Usage.CacheWrite, a.Usage.CacheRead)
	index := 0
	if a.Thinking != "" {
		w.event("content_block_start", `,"index":%d,"content_block":{"type":"thinking","thinking":"","signature":""}`, index)
		for _, piece := range providertest.Pieces(a.Thinking) {
			w.delta(index, "thinking_delta", "thinking", piece)
		}
		w.delta(index, "signature_delta", "signature", "c2lnbmVk")
		w.event("content_block_stop", `,"index":%d`, index)
		index++
	}
	w.event("ping", "")
	if a.Text != "" {
		w.event("content_block_start", `,"index":%d,"content_block":{"type":"text","text":""}`, index)
		for _, piece := range providertest.Pieces(a.Text) {
			w.delta(index, "text_delta", "text", piece)
		}
		w.event("content_block_stop", `,"index":%d`, index)
		index++
	}
	for _, call := range a.Calls {
		w.event("content_block_start", `,"index":%d,"content_block":{"type":"tool_use","id":"%s","name":"%s","input":{}}`, index, call.ID, call.Name)
		w.delta(index, "input_json_delta", "partial_json", "")
		if string(call.Arguments) != "{}" {
			for _, piece := range providertest.Pieces(string(call.Arguments)) {
				w.delta(index, "input_json_delta", "partial_json", piece)
			}
		}
		w.event("content_block_stop", `,"index":%d`, index)
		index++
	}
	reasons := map[firn.StopReason]string{firn.StopEnd: "end_turn", firn.StopLength: "max_tokens", firn.StopToolUse: "tool_use"}
	w.event("message_delta", `,"delta":{"stop_reason":"%s","stop_sequence":null},"usage":{"output_tokens":%d}`, reasons[a.Stop], a.Usage.Output)
	w.event("message_stop", "")
	return w.Bytes()
}
