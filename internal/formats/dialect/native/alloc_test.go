package native

import (
	"strings"
	"testing"

	"firn.dev"
)

// typical are common lines of sessions.
var typical = []struct {
	name, line     string
	decode, glance float64
}{
	{"user", `{"type":"message","id":"a0e20a66","parentId":"bd09aaed","timestamp":"2026-11-15T02:45:47.243Z","message":{"role":"user","content":[{"type":"text","text":"read the file docs/format.md in full,\nthen tell me what is missing"}],"timestamp":1794710747206}}`, 4, 1},
	{"tool result", `{"type":"message","id":"f83cdcc7","parentId":"58dd95f6","timestamp":"2026-11-15T02:45:52.778Z","message":{"role":"toolResult","toolCallId":"call_0004_1","toolName":"bash","content":[{"type":"text","text":"hello-from-bash\n\n\nCommand exited with code 1"}],"details":{"exitCode":1},"isError":true,"timestamp":1794710752777}}`, 7, 1},
	{"assistant", `{"type":"message","id":"eadb755a","parentId":"544dd067","timestamp":"2026-11-15T02:40:15.043Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"First I look at the file,\nthen at what it says.","thinkingSignature":"c2ln` + strings.Repeat("QUJD", 60) + `"},{"type":"text","text":"I'll read the theme documentation first.\n"},{"type":"toolCall","id":"toolu_01AbCdEfGh","name":"read","arguments":{"path":"docs/theme.md","limit":200}}],"api":"anthropic-messages","provider":"anthropic","model":"claude-test","usage":{"input":150,"output":10,"cacheRead":1200,"cacheWrite":0,"totalTokens":1360,"cost":{"input":0.00045,"output":0.00015,"cacheRead":0.00036,"cacheWrite":0,"total":0.00096}},"stopReason":"toolUse","timestamp":1770000002000,"responseId":"msg_01"}}`, 10, 1},
	{"title", `{"type":"session_info","id":"fa913918","parentId":"aa44fd3c","timestamp":"2026-11-15T02:40:15.045Z","name":"Named Session"}`, 2, 1},
	{"custom", `{"type":"custom","customType":"ext-state","data":{"n":1},"id":"0d72b6dd","parentId":"95a227fe","timestamp":"2026-11-15T02:40:15.045Z"}`, 3, 1},
	{"compaction", `{"type":"compaction","id":"6c7def0b","parentId":"c6531122","timestamp":"2026-11-15T02:45:57.891Z","summary":"What was done:\n- all of it","firstKeptEntryId":"413e1cca","tokensBefore":38598,"details":{"readFiles":["/a"]}}`, 4, 1},
}

func TestAllocations(t *testing.T) {
	d := New()
	for _, test := range typical {
		line := []byte(test.line)
		entry, err := d.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if _, opaque := entry.Body.(*firn.Opaque); opaque {
			t.Fatalf("%s: it is not read", test.name)
		}
		if n := testing.AllocsPerRun(200, func() { d.Decode(line) }); n > test.decode {
			t.Errorf("%s: Decode allocates %v times, at most %v are allowed", test.name, n, test.decode)
		}
		if n := testing.AllocsPerRun(200, func() { d.Glance(line) }); n > test.glance {
			t.Errorf("%s: Glance allocates %v times, at most %v are allowed", test.name, n, test.glance)
		}
		dst := make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(200, func() { d.Append(dst, entry) }); n > 0 {
			t.Errorf("%s: Append allocates %v times", test.name, n)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	d := New()
	for _, test := range typical[:3] {
		b.Run(test.name, func(b *testing.B) {
			line := []byte(test.line)
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				d.Decode(line)
			}
		})
	}
}

func BenchmarkGlance(b *testing.B) {
	d := New()
	for _, test := range typical {
		b.Run(test.name, func(b *testing.B) {
			line := []byte(test.line)
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				d.Glance(line)
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	d := New()
	for _, test := range typical[:3] {
		b.Run(test.name, func(b *testing.B) {
			entry, err := d.Decode([]byte(test.line))
			if err != nil {
				b.Fatal(err)
			}
			var dst []byte
			b.SetBytes(int64(len(test.line)))
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = d.Append(dst[:0], entry)
			}
		})
	}
}
