package rawjson

import (
	"strings"
	"testing"
)

// toolResult returns a typical line of a session: the output of a tool, as text with line
// breaks and some quotes.
func toolResult(lines int) []byte {
	text := strings.Repeat("func (r *Reader) walk(at int) error { return r.fail(at, \"no\") }\n\tif err != nil {\n", lines)
	line := []byte(`{"type":"message","id":"3fb8ea63","parentId":"eadb755a","timestamp":"2026-11-15T02:40:15.045Z","message":{"role":"toolResult","toolCallId":"toolu_1","toolName":"read","content":[{"type":"text","text":`)
	line = AppendString(line, text)
	return append(line, `}],"isError":false,"timestamp":1770000003000}}`...)
}

func BenchmarkSkip(b *testing.B) {
	line := toolResult(100)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Valid(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSkipPlain(b *testing.B) {
	line := append(AppendString([]byte(`{"data":`), strings.Repeat("aGVsbG8gd29ybGQ", 4000)), '}')
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Valid(line); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkText(b *testing.B) {
	line := toolResult(100)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if texts(line) != 9 {
			b.Fatal("the line does not read as it was written")
		}
	}
}

// texts decodes all strings of a line and counts them.
func texts(line []byte) (n int) {
	r := New(line)
	var walk func()
	walk = func() {
		switch {
		case r.Object():
			for r.Member() {
				walk()
			}
		case r.Array():
			for r.Element() {
				walk()
			}
		case r.Kind() == String:
			r.Text()
			n++
		default:
			r.Skip()
		}
	}
	walk()
	return n
}

func BenchmarkAppendString(b *testing.B) {
	text := strings.Repeat("func (r *Reader) walk(at int) error { return r.fail(at, \"no\") }\n\tif err != nil {\n", 100)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = AppendString(dst[:0], text)
	}
}

func BenchmarkSplitHostile(b *testing.B) {
	line := []byte(strings.Repeat(`{"{"a":{"`, 1<<16))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		Split(line)
	}
}
