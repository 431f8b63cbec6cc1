package native

import (
	"encoding/json"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect/dialecttest"

	"github.com/google/go-cmp/cmp"
)

var (
	when   = time.Date(2026, 11, 15, 2, 40, 15, 42e6, time.UTC)
	sentAt = time.UnixMilli(1770000001000).UTC()
)

func ptr[T any](v T) *T { return &v }

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// golden pairs entries with their encoded lines. Most lines are pi's own.
var golden = []struct {
	name  string
	entry firn.Entry
	line  string
}{
	{"header of pi", firn.Entry{Time: when, Body: &firn.Header{Session: "b8d5", Version: 3, CWD: "/home/u"}},
		`{"type":"session","version":3,"id":"b8d5","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/home/u"}`},
	{"header of ours", firn.Entry{Time: when, Body: &firn.Header{Session: "b8d5", Version: 3, Firn: 1, CWD: "/", ParentSession: "/p.jsonl", Agent: "main", Key: "agent:main:main"}},
		`{"type":"session","version":3,"id":"b8d5","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/","parentSession":"/p.jsonl","firn":1,"agent":"main","key":"agent:main:main"}`},
	{"user", firn.Entry{ID: "a0", Parent: "bd", Time: when, Body: &firn.Message{Role: firn.RoleUser, Time: sentAt, Parts: []firn.Part{
		firn.Text{Text: "look \"here\"\n<&>\u2028"}, firn.Image{Data: "aGk=", MimeType: "image/png"}}}},
		`{"type":"message","id":"a0","parentId":"bd","timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"user","content":[{"type":"text","text":"look \"here\"\n<&>` + "\u2028" + `"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"timestamp":1770000001000}}`},
	{"assistant", firn.Entry{ID: "ea", Parent: "54", Time: when, Body: &firn.Message{Role: firn.RoleAssistant, Time: sentAt,
		API: "anthropic-messages", Provider: "anthropic", Model: "claude-test", StopReason: firn.StopToolUse,
		Usage: &firn.Usage{Input: 150, Output: 10, CacheRead: 3, CacheWrite: 4, Total: 167, Cost: firn.Cost{Input: 0.00045, Output: 1.5e-7, Total: 0.0135}},
		Parts: []firn.Part{
			firn.Thinking{Text: "consider", Signature: "c2ln"},
			firn.Thinking{Signature: "x", Redacted: true},
			firn.Text{Text: "reading", Signature: "msg_1"},
			firn.ToolCall{ID: "toolu_1", Name: "read", Arguments: raw(`{"path":"a.txt","n":1.50}`), Signature: "t"},
		},
		Extra: firn.Fields{{Name: "responseId", Value: raw(`"chatcmpl-1"`)}}}},
		`{"type":"message","id":"ea","parentId":"54","timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"consider","thinkingSignature":"c2ln"},{"type":"thinking","thinking":"","thinkingSignature":"x","redacted":true},{"type":"text","text":"reading","textSignature":"msg_1"},{"type":"toolCall","id":"toolu_1","name":"read","arguments":{"path":"a.txt","n":1.50},"thoughtSignature":"t"}],"api":"anthropic-messages","provider":"anthropic","model":"claude-test","usage":{"input":150,"output":10,"cacheRead":3,"cacheWrite":4,"totalTokens":167,"cost":{"input":0.00045,"output":1.5e-7,"cacheRead":0,"cacheWrite":0,"total":0.0135}},"stopReason":"toolUse","timestamp":1770000001000,"responseId":"chatcmpl-1"}}`},
	{"assistant with no more than must be", firn.Entry{ID: "a", Body: &firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopAborted, Time: sentAt, Error: "Request was aborted"}},
		`{"type":"message","id":"a","parentId":null,"message":{"role":"assistant","content":[],"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"aborted","timestamp":1770000001000,"errorMessage":"Request was aborted"}}`},
	{"tool result", firn.Entry{ID: "3f", Parent: "ea", Time: when, Body: &firn.Message{Role: firn.RoleToolResult, Time: sentAt, Parts: []firn.Part{
		firn.ToolResult{CallID: "toolu_1", Name: "bash", Content: []firn.Part{firn.Text{Text: "no\n"}}, IsError: true, Details: raw(`{"exitCode":1}`)}}}},
		`{"type":"message","id":"3f","parentId":"ea","timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"toolResult","toolCallId":"toolu_1","toolName":"bash","content":[{"type":"text","text":"no\n"}],"details":{"exitCode":1},"isError":true,"timestamp":1770000001000}}`},
	{"shell", firn.Entry{ID: "90", Parent: "14", Time: when, Body: &firn.Message{Role: firn.RoleShell, Time: sentAt, Parts: []firn.Part{
		firn.Shell{Command: "ls", Output: "a\n", ExitCode: ptr(0), Truncated: true, FullOutput: "/tmp/x", Hidden: true}}}},
		`{"type":"message","id":"90","parentId":"14","timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"bashExecution","command":"ls","output":"a\n","exitCode":0,"cancelled":false,"truncated":true,"fullOutputPath":"/tmp/x","timestamp":1770000001000,"excludeFromContext":true}}`},
	{"an unknown role", firn.Entry{ID: "a", Time: when, Body: &firn.Message{Role: "oracle", Extra: firn.Fields{{Name: "omen", Value: raw(`[1]`)}}}},
		`{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"oracle","omen":[1]}}`},
	{"an unknown part and unknown members", firn.Entry{ID: "a", Time: when, Extra: firn.Fields{{Name: "z", Value: raw(`1`)}, {Name: "y", Value: raw(`2`)}}, Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{
		firn.OpaquePart{Type: "video", Raw: raw(`{"type":"video","url":"x"}`)}, firn.Text{Text: "t", Extra: firn.Fields{{Name: "lang", Value: raw(`"en"`)}}}}}},
		`{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z","message":{"role":"user","content":[{"type":"video","url":"x"},{"type":"text","text":"t","lang":"en"}]},"z":1,"y":2}`},
	{"compaction", firn.Entry{ID: "6c", Parent: "c6", Time: when, Body: &firn.Compaction{Summary: "S", FirstKept: "41", TokensBefore: 38598, Details: raw(`{"readFiles":[]}`), FromHook: true}},
		`{"type":"compaction","id":"6c","parentId":"c6","timestamp":"2026-11-15T02:40:15.042Z","summary":"S","firstKeptEntryId":"41","tokensBefore":38598,"details":{"readFiles":[]},"fromHook":true}`},
	{"branch summary", firn.Entry{ID: "ae", Parent: "95", Time: when, Body: &firn.BranchSummary{From: "95", Summary: "S", Details: raw(`null`)}},
		`{"type":"branch_summary","id":"ae","parentId":"95","timestamp":"2026-11-15T02:40:15.042Z","fromId":"95","summary":"S","details":null}`},
	{"tombstone", firn.Entry{ID: "t", Parent: "95", Time: when, Body: &firn.Tombstone{Target: "94", Reason: "wrong"}},
		`{"type":"tombstone","id":"t","parentId":"95","timestamp":"2026-11-15T02:40:15.042Z","targetId":"94","reason":"wrong"}`},
	{"label", firn.Entry{ID: "14", Parent: "fa", Time: when, Body: &firn.Label{Target: "95", Name: "checkpoint"}},
		`{"type":"label","id":"14","parentId":"fa","timestamp":"2026-11-15T02:40:15.042Z","targetId":"95","label":"checkpoint"}`},
	{"label taken away", firn.Entry{ID: "14", Parent: "fa", Time: when, Body: &firn.Label{Target: "95"}},
		`{"type":"label","id":"14","parentId":"fa","timestamp":"2026-11-15T02:40:15.042Z","targetId":"95"}`},
	{"title", firn.Entry{ID: "fa", Parent: "aa", Time: when, Body: &firn.Title{Name: "Named", Source: firn.SourceAuto}},
		`{"type":"session_info","id":"fa","parentId":"aa","timestamp":"2026-11-15T02:40:15.042Z","name":"Named","source":"auto"}`},
	{"model", firn.Entry{ID: "16", Time: when, Body: &firn.ModelChange{Provider: "anthropic", Model: "claude-test"}},
		`{"type":"model_change","id":"16","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z","provider":"anthropic","modelId":"claude-test"}`},
	{"thinking level", firn.Entry{ID: "48", Parent: "16", Time: when, Body: &firn.ThinkingChange{Level: "medium"}},
		`{"type":"thinking_level_change","id":"48","parentId":"16","timestamp":"2026-11-15T02:40:15.042Z","thinkingLevel":"medium"}`},
	{"custom", firn.Entry{ID: "0d", Parent: "95", Time: when, Body: &firn.Custom{Type: "ext-state", Data: raw(`{"n":1}`)}},
		`{"type":"custom","customType":"ext-state","data":{"n":1},"id":"0d","parentId":"95","timestamp":"2026-11-15T02:40:15.042Z"}`},
	{"custom message", firn.Entry{ID: "aa", Parent: "0d", Time: when, Body: &firn.CustomMessage{Type: "note", Parts: []firn.Part{firn.Text{Text: "x"}}, Display: true, Details: raw(`{"k":1}`)}},
		`{"type":"custom_message","customType":"note","content":[{"type":"text","text":"x"}],"display":true,"details":{"k":1},"id":"aa","parentId":"0d","timestamp":"2026-11-15T02:40:15.042Z"}`},
	{"head", firn.Entry{ID: "h", Parent: "95", Time: when, Body: &firn.Head{Reason: "rewind"}},
		`{"type":"head","id":"h","parentId":"95","timestamp":"2026-11-15T02:40:15.042Z","reason":"rewind"}`},
	{"opaque", firn.Entry{ID: "u", Parent: "h", Time: when, Body: &firn.Opaque{Type: "usage", Raw: raw(`{"type":"usage" ,"id":"u","parentId":"h","timestamp":"2026-11-15T02:40:15.042Z","n":1e400} `)}},
		`{"type":"usage" ,"id":"u","parentId":"h","timestamp":"2026-11-15T02:40:15.042Z","n":1e400} `},
	{"erased", firn.Entry{ID: "u", Parent: "h", Body: &firn.Opaque{Type: firn.KindErased, Raw: raw(`{"type":"erased","id":"u","parentId":"h"}        `)}},
		`{"type":"erased","id":"u","parentId":"h"}        `},
}

