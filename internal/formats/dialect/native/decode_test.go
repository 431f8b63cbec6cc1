package native

import (
	"strings"
	"testing"
	"time"

	"firn.dev"

	"github.com/google/go-cmp/cmp"
)

// readAs checks the decoding of a message in an otherwise plain entry.
func readAs(t *testing.T, message string, want firn.Message) {
	t.Helper()
	entry, err := New().Decode([]byte(`{"type":"message","id":"a","parentId":null,"message":` + message + `}`))
	if err != nil {
		t.Errorf("%s: %v", message, err)
		return
	}
	if diff := cmp.Diff(firn.Entry{ID: "a", Body: &want}, entry); diff != "" {
		t.Errorf("%s (-want +got)\n%s", message, diff)
	}
}

func fields(pairs ...string) (f firn.Fields) {
	for i := 0; i < len(pairs); i += 2 {
		f = append(f, firn.Field{Name: pairs[i], Value: raw(pairs[i+1])})
	}
	return f
}

func TestDecodeMessages(t *testing.T) {
	hi := []firn.Part{firn.Text{Text: "hi"}}
	readAs(t, `{"role":"user","content":"hi"}`, firn.Message{Role: firn.RoleUser, Parts: hi})
	readAs(t, `{"content":"hi","timestamp":1,"role":"user"}`, firn.Message{Role: firn.RoleUser, Parts: hi, Time: time.UnixMilli(1).UTC()})
	readAs(t, `{"role":"assistant","content":"hi"}`, firn.Message{Role: firn.RoleAssistant, Parts: hi})
	readAs(t, `{"role":"system","content":[{"type":"text","text":"hi"}],"sections":[1]}`, firn.Message{Role: firn.RoleSystem, Parts: hi, Extra: fields("sections", "[1]")})
	readAs(t, `{"role":"toolResult","toolCallId":"1","content":"hi","Role":2}`, firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "1", Content: hi}}, Extra: fields("Role", "2")})
	readAs(t, `{"role":"custom","customType":"x","content":[]}`, firn.Message{Role: "custom", Parts: []firn.Part{}, Extra: fields("customType", `"x"`)})
	readAs(t, `{"role":"branchSummary","summary":"s"}`, firn.Message{Role: "branchSummary", Extra: fields("summary", `"s"`)})

	// Values that do not fit a field are carried if they are not essential.
	readAs(t, `{"role":"assistant","content":[],"model":null,"stopReason":7,"timestamp":"today","errorMessage":null}`,
		firn.Message{Role: firn.RoleAssistant, Extra: fields("model", "null", "stopReason", "7", "timestamp", `"today"`, "errorMessage", "null")})
	readAs(t, `{"role":"user","content":"hi","timestamp":1.5}`, firn.Message{Role: firn.RoleUser, Parts: hi, Extra: fields("timestamp", "1.5")})
}

func TestDecodeUsage(t *testing.T) {
	read := func(usage string, want *firn.Usage, extra firn.Fields) {
		t.Helper()
		readAs(t, `{"role":"assistant","content":[],"usage":`+usage+`}`, firn.Message{Role: firn.RoleAssistant, Usage: want, Extra: extra})
	}
	const zero = `"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}`
	read(`{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,`+zero+`}`, nil, nil)
	read(`{}`, nil, nil)
	read(`null`, nil, nil)
	read(`{"input":1,"output":2,`+zero+`}`, &firn.Usage{Input: 1, Output: 2}, nil)
	read(`{"totalTokens":5,"cost":{"total":0.005}}`, &firn.Usage{Total: 5, Cost: firn.Cost{Total: 0.005}}, nil)
	read(`{"input":0,"reasoning":9}`, &firn.Usage{Extra: fields("reasoning", "9")}, nil)
	read(`{"input":1,"cost":{"total":2,"tax":1}}`, &firn.Usage{Input: 1, Cost: firn.Cost{Total: 2}, Extra: fields("cost", `{"total":2,"tax":1}`)}, nil)
	read(`{"input":1,"output":"many"}`, nil, fields("usage", `{"input":1,"output":"many"}`))
	read(`[1]`, nil, fields("usage", `[1]`))
}

