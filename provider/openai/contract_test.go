package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/provider"
	"firn.dev/provider/providertest"
)

func TestChatContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T, play *providertest.Play) provider.Model {
		return NewChat(Options{URL: play.Serve(t, chatBody), Key: providertest.Key, Name: "test", Spec: providertest.Spec()})
	})
}

func TestResponsesContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T, play *providertest.Play) provider.Model {
		return NewResponses(Options{URL: play.Serve(t, responsesBody), Key: providertest.Key, Name: "test", Spec: providertest.Spec()})
	}, providertest.NoCacheWrites)
}

// script is the body of an event stream.
type script struct{ bytes.Buffer }

// event adds an event; an empty name is omitted.
func (s *script) event(name, format string, args ...any) {
	s.Write(sse.Append(nil, sse.Event{Name: name, Data: fmt.Appendf(nil, format, args...)}))
}

func quote(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

// chatBody returns the body of a complete response of the Chat Completions API.
func chatBody(a providertest.Answer) []byte {
	var s script
	delta := func(format string, args ...any) {
		s.event("", `{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":null}],"usage":null}`, fmt.Sprintf(format, args...))
	}
	delta(`{"role":"assistant","content":""}`)
	for _, piece := range providertest.Pieces(a.Thinking) {
		delta(`{"reasoning_content":%s}`, quote(piece))
	}
	for _, piece := range providertest.Pieces(a.Text) {
		delta(`{"content":%s}`, quote(piece))
	}
	for i, call := range a.Calls {
		delta(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, quote(call.ID), quote(call.Name))
		for _, piece := range providertest.Pieces(string(call.Arguments)) {
			delta(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(piece))
		}
	}
	reasons := map[firn.StopReason]string{firn.StopEnd: "stop", firn.StopLength: "length", firn.StopToolUse: "tool_calls"}
	s.event("", `{"choices":[{"index":0,"delta":{},"finish_reason":"%s"}],"usage":null}`, reasons[a.Stop])
	u := a.Usage
	prompt := u.Input + u.CacheRead + u.CacheWrite
	s.event("", `{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d}}}`,
		prompt, u.Output, prompt+u.Output, u.CacheRead, u.CacheWrite)
	s.event("", `[DONE]`)
	return s.Bytes()
}

// responsesBody returns the body of a complete response of the Responses API.
func responsesBody(a providertest.Answer) []byte {
	var s script
	var output []string
	event := func(kind, format string, args ...any) {
		s.event(kind, `{"type":"%s",%s}`, kind, fmt.Sprintf(format, args...))
	}
	item := func(begin, end string, body func(index int)) {
		index := len(output)
		event("response.output_item.added", `"output_index":%d,"item":%s`, index, begin)
		body(index)
		event("response.output_item.done", `"output_index":%d,"item":%s`, index, end)
		output = append(output, end)
	}
	event("response.created", `"response":{"id":"resp_1","status":"in_progress","output":[]}`)
	if a.Thinking != "" {
		begin := `{"id":"rs_1","type":"reasoning","summary":[]}`
		end := fmt.Sprintf(`{"id":"rs_1","type":"reasoning","encrypted_content":"c2VhbGVk","summary":[{"type":"summary_text","text":%s}]}`, quote(a.Thinking))
		item(begin, end, func(index int) {
			for _, piece := range providertest.Pieces(a.Thinking) {
				event("response.reasoning_summary_text.delta", `"output_index":%d,"item_id":"rs_1","summary_index":0,"delta":%s`, index, quote(piece))
			}
		})
	}
	if a.Text != "" {
		begin := `{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}`
		end := fmt.Sprintf(`{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":%s}]}`, quote(a.Text))
		item(begin, end, func(index int) {
			for _, piece := range providertest.Pieces(a.Text) {
				event("response.output_text.delta", `"output_index":%d,"item_id":"msg_1","content_index":0,"delta":%s`, index, quote(piece))
			}
		})
	}
	for i, call := range a.Calls {
		status := "completed"
		if a.Stop == firn.StopLength {
			status = "incomplete"
		}
		head := fmt.Sprintf(`{"id":"fc_%d","type":"function_call","call_id":%s,"name":%s,"status":"%s","arguments":`, i, quote(call.ID), quote(call.Name), status)
		item(head+`""}`, head+quote(string(call.Arguments))+`}`, func(index int) {
			for _, piece := range providertest.Pieces(string(call.Arguments)) {
				event("response.function_call_arguments.delta", `"output_index":%d,"item_id":"fc_%d","delta":%s`, index, i, quote(piece))
			}
			event("response.function_call_arguments.done", `"output_index":%d,"item_id":"fc_%d","arguments":%s`, index, i, quote(string(call.Arguments)))
		})
	}
	status, details := "completed", "null"
	if a.Stop == firn.StopLength {
		status, details = "incomplete", `{"reason":"max_output_tokens"}`
	}
	u := a.Usage
	event("response."+status, `"response":{"id":"resp_1","status":"%s","incomplete_details":%s,"output":[%s],"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"total_tokens":%d}}`,
		status, details, strings.Join(output, ","), u.Input+u.CacheRead, u.CacheRead, u.Output, u.Input+u.CacheRead+u.Output)
	return s.Bytes()
}
