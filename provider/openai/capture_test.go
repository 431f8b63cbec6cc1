package openai

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/provider"
	"firn.dev/provider/providertest"
	"firn.dev/window"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a result with a file in testdata.
func golden(t *testing.T, path, got string) {
	t.Helper()
	path = filepath.Join("testdata", path)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// api is one of the two APIs, for tests of both.
type api struct {
	name   string
	info   provider.Info
	decode func(*provider.Info) decoder
	// ends are the texts in a good stream after which the answer is complete.
	ends []string
}

func apis() []api {
	info := func(api string) provider.Info {
		return provider.Info{Provider: "openai", API: api, Name: "test", Spec: providertest.Spec()}
	}
	return []api{
		{"chat", info(ChatAPI), func(i *provider.Info) decoder { return &chatAnswer{info: i, counted: true} }, []string{`"finish_reason":"`}},
		{"responses", info(ResponsesAPI), func(i *provider.Info) decoder { return &responsesAnswer{info: i} }, []string{`"type":"response.completed"`, `"type":"response.incomplete"`}},
	}
}

// outcome is the result of reading a stream.
type outcome struct {
	deltas []provider.Event
	done   *firn.Message
	err    error
}

// failer is a test, either of testing or of rapid.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// read reads a stream as a model would. It fails the test if the events violate the
// contract.
func (a api) read(t failer, r io.Reader) outcome {
	t.Helper()
	var o outcome
	report := emitter{info: &a.info, decoder: a.decode(&a.info), yield: func(e provider.Event, err error) bool {
		if o.done != nil || o.err != nil {
			t.Fatalf("an event follows the end: %#v, %v", e, err)
		}
		switch e := e.(type) {
		case provider.Done:
			if e.Message.Time.IsZero() {
				t.Fatal("the message has no time")
			}
			e.Message.Time = time.Time{}
			o.done = &e.Message
		case nil:
			o.err = err
		default:
			o.deltas = append(o.deltas, e)
		}
		return true
	}}
	report.run(context.Background(), r)
	if (o.done == nil) == (o.err == nil) {
		t.Fatalf("the stream ended with %v and %v", o.done, o.err)
	}
	return o
}

// notation formats an outcome as text.
func (o outcome) notation() string {
	var b strings.Builder
	for _, d := range o.deltas {
		switch d := d.(type) {
		case provider.TextDelta:
			fmt.Fprintf(&b, "+ text %q\n", d.Text)
		case provider.ThinkingDelta:
			fmt.Fprintf(&b, "+ thinking %q\n", d.Text)
		case provider.CallDelta:
			fmt.Fprintf(&b, "+ call %s %q %s\n", d.ID, d.Name, d.Arguments)
		}
	}
	if o.done != nil {
		b.WriteString(messageNotation(o.done))
		return b.String()
	}
	var e *provider.Error
	if errors.As(o.err, &e) {
		fmt.Fprintf(&b, "error %s began %v code %q\n", e.Kind, e.Partial, e.Code)
	}
	fmt.Fprintf(&b, "%v\n", o.err)
	return b.String()
}

func messageNotation(m *firn.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		switch p := p.(type) {
		case firn.Text:
			fmt.Fprintf(&b, "text %q mark %q\n", p.Text, p.Signature)
		case firn.Thinking:
			fmt.Fprintf(&b, "thinking %q redacted %v mark %s\n", p.Text, p.Redacted, p.Signature)
		case firn.ToolCall:
			fmt.Fprintf(&b, "call %s %s %s mark %q\n", p.ID, p.Name, p.Arguments, p.Signature)
		case firn.OpaquePart:
			fmt.Fprintf(&b, "opaque %s %s\n", p.Type, p.Raw)
		default:
			fmt.Fprintf(&b, "%#v\n", p)
		}
	}
	fmt.Fprintf(&b, "stop %s\n", m.StopReason)
	if u := m.Usage; u != nil {
		fmt.Fprintf(&b, "usage input %d output %d read %d write %d total %d cost %.6f\n", u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Total, u.Cost.Total)
	}
	return b.String()
}