func TestGolden(t *testing.T) {
	for _, test := range golden {
		got, err := New().Append(nil, test.entry)
		if err != nil || string(got) != test.line {
			t.Errorf("%s: Append = %v\n got %s\nwant %s", test.name, err, got, test.line)
		}
		entry, err := New().Decode([]byte(test.line))
		if diff := cmp.Diff(test.entry, entry); err != nil || diff != "" {
			t.Errorf("%s: Decode = %v (-want +got)\n%s", test.name, err, diff)
		}
	}
}

// TestAppendKeepsMeaning checks that an entry that is normalized by encoding keeps its meaning.
func TestAppendKeepsMeaning(t *testing.T) {
	user := func(m firn.Message) firn.Entry {
		m.Role = firn.RoleUser
		return firn.Entry{ID: "a", Body: &m}
	}
	for _, test := range []struct {
		name  string
		entry firn.Entry
		line  string
	}{
		{"a root may be named", firn.Entry{ID: "a", Parent: firn.Root, Body: &firn.Head{}}, `{"type":"head","id":"a","parentId":null}`},
		{"the default version is the current one", firn.Entry{Body: &firn.Header{Session: "s"}}, `{"type":"session","version":3,"id":"s","cwd":""}`},
		{"times are in UTC and cut to milliseconds", firn.Entry{ID: "a", Time: when.Add(999 * time.Microsecond).In(time.FixedZone("", 3600)), Body: &firn.Head{}},
			`{"type":"head","id":"a","parentId":null,"timestamp":"2026-11-15T02:40:15.042Z"}`},
		{"text is cleaned", user(firn.Message{Parts: []firn.Part{firn.Text{Text: "a\x00b\xff"}}}),
			`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":[{"type":"text","text":"a` + "\ufffdb\ufffd" + `"}]}}`},
		{"raw values are cleaned and on one line", user(firn.Message{Parts: []firn.Part{firn.ToolCall{ID: "1", Name: "n", Arguments: raw("{\n \"a\": \"\\ud800\"\n}")}}}),
			`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":[{"type":"toolCall","id":"1","name":"n","arguments":{ "a": "\ufffd"}}]}}`},
		{"no arguments are empty ones", user(firn.Message{Parts: []firn.Part{firn.ToolCall{ID: "1", Name: "n"}}}),
			`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":[{"type":"toolCall","id":"1","name":"n","arguments":{}}]}}`},
		{"a usage that did not fit the fields", firn.Entry{ID: "a", Body: &firn.Message{Role: firn.RoleAssistant, Extra: firn.Fields{{Name: "usage", Value: raw(`{"input":"many"}`)}}}},
			`{"type":"message","id":"a","parentId":null,"message":{"role":"assistant","content":[],"usage":{"input":"many"}}}`},
	} {
		got, err := New().Append(nil, test.entry)
		if err != nil || string(got) != test.line {
			t.Errorf("%s: Append = %v\n got %s\nwant %s", test.name, err, got, test.line)
		}
		back, err := New().Decode(got)
		if err != nil {
			t.Errorf("%s: it cannot be read: %v", test.name, err)
			continue
		}
		if again, err := New().Append(nil, back); err != nil || string(again) != test.line {
			t.Errorf("%s: read as %s, it is written as %s, %v", test.name, dialecttest.Describe(back), again, err)
		}
	}
}
