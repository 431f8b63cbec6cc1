package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev/wire"
)

// TestUpdates checks that log lines are converted to messages, thoughts and tool calls, and
// that others are omitted.
func TestUpdates(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"message","message":{"role":"user","content":"hello"}}`:                                                                              `user_message_chunk hello`,
		`{"type":"message","message":{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"aGk="}]}}`: `user_message_chunk see|user_message_chunk image/png`,
		`{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"}]}}`:              `agent_thought_chunk hm|agent_message_chunk yes`,
		`{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read_file","arguments":{"path":"a.txt"}}]}}`: `tool_call c1 read_file a.txt read pending`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c1","isError":true,"content":[{"type":"text","text":"no such file"}]}}`:       `tool_call_update c1 failed no such file`,
		`{"type":"message","message":{"role":"toolResult","toolCallId":"c1","content":[]}}`:                                                           `tool_call_update c1 completed `,
		`{"type":"session_info","name":"a title"}`:                                           ``,
		`{"type":"message","message":{"role":"assistant","content":[{"type":"new","x":1}]}}`: ``,
		`{"type":"message","message":{"role":"system","content":"be kind"}}`:                 ``,
		`[]`: ``, `{`: ``,
	} {
		var got []string
		for _, u := range updates(wire.Entry{Line: json.RawMessage(line)}) {
			got = append(got, brief(t, u))
		}
		if all := strings.Join(got, "|"); all != want {
			t.Errorf("%s\nis sent as %q, want %q", line, all, want)
		}
	}
	hidden := wire.Entry{Out: "tombstoned", Line: json.RawMessage(`{"type":"message","message":{"role":"user","content":"hello"}}`)}
	if got := updates(hidden); len(got) != 0 {
		t.Errorf("hidden text is sent: %v", got)
	}
}

// brief returns an update in short form, as on the wire.
func brief(t *testing.T, u sdk.SessionUpdate) string {
	t.Helper()
	data, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		SessionUpdate, ToolCallID, Title, Kind, Status string
		Content                                        json.RawMessage
	}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	var one struct{ Text, MimeType string }
	switch m.SessionUpdate {
	case "tool_call":
		return fmt.Sprintf("tool_call %s %s %s %s", m.ToolCallID, m.Title, m.Kind, m.Status)
	case "tool_call_update":
		var all []struct{ Content struct{ Text string } }
		_ = json.Unmarshal(m.Content, &all)
		text := ""
		if len(all) > 0 {
			text = all[0].Content.Text
		}
		return fmt.Sprintf("tool_call_update %s %s %s", m.ToolCallID, m.Status, text)
	}
	_ = json.Unmarshal(m.Content, &one)
	return m.SessionUpdate + " " + one.Text + one.MimeType
}

// TestPromptParts converts the parts of a prompt to a turn.
func TestPromptParts(t *testing.T) {
	got, err := turnOf([]sdk.ContentBlock{
		sdk.TextBlock("look at"), sdk.ResourceLinkBlock("a.go", "file:///a.go"), sdk.ImageBlock("aGk=", "image/png"),
		sdk.ResourceBlock(sdk.EmbeddedResourceResource{TextResourceContents: &sdk.TextResourceContents{Uri: "file:///b.go", Text: "package b"}}),
	})
	want := "look at\n[a.go](file:///a.go)\n<resource uri=\"file:///b.go\">\npackage b\n</resource>"
	if err != nil || got.Text != want || len(got.Images) != 1 || got.Images[0].MimeType != "image/png" {
		t.Errorf("it is %+v, %v", got, err)
	}
	for _, bad := range [][]sdk.ContentBlock{nil, {sdk.TextBlock(" ")}, {sdk.AudioBlock("aGk=", "audio/wav")}} {
		if _, err := turnOf(bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// TestFailure checks the error codes of the protocol.
func TestFailure(t *testing.T) {
	for kind, code := range map[wire.Kind]int{wire.NotFound: -32002, wire.Invalid: -32602, wire.NoToken: -32000, wire.Upstream: -32603} {
		var got *sdk.RequestError
		if err := failure(&wire.Problem{Kind: kind, Message: "no", Hint: "try again"}); !errors.As(err, &got) || got.Code != code || got.Message != "no; try again" {
			t.Errorf("%s is %v", kind, err)
		}
	}
	if failure(nil) != nil {
		t.Error("an error is reported although there was none")
	}
}

// FuzzRenameMethod checks that a renamed request keeps its other members, and that other
// lines are unchanged.
func FuzzRenameMethod(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"session/delete","params":{"sessionId":"x"}}` + "\n"))
	f.Add([]byte(`{"method":"initialize","method":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		renamed := renameMethod(slices.Clone(line))
		if bytes.Equal(renamed, line) {
			return
		}
		var before, after map[string]any
		if json.Unmarshal(line, &before) != nil || json.Unmarshal(renamed, &after) != nil || after["method"] != fmt.Sprintf("_%v", before["method"]) {
			t.Fatalf("%q became %q", line, renamed)
		}
		delete(before, "method")
		delete(after, "method")
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q", line, renamed)
		}
	})
}