// captures calls f with every capture of an API.
func captures(t *testing.T, f func(t *testing.T, a api, name string, body []byte)) {
	for _, a := range apis() {
		files, err := filepath.Glob(filepath.Join("testdata", a.name, "*.sse"))
		if err != nil || len(files) < 10 {
			t.Fatalf("captures of %s: %d, %v", a.name, len(files), err)
		}
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(file), ".sse")
			t.Run(a.name+"/"+name, func(t *testing.T) { f(t, a, name, body) })
		}
	}
}

// TestCaptures reads recorded responses of servers.
func TestCaptures(t *testing.T) {
	captures(t, func(t *testing.T, a api, name string, body []byte) {
		o := a.read(t, bytes.NewReader(body))
		golden(t, filepath.Join(a.name, name+".golden"), o.notation())
		if o.done != nil && (o.done.API != a.info.API || o.done.Provider != "openai" || o.done.Model != "test" || o.done.Role != firn.RoleAssistant) {
			t.Errorf("the answer is marked %+v", o.done)
		}
	})
}

// TestSplitAnywhere checks that the result does not depend on how the network splits a
// stream. The decoder's input is checked for every split, its output for some.
func TestSplitAnywhere(t *testing.T) {
	captures(t, func(t *testing.T, a api, _ string, body []byte) {
		want := a.read(t, bytes.NewReader(body)).notation()
		if got := a.read(t, iotest.OneByteReader(bytes.NewReader(body))).notation(); got != want {
			t.Errorf("a byte at a time: got\n%s\nwant\n%s", got, want)
		}
		fed := record(a, bytes.NewReader(body))
		for at := 0; at < len(body); at += step() {
			split := func() io.Reader {
				return io.MultiReader(bytes.NewReader(body[:at]), bytes.NewReader(body[at:]))
			}
			if got := record(a, split()); got != fed {
				t.Fatalf("split at %d: the decoder is fed\n%s\nwant\n%s", at, got, fed)
			}
			if at%8 != 0 {
				continue
			}
			if got := a.read(t, split()).notation(); got != want {
				t.Fatalf("split at %d: got\n%s\nwant\n%s", at, got, want)
			}
		}
	})
}

// step returns 1, to try every offset, or more in short mode.
func step() int {
	if testing.Short() {
		return 7
	}
	return 1
}

// recorder is a decoder that records its input.
type recorder struct{ strings.Builder }

func (r *recorder) take(event sse.Event) ([]provider.Event, bool, error) {
	r.WriteString(event.ID + "|" + event.Name + "|" + string(event.Data) + "\n")
	return nil, false, nil
}

func (r *recorder) takeWhole(body []byte) ([]provider.Event, error) {
	r.WriteString("whole " + string(body))
	return nil, nil
}

func (r *recorder) message() (firn.Message, bool, error) { return firn.Message{}, true, nil }

func record(a api, body io.Reader) string {
	var r recorder
	report := emitter{info: &a.info, decoder: &r, yield: func(provider.Event, error) bool { return true }}
	report.run(context.Background(), body)
	return r.String()
}

// errLine is the error of a broken connection.
var errLine = errors.New("the line is dead")

