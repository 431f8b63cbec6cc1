package interop

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// refused are requests that the real providers reject, by their defect, with a part of the
// error message.
var refused = map[string]struct{ path, body, says string }{
	"the assistant begins":       {"/v1/messages", `{"messages":[{"role":"assistant","content":"x"}]}`, `first message must use the "user" role`},
	"no messages":                {"/v1/messages", `{"messages":[]}`, "at least one message"},
	"an empty text":              {"/v1/messages", `{"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "text content blocks must be non-empty"},
	"no content":                 {"/v1/messages", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[]}]}`, "messages.1: all messages must have non-empty content"},
	"a long id":                  {"/v1/messages", anthropicCallOf(strings.Repeat("a", 65), "ls", `{}`), "at most 64 characters"},
	"an id of OpenAI's":          {"/v1/messages", anthropicCallOf("call_1|fc_1", "ls", `{}`), "tool_use.id: String should match pattern"},
	"a name with a dot":          {"/v1/messages", anthropicCallOf("c", "fs.read", `{}`), "tool_use.name: String should match pattern"},
	"a long name":                {"/v1/messages", anthropicCallOf("c", strings.Repeat("a", 65), `{}`), "tool_use.name: String should match pattern"},
	"arguments that are a text":  {"/v1/messages", anthropicCallOf("c", "ls", `"{}"`), "valid dictionary"},
	"an image without data":      {"/v1/messages", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]}]}`, "at least 1 character"},
	"an image that is a PDF":     {"/v1/messages", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}]}]}`, "media_type"},
	"an unknown block":           {"/v1/messages", `{"messages":[{"role":"user","content":[{"type":"webSearch"}]}]}`, "does not match any of the expected tags"},
	"thinking without signature": {"/v1/messages", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}]}`, "signature: Field required"},
	"a call without a result":    {"/v1/messages", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"ls","input":{}}]},{"role":"user","content":"y"}]}`, "without `tool_result` blocks immediately after: c"},
	"a result behind a text":     {"/v1/messages", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"ls","input":{}}]},{"role":"user","content":"y"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}`, "immediately after"},
	"a result without a call":    {"/v1/messages", `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}`, "unexpected `tool_use_id`"},
	"an id twice":                {"/v1/messages", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"ls","input":{}},{"type":"tool_use","id":"c","name":"ls","input":{}}]}]}`, "ids must be unique"},

	"chat: the assistant begins":    {"/v1/chat/completions", `{"messages":[{"role":"system","content":"x"},{"role":"assistant","content":"x"}]}`, "first message must be of the user"},
	"chat: a long id":               {"/v1/chat/completions", chatCallOf(strings.Repeat("a", 41), "ls", `{}`), "maximum length 40"},
	"chat: a name with a dot":       {"/v1/chat/completions", chatCallOf("c", "fs.read", `{}`), "does not match pattern"},
	"chat: arguments not an object": {"/v1/chat/completions", chatCallOf("c", "ls", `[1]`), "arguments"},
	"chat: a call without a result": {"/v1/chat/completions", strings.Replace(chatCallOf("c", "ls", `{}`), `"tool"`, `"user"`, 1), "did not have response messages: c"},
	"chat: a result without a call": {"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"c","content":"x"}]}`, "must be a response to a preceeding message"},
	"chat: an image without data":   {"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]}]}`, "image_url"},

	"responses: a long id":             {"/v1/responses", responseCallOf(strings.Repeat("a", 83), "ls", `{}`), "maximum length 64, but instead got a string with length 83"},
	"responses: a name with a dot":     {"/v1/responses", responseCallOf("c", "fs.read", `{}`), "does not match pattern"},
	"responses: arguments no object":   {"/v1/responses", responseCallOf("c", "ls", `7`), "arguments"},
	"responses: a call without result": {"/v1/responses", `{"input":[{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}]}`, "No tool output found for function call c"},
	"responses: a result without call": {"/v1/responses", `{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`, "No tool call found for function call output with call_id c"},
	"responses: an image without data": {"/v1/responses", `{"input":[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,"}]}]}`, "image_url"},
	"responses: reasoning at the end":  {"/v1/responses", `{"input":[{"type":"reasoning","encrypted_content":"x"}]}`, "without its required following item"},
	"responses: an unknown item":       {"/v1/responses", `{"input":[{"type":"snow"}]}`, "Invalid value: 'snow'"},
}

func text(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// anthropicCallOf returns a request with one call and its result.
func anthropicCallOf(id, name, input string) string {
	return `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":` + text(id) + `,"name":` + text(name) + `,"input":` + input + `}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":` + text(id) + `,"content":"ok"}]}]}`
}

func chatCallOf(id, name, arguments string) string {
	return `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":` + text(id) + `,"type":"function","function":{"name":` + text(name) + `,"arguments":` + text(arguments) + `}}]},` +
		`{"role":"tool","tool_call_id":` + text(id) + `,"content":"ok"}]}`
}

func responseCallOf(id, name, arguments string) string {
	return `{"input":[{"type":"function_call","call_id":` + text(id) + `,"name":` + text(name) + `,"arguments":` + text(arguments) + `},{"type":"function_call_output","call_id":` + text(id) + `,"output":"ok"}]}`
}

// TestStrictProvider checks that the fake provider rejects the same requests as the real
// ones, with their errors, and accepts the corrected requests.
func TestStrictProvider(t *testing.T) {
	t.Parallel()
	ask := func(path, body string) (int, string) {
		f := newProvider(t, "It was snow.")
		w := httptest.NewRecorder()
		f.server.Config.Handler.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	for name, r := range refused {
		code, body := ask(r.path, r.body)
		var reply struct {
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(body), &reply); err != nil || code != 400 || reply.Error.Type != "invalid_request_error" || !strings.Contains(reply.Error.Message, r.says) {
			t.Errorf("%s: status %d, %s; want 400 and %q", name, code, body, r.says)
		}
	}
	for path, body := range map[string]string{
		"/v1/messages":         anthropicCallOf(strings.Repeat("a", 64), strings.Repeat("b", 64), `{"a":1}`),
		"/v1/chat/completions": chatCallOf(strings.Repeat("a", 40), strings.Repeat("b", 64), `{"a":1}`),
		"/v1/responses":        responseCallOf(strings.Repeat("a", 64), strings.Repeat("b", 64), `{"a":1}`),
	} {
		if code, answer := ask(path, body); code != 200 || !strings.Contains(answer, "It was snow.") {
			t.Errorf("%s: status %d, %s; want an answer", path, code, answer)
		}
	}
}