func TestDecodeParts(t *testing.T) {
	read := func(part string, want firn.Part) {
		t.Helper()
		readAs(t, `{"role":"assistant","content":[`+part+`]}`, firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{want}})
	}
	opaque := func(kind, part string) {
		t.Helper()
		read(part, firn.OpaquePart{Type: kind, Raw: raw(part)})
	}
	read(`{"text":"x","type":"text"}`, firn.Text{Text: "x"})
	read(`{"type":"text","text":"x","textSignature":null}`, firn.Text{Text: "x", Extra: fields("textSignature", "null")})
	read(`{"type":"thinking","thinking":"","redacted":false}`, firn.Thinking{})
	read(`{"type":"toolCall","id":"1","name":"n"}`, firn.ToolCall{ID: "1", Name: "n", Arguments: raw("{}")})
	read(`{"type":"toolCall","id":"1","name":"n","arguments":"odd","x":1}`, firn.ToolCall{ID: "1", Name: "n", Arguments: raw(`"odd"`), Extra: fields("x", "1")})
	read(`{"type":"image","data":""}`, firn.Image{})
	opaque("text", `{"type":"text"}`)
	opaque("text", `{"type":"text","text":5}`)
	opaque("thinking", `{"type":"thinking","text":"x"}`)
	opaque("toolCall", `{"type":"toolCall","id":"1"}`)
	opaque("toolCall", `{"type":"toolCall","id":1,"name":"n"}`)
	opaque("image", `{"type":"image","url":"x"}`)
	opaque("video", `{"a":{"type":"text"},"type":"video"}`)
	opaque("", `{"type":7}`)
	opaque("", `"bare"`)
	opaque("", `[{"type":"text","text":"x"}]`)
	opaque("", `null`)
}

// TestDecodeOpaque checks that invalid entries are carried with their place in the tree.
func TestDecodeOpaque(t *testing.T) {
	for _, line := range []string{
		`{"type":"message","id":"a","parentId":"p"}`,
		`{"type":"message","id":"a","parentId":"p","message":"hi"}`,
		`{"type":"message","id":"a","parentId":"p","message":{"content":"hi"}}`,
		`{"type":"message","id":"a","parentId":"p","message":{"role":5,"content":"hi"}}`,
		`{"type":"message","id":"a","parentId":"p","message":{"role":"user","content":5}}`,
		`{"type":"message","id":"a","parentId":"p","message":{"role":"user"}}`,
		`{"type":"message","id":"a","parentId":"p","message":{"role":"toolResult","content":[]}}`,
		`{"type":"message","id":"a","parentId":"p","message":{"role":"toolResult","toolCallId":"1"}}`,
		`{"type":"message","id":"a","parentId":"p","message":{"role":"bashExecution","output":"x"}}`,
		`{"type":"message","id":"a","parentId":"p","message":{"role":"user","content":"1"},"message":{"role":"user","content":"2"}}`,
		`{"type":"compaction","id":"a","parentId":"p","firstKeptEntryId":"x"}`,
		`{"type":"branch_summary","id":"a","parentId":"p","summary":null}`,
		`{"type":"tombstone","id":"a","parentId":"p","deleted_uuid":"x"}`,
		`{"type":"label","id":"a","parentId":"p","label":"x"}`,
		`{"type":"model_change","id":"a","parentId":"p","provider":"x"}`,
		`{"type":"thinking_level_change","id":"a","parentId":"p"}`,
		`{"type":"custom","id":"a","parentId":"p","data":1}`,
		`{"type":"custom_message","id":"a","parentId":"p","customType":"x","content":null}`,
		`{"type":"usage","id":"a","parentId":"p"}`,
		`{"type":"erased","id":"a","parentId":"p"}   `,
		`{"id":"a","parentId":"p"}`,
		`{"type":null,"id":"a","parentId":"p"}`,
		`{"type":"head","id":"a","parentId":"p","id":"b"}`,
		`{"type":"head","id":"a","parentId":"p","parentId":null}`,
		`{"type":"head","id":"a","parentId":"p","type":"label"}`,
		`{"type":"label","id":"a","parentId":"p","targetId":"x","targetId":"y"}`,
	} {
		entry, err := New().Decode([]byte(line))
		opaque, ok := entry.Body.(*firn.Opaque)
		if err != nil || !ok || string(opaque.Raw) != line || entry.ID != "a" || entry.Parent != "p" {
			t.Errorf("Decode(%s) = %+v, %v; want it opaque", line, entry, err)
			continue
		}
		if out, err := New().Append(nil, entry); err != nil || string(out) != line {
			t.Errorf("%s is written as %s, %v", line, out, err)
		}
	}
}

