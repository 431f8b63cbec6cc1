package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/provider"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func compare(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}

// testInfo returns a model with prices that are easy to calculate with.
func testInfo() provider.Info {
	return provider.Info{
		Provider: "anthropic", API: API, Name: "claude-test", Profile: window.Anthropic(),
		Spec: provider.Spec{Window: 200_000, MaxOutput: 64_000, Thinks: true, Price: provider.Price{Input: 4, Output: 20, CacheRead: 0.4, CacheWrite: 5}},
	}
}

// streams returns the recorded answers by name.
func streams(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/streams/*.sse")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d streams: %v", len(files), err)
	}
	all := make(map[string][]byte)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".sse")] = data
	}
	return all
}

// story formats an answer as lines: its deltas, and how it ended.
func story(events func(func(provider.Event, error) bool)) []byte {
	var b bytes.Buffer
	for event, err := range events {
		switch e := event.(type) {
		case nil:
			writeError(&b, err)
		case provider.TextDelta:
			fmt.Fprintf(&b, "text %q\n", e.Text)
		case provider.ThinkingDelta:
			fmt.Fprintf(&b, "thinking %q\n", e.Text)
		case provider.CallDelta:
			fmt.Fprintf(&b, "call %s %s %q\n", e.ID, e.Name, e.Arguments)
		case provider.Done:
			writeMessage(&b, e.Message)
		default:
			fmt.Fprintf(&b, "%T\n", event)
		}
	}
	return b.Bytes()
}

func writeError(b *bytes.Buffer, err error) {
	var e *provider.Error
	if !errors.As(err, &e) {
		fmt.Fprintf(b, "error %v\n", err)
		return
	}
	fmt.Fprintf(b, "error %s, began %v, status %d, code %q: %v\n", e.Kind, e.Partial, e.Status, e.Code, e)
}

func writeMessage(b *bytes.Buffer, m firn.Message) {
	fmt.Fprintf(b, "done %s by %s/%s/%s, stop %s %s\n", m.Role, m.API, m.Provider, m.Model, m.StopReason, m.Error)
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.ToolCall:
			fmt.Fprintf(b, "  call %s %s %s\n", p.ID, p.Name, p.Arguments)
		case firn.OpaquePart:
			fmt.Fprintf(b, "  opaque %s %s\n", p.Type, p.Raw)
		case firn.Thinking:
			fmt.Fprintf(b, "  thinking %q, signature %q, redacted %v\n", p.Text, p.Signature, p.Redacted)
		case firn.Text:
			fmt.Fprintf(b, "  text %q\n", p.Text)
		default:
			fmt.Fprintf(b, "  %#v\n", part)
		}
	}
	u := m.Usage
	fmt.Fprintf(b, "  tokens: %d in, %d out, %d read, %d written, %d in all\n", u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Total)
	fmt.Fprintf(b, "  cost: %.6f in, %.6f out, %.6f read, %.6f written, %.6f in all\n", u.Cost.Input, u.Cost.Output, u.Cost.CacheRead, u.Cost.CacheWrite, u.Cost.Total)
}

func TestStreams(t *testing.T) {
	for name, data := range streams(t) {
		t.Run(name, func(t *testing.T) {
			got := story(read(bytes.NewReader(data), testInfo()))
			compare(t, "testdata/streams/"+name+".golden", got)
		})
	}
}

// TestStreamsOverHTTP checks that an answer over the network gives the same result.
func TestStreamsOverHTTP(t *testing.T) {
	for name, data := range streams(t) {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
				for len(data) > 0 {
					n := min(100, len(data))
					w.Write(data[:n])
					w.(http.Flusher).Flush()
					data = data[n:]
				}
			}))
			defer server.Close()
			want := story(read(bytes.NewReader(data), testInfo()))
			m := New(Options{Name: "claude-test", Key: "k", URL: server.URL, Spec: testInfo().Spec})
			if got := story(m.Stream(t.Context(), ask("Hello?"))); !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// ask returns a request with one message.
func ask(text string) provider.Request {
	info := testInfo()
	path := window.Path{Entries: []firn.Entry{firn.UserText(text)}}
	return provider.Request{Window: window.Build(path, window.Options{Profile: info.Profile, Ask: info.Ask()})}
}

// TestStreamsInPieces checks that the result does not depend on how the network splits an
// answer.
func TestStreamsInPieces(t *testing.T) {
	for name, data := range streams(t) {
		t.Run(name, func(t *testing.T) {
			want := story(read(bytes.NewReader(data), testInfo()))
			if got := story(read(iotest.OneByteReader(bytes.NewReader(data)), testInfo())); !bytes.Equal(got, want) {
				t.Errorf("a byte at a time: got\n%s\nwant\n%s", got, want)
			}
			for at := range data {
				chunks := io.MultiReader(bytes.NewReader(data[:at]), bytes.NewReader(data[at:]))
				if got := story(read(chunks, testInfo())); !bytes.Equal(got, want) {
					t.Fatalf("cut in two at %d: got\n%s\nwant\n%s", at, got, want)
				}
			}
		})
	}
}

// wholeAt returns the offset at which an answer is complete, or more than its length if it
// never is. The line feed after a carriage return is not required.
func wholeAt(data []byte) int {
	stop := bytes.Index(data, []byte("event: message_stop"))
	if stop < 0 {
		return len(data) + 1
	}
	if i := bytes.Index(data[stop:], []byte("\r\n\r")); i >= 0 {
		return stop + i + 3
	}
	return stop + bytes.Index(data[stop:], []byte("\n\n")) + 2
}

var errCable = errors.New("connection reset")

// TestStreamsCutOff checks that an answer truncated at any byte is never done, whether the
// connection broke or ended regularly.
func TestStreamsCutOff(t *testing.T) {
	for name, data := range streams(t) {
		t.Run(name, func(t *testing.T) {
			whole := wholeAt(data)
			if name == "refusal" {
				whole = len(data) + 1 // it ends in an error of its own
			}
			for at := range len(data) + 1 {
				closed := bytes.NewReader(data[:at])
				broken := io.MultiReader(bytes.NewReader(data[:at]), iotest.ErrReader(errCable))
				for _, r := range []io.Reader{closed, broken} {
					checkCut(t, r, at, whole)
				}
			}
		})
	}
}

func checkCut(t *testing.T, r io.Reader, at, whole int) {
	t.Helper()
	var last error
	done := false
	for event, err := range read(r, testInfo()) {
		if last != nil || done {
			t.Fatalf("cut at %d: an event follows the end", at)
		}
		last = err
		_, done = event.(provider.Done)
	}
	switch {
	case done != (at >= whole):
		t.Fatalf("cut at %d, complete at %d: done %v, error %v", at, whole, done, last)
	case !done && last == nil:
		t.Fatalf("cut at %d: neither done nor an error", at)
	case !done && !errors.Is(last, errCable) && provider.KindOf(last) == "":
		t.Fatalf("cut at %d: the error is not the provider's: %v", at, last)
	}
}

func TestInvalidStreams(t *testing.T) {
	event := func(data string) string { return string(sse.Append(nil, sse.Event{Data: []byte(data)})) }
	begin := event(`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`)
	end := event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`) + event(`{"type":"message_stop"}`)
	block := event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	cases := map[string]string{
		"not JSON":                begin + event(`{"type":`) + end,
		"a page":                  "<html>502 Bad Gateway</html>\n\n",
		"a plain answer":          `{"type":"message","content":[{"type":"text","text":"Hi"}]}` + "\n",
		"nothing":                 "",
		"no beginning":            end,
		"no reason":               begin + event(`{"type":"message_stop"}`),
		"a delta of nothing":      begin + event(`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}`) + end,
		"the end of nothing":      begin + event(`{"type":"content_block_stop","index":3}`) + end,
		"a block twice":           begin + block + block + end,
		"a block that is none":    begin + event(`{"type":"content_block_start","index":0,"content_block":7}`) + end,
		"a block that is missing": begin + event(`{"type":"content_block_start","index":0}`) + end,
		"a call without a name":   begin + event(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","input":{}}}`) + end,
		"text that is a number":   begin + block + event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}`) + end,
		"usage of another form":   event(`{"type":"message_start","message":{"usage":[]}}`) + end,
	}
	for name, stream := range cases {
		t.Run(name, func(t *testing.T) {
			var last error
			for _, err := range read(strings.NewReader(stream), testInfo()) {
				last = err
			}
			var failure *provider.Error
			if !errors.As(last, &failure) || failure.Kind != provider.Temporary || !failure.Partial {
				t.Errorf("the error is %v, want a temporary one with Partial set", last)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 505) + "1" + strings.Repeat("}", 505)
	cases := map[string]string{
		``: `{}`, "  \n": `{}`, `{}`: `{}`, `{"a" : 1}`: `{"a" : 1}`,
		`{"a":`: `{"invalid":"{\"a\":"}`, `null`: `{"invalid":"null"}`, `[1]`: `{"invalid":"[1]"}`,
		`{"a":1}{"b":2}`: `{"invalid":"{\"a\":1}{\"b\":2}"}`, `"x"`: `{"invalid":"\"x\""}`,
	}
	quoted, _ := json.Marshal(deep)
	cases[deep] = `{"invalid":` + string(quoted) + `}`
	for input, want := range cases {
		if got := string(arguments([]byte(input))); got != want {
			t.Errorf("arguments %.80q became %.80q, want %.80q", input, got, want)
		}
	}
}

func TestOpaque(t *testing.T) {
	deep := `{"type":"x","a":` + strings.Repeat(`[`, 505) + strings.Repeat("]", 505) + `}`
	cases := []struct{ raw, input, want string }{
		{`{"type":"x","input":{},"z":1.50}`, ``, `{"type":"x","input":{},"z":1.50}`},
		{`{"type":"x","input":{},"z":1.50}`, `{"q":1}`, `{"type":"x","input":{"q":1},"z":1.50}`},
		{`{"type":"x","input":{}}`, `{"q":`, `{"type":"x","input":{}}`},
		{`{"type":"x"}`, `{"q":1}`, `{"type":"x"}`},
		{deep, ``, `{"type":"x"}`},
	}
	for _, c := range cases {
		if got := string(opaque("x", json.RawMessage(c.raw), []byte(c.input))); got != c.want {
			t.Errorf("%.80s with input %s became %.80s, want %s", c.raw, c.input, got, c.want)
		}
	}
}