// TestCutAnywhere checks that a stream that ends before the answer is complete is an error,
// at every byte, whether it ends regularly or not. A stream that ends later is the answer,
// possibly without its usage.
func TestCutAnywhere(t *testing.T) {
	captures(t, func(t *testing.T, a api, _ string, body []byte) {
		whole := a.read(t, bytes.NewReader(body))
		end := a.end(body)
		for at := 0; at < len(body); at += step() {
			closed := a.read(t, bytes.NewReader(body[:at]))
			broken := outcome{err: errLine}
			if at >= end || at%16 == 0 { // both use the same code, so not every offset is tried twice
				broken = a.read(t, io.MultiReader(bytes.NewReader(body[:at]), iotest.ErrReader(errLine)))
			}
			switch {
			case whole.done == nil || at < end:
				if closed.done != nil || broken.done != nil {
					t.Fatalf("cut at %d of %d, complete at %d: accepted as complete", at, len(body), end)
				}
				if broken.err != errLine && provider.KindOf(broken.err) == "" {
					t.Fatalf("cut at %d: the error is %v", at, broken.err)
				}
				if whole.done != nil && provider.KindOf(closed.err) != provider.Temporary {
					t.Fatalf("cut at %d: the error is %v", at, closed.err)
				}
			case closed.done == nil:
				t.Fatalf("cut at %d of %d, whole at %d: %v", at, len(body), end, closed.err)
			default:
				if !sameButUsage(closed.done, whole.done) {
					t.Fatalf("cut at %d: the answer is\n%s\nwant\n%s", at, messageNotation(closed.done), messageNotation(whole.done))
				}
				if broken.done != nil && messageNotation(broken.done) != messageNotation(whole.done) {
					t.Fatalf("broken at %d: the answer is\n%s\nwant\n%s", at, messageNotation(broken.done), messageNotation(whole.done))
				}
			}
		}
	})
}

// end returns the offset in a capture at which the answer is complete.
func (a api) end(body []byte) int {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return len(bytes.TrimRight(body, "\n"))
	}
	at := -1
	for _, mark := range a.ends {
		at = max(at, bytes.Index(body, []byte(mark)))
	}
	if at < 0 {
		return len(body)
	}
	for _, blank := range []string{"\n\n", "\r\n\r"} {
		if i := bytes.Index(body[at:], []byte(blank)); i >= 0 {
			return at + i + len(blank)
		}
	}
	return len(body)
}

func sameButUsage(a, b *firn.Message) bool {
	x, y := *a, *b
	x.Usage, y.Usage = nil, nil
	return messageNotation(&x) == messageNotation(&y)
}

// TestConsumerStops checks that no event is sent after the consumer stops.
func TestConsumerStops(t *testing.T) {
	captures(t, func(t *testing.T, a api, _ string, body []byte) {
		total := len(a.read(t, bytes.NewReader(body)).deltas) + 1
		for n := 1; n <= total; n++ {
			reported := 0
			report := emitter{info: &a.info, decoder: a.decode(&a.info), yield: func(provider.Event, error) bool {
				reported++
				return reported < n
			}}
			report.run(context.Background(), bytes.NewReader(body))
			if reported != n {
				t.Fatalf("called %d times, stopped listening after %d", reported, n)
			}
		}
	})
}

// TestAnswerIsSentBack checks that a logged answer is sent back to its model in a form that it
// accepts, including its marks.
func TestAnswerIsSentBack(t *testing.T) {
	captures(t, func(t *testing.T, a api, name string, body []byte) {
		o := a.read(t, bytes.NewReader(body))
		if o.done == nil {
			return
		}
		profile, encode, check, url := window.OpenAIChat(), encodeChat, checkChat, ""
		if a.name == "responses" {
			profile, encode, check = window.OpenAIResponses(), encodeResponses, checkResponses
		} else if strings.HasPrefix(name, "gemini") {
			profile, check, url = window.Gemini(), chatServer{google: true}.check, "https://generativelanguage.googleapis.com/v1beta/openai"
		}
		entries := []firn.Entry{firn.UserText("Hello."), firn.NewEntry(o.done)}
		for _, p := range o.done.Parts {
			if call, ok := p.(firn.ToolCall); ok {
				entries = append(entries, firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{
					firn.ToolResult{CallID: call.ID, Name: call.Name, Content: []firn.Part{firn.Text{Text: "done"}}},
				}}))
			}
		}
		entries = append(entries, firn.UserText("Go on."))
		info := a.info
		info.Profile = profile
		request := encode(t, Options{Name: "test", Spec: providertest.Spec(), Profile: profile, URL: url}, provider.Request{
			Window: window.Build(window.Path{Entries: entries}, window.Options{Profile: profile, Ask: info.Ask()}),
		})
		if err := check(request); err != nil {
			t.Errorf("refused: %v\n%s", err, request)
		}
		golden(t, filepath.Join(a.name, name+".back"), pretty(t, request))
	})
}