func TestDecodeEnvelope(t *testing.T) {
	for _, test := range []struct {
		line string
		want firn.Entry
	}{
		{`{"type":"head"}`, firn.Entry{Body: &firn.Head{}}}, // as in version 1 files
		{`{"type":"session_info","id":"a","parentId":"-"}`, firn.Entry{ID: "a", Body: &firn.Title{}}},
		{`{"parentId":"p","id":"a","type":"head"}`, firn.Entry{ID: "a", Parent: "p", Body: &firn.Head{}}},
		{`{"type":"head","id":"a","timestamp":"2026-11-15T03:40:15.0429+01:00"}`, firn.Entry{ID: "a", Time: when, Body: &firn.Head{}}},
		{`{"type":"head","id":"a","timestamp":"noon"}`, firn.Entry{ID: "a", Body: &firn.Head{}, Extra: fields("timestamp", `"noon"`)}},
		{`{"type":"head","id":"a","timestamp":5}`, firn.Entry{ID: "a", Body: &firn.Head{}, Extra: fields("timestamp", `5`)}},
		{`{"type":"head","id":"a","timestamp":"2026-02-30T00:00:00.000Z"}`, firn.Entry{ID: "a", Body: &firn.Head{}, Extra: fields("timestamp", `"2026-02-30T00:00:00.000Z"`)}},
		{`{"type":"he\u0061d","id":"\u0061"}`, firn.Entry{ID: "a", Body: &firn.Head{}}},
		{`{"type":"session","id":"s","provider":"x"}`, firn.Entry{Body: &firn.Header{Session: "s", Version: 1}, Extra: fields("provider", `"x"`)}},
		{`{"type":"compaction","id":"a","summary":"s","firstKeptEntryIndex":3}`, firn.Entry{ID: "a", Body: &firn.Compaction{Summary: "s"}, Extra: fields("firstKeptEntryIndex", "3")}},
		{"{\"type\":\"custom\",\"customType\":\"x\",\"id\":\"a\",\"data\":[\"\xff\",\"\\u0000\"],\"\xff\":1}", firn.Entry{ID: "a", Body: &firn.Custom{Type: "x", Data: raw(`["\ufffd","\ufffd"]`)}, Extra: fields("\ufffd", "1")}},
	} {
		entry, err := New().Decode([]byte(test.line))
		if diff := cmp.Diff(test.want, entry); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", test.line, err, diff)
		}
	}
}

// TestDecodeLongLine checks that a short ID does not retain a long line, and that a long
// line is decoded like a short one.
func TestDecodeLongLine(t *testing.T) {
	long := strings.Repeat("0123456789\n\"é\"", 1000)
	for _, test := range golden {
		m, ok := test.entry.Body.(*firn.Message)
		if !ok || m.Role != firn.RoleAssistant && m.Role != firn.RoleUser {
			continue
		}
		copied := *m
		copied.Parts = append([]firn.Part{firn.Text{Text: long}}, m.Parts...)
		want := test.entry
		want.Body = &copied
		line, err := New().Append(nil, want)
		if err != nil || len(line) <= shareLimit {
			t.Fatalf("%s: %d bytes, %v", test.name, len(line), err)
		}
		got, err := New().Decode(line)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", test.name, err, diff)
		}
	}
}
