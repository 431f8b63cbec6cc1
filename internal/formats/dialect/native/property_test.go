package native

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"firn.dev"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestRoundTripOfEntries checks that an encoded entry decodes to the same entry and then
// encodes to the same bytes.
func TestRoundTripOfEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := entries().Draw(t, "entry")
		line, err := New().Append(nil, want)
		if err != nil {
			t.Fatalf("Append: %v", err)
		}
		if !json.Valid(line) || bytes.IndexByte(line, '\n') >= 0 {
			t.Fatalf("not one line of JSON: %q", line)
		}
		got, err := New().Decode(line)
		if err != nil {
			t.Fatalf("Decode(%s): %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s reads differently (-want +got)\n%s", line, diff)
		}
		again, err := New().Append(nil, got)
		if err != nil || !bytes.Equal(line, again) {
			t.Fatalf("written again it is not the same: %v\n%s\n%s", err, line, again)
		}
		glance, err := New().Glance(line)
		if err != nil || glance != firn.GlanceOf(want) {
			t.Fatalf("Glance(%s) = %+v, %v", line, glance, err)
		}
	})
}

// texts generates the texts that a log may hold: any text without NUL and invalid UTF-8.
func texts() *rapid.Generator[string] {
	return rapid.Map(rapid.OneOf(rapid.String(), rapid.StringN(0, 40, -1), rapid.SampledFrom([]string{
		"", "plain", "two\nlines\t\"quoted\" \\ /", "\x01\x1f\x7f", "<&>\u2028\u2029", "é😀\ufffd", strings.Repeat("long ", 900),
	})), func(s string) string {
		clean, _ := firn.CleanText(s)
		return clean
	})
}

// ids generates texts that are not empty and not the mark of a root.
func ids() *rapid.Generator[firn.EntryID] {
	return rapid.Map(texts(), func(s string) firn.EntryID { return firn.EntryID("i" + s) })
}

func times() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "no time") {
			return time.Time{}
		}
		// From the year 1 to the year 9999.
		return time.UnixMilli(rapid.Int64Range(-62135596799999, 253402300799999).Draw(t, "ms")).UTC()
	})
}

// values generates raw JSON values.
func values() *rapid.Generator[json.RawMessage] {
	return rapid.Map(rapid.SampledFrom([]string{
		`null`, `true`, `0`, `-1.50e+400`, `"text \ud83d\ude00 \n é"`, `{}`, `[]`, `{"b":1,"a":[{"x":"y"}, 2 ]}`, `{"type":"text","id":"no"}`,
	}), func(s string) json.RawMessage { return json.RawMessage(s) })
}

// maybe generates nil about half of the time.
func maybe(values *rapid.Generator[json.RawMessage]) *rapid.Generator[json.RawMessage] {
	return rapid.OneOf(rapid.Just(json.RawMessage(nil)), values)
}

// unknown generates members without a field; no name is a known one.
func unknown() *rapid.Generator[firn.Fields] {
	field := rapid.Custom(func(t *rapid.T) firn.Field {
		return firn.Field{Name: "x-" + texts().Draw(t, "name"), Value: values().Draw(t, "value")}
	})
	return rapid.Map(rapid.SliceOfN(field, 0, 3), func(f []firn.Field) firn.Fields {
		if len(f) == 0 {
			return nil
		}
		return f
	})
}

func entries() *rapid.Generator[firn.Entry] {
	return rapid.Custom(func(t *rapid.T) firn.Entry {
		e := firn.Entry{Time: times().Draw(t, "time"), Extra: unknown().Draw(t, "extra")}
		if rapid.IntRange(0, 19).Draw(t, "header") == 0 {
			e.Body = headers().Draw(t, "header")
			return e
		}
		e.ID = ids().Draw(t, "id")
		if rapid.Bool().Draw(t, "has parent") {
			e.Parent = ids().Draw(t, "parent")
		}
		e.Body = bodies().Draw(t, "body")
		return e
	})
}

func headers() *rapid.Generator[firn.Body] {
	return rapid.Custom(func(t *rapid.T) firn.Body {
		return &firn.Header{
			Session: firn.ID("s" + texts().Draw(t, "session")), Version: rapid.IntRange(1, 4).Draw(t, "version"), Firn: rapid.IntRange(0, 2).Draw(t, "firn"),
			CWD: texts().Draw(t, "cwd"), ParentSession: texts().Draw(t, "parent"), Agent: texts().Draw(t, "agent"), Key: texts().Draw(t, "key"),
		}
	})
}

