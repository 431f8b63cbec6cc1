package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
)

// answer is the content of an answer, one line per part.
type answer []string

func (a *answer) add(format string, args ...any) {
	*a = append(*a, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// text, thinking, call and other add the parts of an answer, each with the mark that is
// needed to send it back. Empty parts are skipped.
func (a *answer) text(text, mark string) {
	if text != "" {
		a.add("text %q %s", text, mark)
	}
}

func (a *answer) thinking(text, mark string) {
	if text != "" || mark != "" {
		a.add("thinking %q %s", text, mark)
	}
}

func (a *answer) call(id, name, arguments, mark string) {
	a.add("call %s %s %s %s", id, name, canonical(arguments), mark)
}

func (a *answer) other(kind, raw string) { a.add("other %s %s", kind, canonical(raw)) }

func (a *answer) usage(input, output, read, write int64) {
	if input+output+read+write > 0 {
		a.add("usage input %d output %d read %d write %d", input, output, read, write)
	}
}

// stop adds the stop reason. An answer with calls always waits for tools.
func (a *answer) stop(reason firn.StopReason) {
	calls := slices.ContainsFunc(*a, func(line string) bool { return strings.HasPrefix(line, "call ") })
	if calls && reason == firn.StopEnd {
		reason = firn.StopToolUse
	}
	a.add("stop %s", reason)
}

func (a *answer) fail(code, message string) { a.add("error %s: %s", code, message) }

// canonical returns JSON with sorted members; invalid JSON is unchanged.
func canonical(raw string) string {
	v, err := decode([]byte(raw))
	if err != nil {
		return raw
	}
	return text(v)
}

// reader is one of firn's clients, and the SDK that reads the same.
type reader struct {
	name string
	// folder is the directory of the recordings.
	folder string
	model  func(*http.Client) provider.Model
	theirs func(ctx context.Context, client *http.Client, whole bool) answer
	// loose is true if the API does not define the order of text, thinking and calls.
	loose bool
	notes map[string][]note
}

func readers() []reader { return []reader{anthropicReader(), chatReader(), responsesReader()} }

// note is an expected difference between answers.
type note struct {
	// ours is a line that only firn's answer has, and theirs one that only the SDK's has;
	// either may be empty.
	ours, theirs string
	why          string
}

// ourAnswer returns firn's answer.
func (r reader) ourAnswer(ctx context.Context, client *http.Client) answer {
	m := r.model(client)
	info := m.Info()
	req := provider.Request{Window: history{bodies: []firn.Body{byUser(textPart("Hello."))}}.build(info)}
	_, done, err := drain(ctx, m, req)
	var a answer
	var failure *provider.Error
	switch {
	case errors.As(err, &failure):
		a.fail(failure.Code, failure.Message)
		if failure.Message == "" {
			a = answer{"error " + failure.Err.Error()}
		}
	case err != nil || done == nil:
		a.add("error %v", err)
	default:
		a.message(&done.Message, r.loose)
	}
	return a
}

func (a *answer) message(m *firn.Message, loose bool) {
	parts := m.Parts
	if loose {
		parts = sorted(parts)
	}
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Text:
			a.text(p.Text, p.Signature)
		case firn.Thinking:
			a.thinking(p.Text, p.Signature)
		case firn.ToolCall:
			a.call(p.ID, p.Name, string(p.Arguments), p.Signature)
		case firn.OpaquePart:
			a.other(p.Type, string(p.Raw))
		default:
			a.add("%#v", part)
		}
	}
	a.add("stop %s", m.StopReason)
	if u := m.Usage; u != nil {
		a.usage(u.Input, u.Output, u.CacheRead, u.CacheWrite)
	}
}

