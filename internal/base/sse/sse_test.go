package sse_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"firn.dev"
	"firn.dev/internal/base/sse"
)

// event is a copy of an [sse.Event] that stays valid after the next one is read.
type event struct{ id, name, data string }

func read(r io.Reader) ([]event, error) {
	var events []event
	for e, err := range sse.Read(r) {
		if err != nil {
			return events, err
		}
		events = append(events, event{e.ID, e.Name, string(e.Data)})
	}
	return events, nil
}

// streams are inputs, with \n for every line end, and the events read from them.
var streams = []struct {
	name, sent string
	want       []event
}{
	{"nothing", "", nil},
	{"one", "data: a\n\n", []event{{data: "a"}}},
	{"two", "event: x\ndata: a\n\nevent: y\ndata: b\n\n", []event{{name: "x", data: "a"}, {name: "y", data: "b"}}},
	{"no space", "data:a\n\n", []event{{data: "a"}}},
	{"two spaces", "data:  a \n\n", []event{{data: " a "}}},
	{"colons", "data: a:b: c\n\n", []event{{data: "a:b: c"}}},
	{"lines", "data: a\ndata\ndata: b\n\n", []event{{data: "a\n\nb"}}},
	{"empty data", "data\n\n", []event{{}}},
	{"empty line of data", "data:\n\n", []event{{}}},
	{"no data", "event: x\nid: 1\n\ndata: a\n\n", []event{{id: "1", data: "a"}}},
	{"id stays", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []event{{id: "1", data: "a"}, {id: "1", data: "b"}, {data: "c"}}},
	{"id with NUL", "id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", []event{{id: "1", data: "a"}, {id: "1", data: "b"}}},
	{"comments", ": hello\n\n:\ndata: a\n: in between\ndata: b\n\n", []event{{data: "a\nb"}}},
	{"retry and unknown fields", "retry: 10\nwhat: ever\ndata: a\nDATA: b\n data: c\n\n", []event{{data: "a"}}},
	{"byte order mark", "\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n", []event{{data: "a"}, {data: "c"}}},
	{"only a byte order mark", "\xef\xbb\xbf\n\ndata: a\n\n", []event{{data: "a"}}},
	{"many empty lines", "\n\n\n\ndata: a\n\n\n\n", []event{{data: "a"}}},
	{"not text", "data: \xff\x00\xfe\n\n", []event{{data: "\xff\x00\xfe"}}},
	{"ends in the middle of an event", "data: a\n\ndata: b\n", []event{{data: "a"}}},
	{"ends in the middle of a line", "data: a\n\ndata: b", []event{{data: "a"}}},
	{"ends in the middle of a name", "data: a\n\nda", []event{{data: "a"}}},
	{"Anthropic", "event: content_block_delta\ndata: {\"type\":\"content_block_delta\"}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n", []event{{name: "content_block_delta", data: `{"type":"content_block_delta"}`}, {name: "ping", data: `{"type": "ping"}`}}},
	{"OpenAI", "data: {\"a\":1}\n\ndata: [DONE]\n\n", []event{{data: `{"a":1}`}, {data: "[DONE]"}}},
	{"OpenRouter", ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: {}\n\n", []event{{data: "{}"}}},
}

// TestRead checks that each stream is read the same with every kind of line end and however
// the network splits it.
func TestRead(t *testing.T) {
	for _, tt := range streams {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			sent := strings.ReplaceAll(tt.sent, "\n", end)
			check := func(how string, r io.Reader) {
				t.Helper()
				if got, err := read(r); err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("%s, lines end in %q, %s: got %q, %v; want %q", tt.name, end, how, got, err, tt.want)
				}
			}
			check("whole", strings.NewReader(sent))
			check("byte by byte", iotest.OneByteReader(strings.NewReader(sent)))
			check("in halves", iotest.HalfReader(strings.NewReader(sent)))
			check("with the end", iotest.DataErrReader(strings.NewReader(sent)))
			for i := range len(sent) {
				check("in two", io.MultiReader(strings.NewReader(sent[:i]), strings.NewReader(sent[i:])))
			}
		}
	}
}