func bodies() *rapid.Generator[firn.Body] {
	return rapid.Custom(func(t *rapid.T) firn.Body {
		text := func(name string) string { return texts().Draw(t, name) }
		details := func() json.RawMessage { return maybe(values()).Draw(t, "details") }
		hook := func() bool { return rapid.Bool().Draw(t, "hook") }
		switch rapid.IntRange(0, 14).Draw(t, "kind") {
		case 0:
			return &firn.Compaction{Summary: text("summary"), FirstKept: firn.EntryID(text("kept")), TokensBefore: rapid.Int64().Draw(t, "tokens"), Details: details(), FromHook: hook()}
		case 1:
			return &firn.BranchSummary{From: firn.EntryID(text("from")), Summary: text("summary"), Details: details(), FromHook: hook()}
		case 2:
			return &firn.Tombstone{Target: ids().Draw(t, "target"), Reason: text("reason")}
		case 3:
			return &firn.Label{Target: ids().Draw(t, "target"), Name: text("name")}
		case 4:
			return &firn.Title{Name: text("name"), Source: rapid.SampledFrom([]firn.Source{"", firn.SourceAuto, firn.SourceUser}).Draw(t, "source")}
		case 5:
			return &firn.ModelChange{Provider: text("provider"), Model: text("model")}
		case 6:
			return &firn.ThinkingChange{Level: text("level")}
		case 7:
			return &firn.Custom{Type: text("type"), Data: details()}
		case 8:
			return &firn.CustomMessage{Type: text("type"), Parts: parts().Draw(t, "parts"), Display: hook(), Details: details()}
		case 9:
			return &firn.Head{Reason: text("reason")}
		}
		return messages().Draw(t, "message")
	})
}

func messages() *rapid.Generator[firn.Body] {
	return rapid.Custom(func(t *rapid.T) firn.Body {
		text := func(name string) string { return texts().Draw(t, name) }
		m := &firn.Message{Time: times().Draw(t, "said"), Extra: unknown().Draw(t, "extra")}
		m.Role = rapid.SampledFrom([]firn.Role{firn.RoleUser, firn.RoleAssistant, firn.RoleToolResult, firn.RoleShell, firn.RoleSystem, "oracle"}).Draw(t, "role")
		switch m.Role {
		case firn.RoleToolResult:
			m.Parts = []firn.Part{firn.ToolResult{CallID: text("call"), Name: text("tool"), Content: parts().Draw(t, "content"), IsError: rapid.Bool().Draw(t, "error"), Details: maybe(values()).Draw(t, "details")}}
		case firn.RoleShell:
			m.Parts = []firn.Part{shells().Draw(t, "shell")}
		case firn.RoleAssistant:
			m.Parts = parts().Draw(t, "parts")
			m.API, m.Provider, m.Model, m.Error = text("api"), text("provider"), text("model"), text("error")
			m.StopReason = firn.StopReason(text("stop"))
			m.Usage = usages().Draw(t, "usage")
		default:
			m.Parts = parts().Draw(t, "parts")
		}
		return m
	})
}

func shells() *rapid.Generator[firn.Part] {
	return rapid.Custom(func(t *rapid.T) firn.Part {
		s := firn.Shell{
			Command: texts().Draw(t, "command"), Output: texts().Draw(t, "output"), FullOutput: texts().Draw(t, "file"),
			Cancelled: rapid.Bool().Draw(t, "cancelled"), Truncated: rapid.Bool().Draw(t, "truncated"), Hidden: rapid.Bool().Draw(t, "hidden"),
		}
		if rapid.Bool().Draw(t, "exited") {
			s.ExitCode = ptr(rapid.IntRange(-1, 255).Draw(t, "code"))
		}
		return s
	})
}

func usages() *rapid.Generator[*firn.Usage] {
	return rapid.Custom(func(t *rapid.T) *firn.Usage {
		if rapid.Bool().Draw(t, "no usage") {
			return nil
		}
		price := func(name string) float64 { return rapid.Float64Range(-1e25, 1e25).Draw(t, name) }
		return &firn.Usage{
			Input: rapid.Int64Min(1).Draw(t, "input"), Output: rapid.Int64().Draw(t, "output"), Total: rapid.Int64().Draw(t, "total"),
			CacheRead: rapid.Int64().Draw(t, "read"), CacheWrite: rapid.Int64().Draw(t, "write"),
			Cost:  firn.Cost{Input: price("i"), Output: price("o"), CacheRead: price("r"), CacheWrite: price("w"), Total: price("t")},
			Extra: unknown().Draw(t, "extra"),
		}
	})
}

// parts generates parts; nil if there are none, as in decoding.
func parts() *rapid.Generator[[]firn.Part] {
	part := rapid.Custom(func(t *rapid.T) firn.Part {
		text := func(name string) string { return texts().Draw(t, name) }
		extra := unknown().Draw(t, "extra")
		switch rapid.IntRange(0, 4).Draw(t, "part") {
		case 0:
			return firn.Image{MimeType: text("mime"), Data: text("data"), Extra: extra}
		case 1:
			return firn.Thinking{Text: text("text"), Signature: text("signature"), Redacted: rapid.Bool().Draw(t, "redacted"), Extra: extra}
		case 2:
			return firn.ToolCall{ID: text("id"), Name: text("name"), Arguments: values().Draw(t, "arguments"), Signature: text("signature"), Extra: extra}
		case 3:
			return firn.OpaquePart{Type: "video", Raw: json.RawMessage(`{"type":"video","n":1.50}`)}
		}
		return firn.Text{Text: text("text"), Signature: text("signature"), Extra: extra}
	})
	return rapid.Map(rapid.SliceOfN(part, 0, 6), func(p []firn.Part) []firn.Part {
		if len(p) == 0 {
			return nil
		}
		return p
	})
}