// sorted merges thinking, then text, followed by calls.
func sorted(parts []firn.Part) []firn.Part {
	var thinking firn.Thinking
	var text firn.Text
	var rest []firn.Part
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Text:
			text.Text += p.Text
		case firn.Thinking:
			thinking.Text += p.Text
			thinking.Signature = p.Signature
		default:
			rest = append(rest, part)
		}
	}
	return append([]firn.Part{thinking, text}, rest...)
}

// differ returns the differences of two answers, except those in the notes.
func differ(ours, theirs answer, notes []note) []string {
	var complaints []string
	ours, theirs = slices.Clone(ours), slices.Clone(theirs)
	take := func(whose string, a answer, line string) answer {
		i := slices.Index(a, line)
		if i < 0 {
			complaints = append(complaints, fmt.Sprintf("%s do not say %q any more", whose, line))
			return a
		}
		return slices.Delete(a, i, i+1)
	}
	for _, n := range notes {
		if n.ours != "" {
			ours = take("we", ours, n.ours)
		}
		if n.theirs != "" {
			theirs = take("they", theirs, n.theirs)
		}
	}
	if !slices.Equal(ours, theirs) {
		complaints = append(complaints, fmt.Sprintf("we read\n\t%s\nthey read\n\t%s", strings.Join(ours, "\n\t"), strings.Join(theirs, "\n\t")))
	}
	return complaints
}

// TestRead checks that the SDKs read the same from every recording in the clients' tests:
// text, thinking, calls, usage and stop reason.
func TestRead(t *testing.T) {
	for _, r := range readers() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			files, err := filepath.Glob(filepath.Join(r.folder, "*.sse"))
			if err != nil || len(files) < 10 {
				t.Fatalf("there are %d recordings, %v", len(files), err)
			}
			met := make(map[string]bool)
			for _, file := range files {
				recording, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				name := strings.TrimSuffix(filepath.Base(file), ".sse")
				met[name] = true
				ours, theirs := r.both(t.Context(), server, string(recording))
				for _, complaint := range differ(ours, theirs, r.notes[name]) {
					t.Errorf("%s: %s", name, complaint)
				}
			}
			for name := range r.notes {
				if !met[name] {
					t.Errorf("there is no recording %s any more: take it off the list", name)
				}
			}
		})
	}
}

// both reads a recording with firn's client and with the SDK.
func (r reader) both(ctx context.Context, server *server, recording string) (ours, theirs answer) {
	server.play(http.StatusOK, recording)
	whole := strings.HasPrefix(strings.TrimSpace(recording), "{")
	return r.ourAnswer(ctx, server.client), r.theirs(ctx, server.client, whole)
}

// errorIn decodes the error in a body: an object with a member "error", or that error
// itself.
func errorIn(raw string) (code, message string) {
	type fault struct {
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	var body struct {
		fault
		Error *fault `json:"error"`
	}
	if json.Unmarshal([]byte(raw), &body) != nil {
		return "", raw
	}
	f := body.fault
	if body.Error != nil {
		f = *body.Error
	}
	if s, ok := f.Code.(string); ok && s != "" {
		return s, f.Message
	}
	return f.Type, f.Message
}

func TestDiffer(t *testing.T) {
	a, b := answer{"x", "y"}, answer{"x", "z"}
	for _, c := range []struct {
		notes []note
		want  int
	}{
		{nil, 1},
		{[]note{{ours: "y", theirs: "z"}}, 0},
		{[]note{{ours: "y"}}, 1},
		{[]note{{ours: "w"}}, 2},
		{[]note{{theirs: "z"}, {ours: "y"}}, 0},
		{[]note{{ours: "x"}, {ours: "y"}, {theirs: "x"}, {theirs: "z"}}, 0},
	} {
		if got := differ(a, b, c.notes); len(got) != c.want {
			t.Errorf("%v: complaints are %q, want %d", c.notes, got, c.want)
		}
	}
	if !slices.Equal(a, answer{"x", "y"}) || !slices.Equal(b, answer{"x", "z"}) {
		t.Errorf("the answers were changed: %q, %q", a, b)
	}
}