// TestReadMixedEnds checks that line ends may be mixed.
func TestReadMixedEnds(t *testing.T) {
	got, err := read(strings.NewReader("data: a\r\ndata: b\rdata: c\n\rdata: d\r\r\ndata: e\n\n\r\n\r"))
	want := []event{{data: "a\nb\nc"}, {data: "d"}, {data: "e"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestReadLongLines checks that lines longer than the read buffer are read whole.
func TestReadLongLines(t *testing.T) {
	for _, n := range []int{100, 16<<10 - 7, 16<<10 - 6, 16 << 10, 16<<10 + 1, 100_000} {
		long := strings.Repeat("x", n)
		got, err := read(strings.NewReader("data: " + long + "\r\ndata: y\r\n\r\ndata: z\n\n"))
		if want := []event{{data: long + "\ny"}, {data: "z"}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%d bytes: got %.50q, %v", n, got, err)
		}
	}
}

// TestReadIsPrompt checks that an event is returned as soon as its last line arrives, not
// when the next event begins.
func TestReadIsPrompt(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		r, w := io.Pipe()
		next := make(chan string)
		go func() {
			defer close(next)
			for e, err := range sse.Read(r) {
				if err != nil {
					t.Error(err)
				}
				next <- string(e.Data)
			}
		}()
		for _, data := range []string{"a", "b"} {
			io.WriteString(w, "data: "+data+end+end)
			if got := <-next; got != data {
				t.Errorf("lines end in %q: got %q, want %q", end, got, data)
			}
		}
		w.Close()
		<-next
	}
}

func TestReadFails(t *testing.T) {
	broken := errors.New("the line is dead")
	for _, sent := range []string{"", "data: a\n\n", "data: a\n\ndata: b\n", "data: a\n\ndata: b"} {
		got, err := read(io.MultiReader(strings.NewReader(sent), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || len(got) > 1 || sent != "" && len(got) != 1 {
			t.Errorf("%q: got %q, %v", sent, got, err)
		}
	}
	if _, err := read(iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken connection is treated as an end: %v", err)
	}
}

// endless repeats a text forever.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], e.text[e.at:])
		n += c
		e.at = (e.at + c) % len(e.text)
	}
	return n, nil
}

func TestReadIsBounded(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"a line that never ends":   &endless{text: "data: " + strings.Repeat("x", 9000)},
		"an event that never ends": &endless{text: "data: " + strings.Repeat("x", 9000) + "\n"},
	} {
		if got, err := read(r); !errors.Is(err, firn.ErrTooLarge) || len(got) > 0 {
			t.Errorf("%s: got %d events, %v", name, len(got), err)
		}
	}
	// Comments do not count toward the limit.
	quiet := io.LimitReader(&endless{text: ": " + strings.Repeat("x", 9000) + "\n"}, sse.MaxEvent+sse.MaxEvent/8)
	got, err := read(io.MultiReader(quiet, strings.NewReader("\n\ndata: a\n\n")))
	if err != nil || !slices.Equal(got, []event{{data: "a"}}) {
		t.Errorf("after many comments: %q, %v", got, err)
	}
}

func TestReadStops(t *testing.T) {
	n := 0
	for range sse.Read(&endless{text: "data: a\n\n"}) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("%d events", n)
	}
}

func TestAppend(t *testing.T) {
	tests := []struct {
		e    sse.Event
		want string
	}{
		{sse.Event{}, "data: \n\n"},
		{sse.Event{ID: "7", Name: "n", Data: []byte("a")}, "id: 7\nevent: n\ndata: a\n\n"},
		{sse.Event{Data: []byte("a\nb\r\nc\rd\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"},
		{sse.Event{ID: "a\nb", Name: "c\rd"}, "id: a b\nevent: c d\ndata: \n\n"},
		{sse.Event{ID: "a\x00b"}, "data: \n\n"},
	}
	for _, tt := range tests {
		if got := sse.Append([]byte("x"), tt.e); string(got) != "x"+tt.want {
			t.Errorf("%+v: got %q, want %q", tt.e, got, tt.want)
		}
	}
}

// FuzzRead checks that appended events are read back, and that malformed input does no
// harm.
func FuzzRead(f *testing.F) {
	for _, s := range streams {
		f.Add("1", "name", []byte(s.sent), uint8(3))
	}
	f.Add("\r", "\n", []byte("a\r\n\r\nb"), uint8(0))
	f.Fuzz(func(t *testing.T, id, name string, data []byte, step uint8) {
		whole, err := read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		cut, err := read(&stepper{data, int(step) + 1})
		if err != nil || !slices.Equal(cut, whole) {
			t.Errorf("cut into pieces it reads %q, %v; whole %q", cut, err, whole)
		}
		sent := sse.Append(nil, sse.Event{ID: id, Name: name, Data: data})
		sent = sse.Append(sent, sse.Event{Data: []byte("next")})
		got, err := read(bytes.NewReader(sent))
		line := strings.NewReplacer("\r", " ", "\n", " ")
		wantID := line.Replace(id)
		if strings.Contains(id, "\x00") {
			wantID = ""
		}
		want := []event{{wantID, line.Replace(name), strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))}, {id: wantID, data: "next"}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	})
}

// stepper returns a few bytes at a time.
type stepper struct {
	rest []byte
	step int
}

func (s *stepper) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest[:min(s.step, len(s.rest))])
	s.rest = s.rest[n:]
	return n, nil
}

func BenchmarkRead(b *testing.B) {
	delta := "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" and so on"}}` + "\n\n"
	stream := []byte(strings.Repeat(delta, 1000))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range sse.Read(bytes.NewReader(stream)) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 1000 {
			b.Fatalf("%d events", n)
		}
	}
}
