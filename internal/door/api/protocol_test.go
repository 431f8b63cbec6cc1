package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/base/sse"
	"firn.dev/wire"
)

// TestProtocolExamples runs the examples of docs/protocol.md in order against a real gateway.
func TestProtocolExamples(t *testing.T) {
	const path = "../../../docs/protocol.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &rehearsal{realServer: openRealServerWith(t, shortDir(t), withPages), known: make(map[string]string)}
	r.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		if address == "socket:80" {
			return new(net.Dialer).DialContext(ctx, "unix", r.Socket)
		}
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}}}
	long, err := r.owner.NewSession(t.Context(), wire.NewSession{Title: "a long story"})
	for range 4 {
		if err == nil {
			_, err = r.owner.Turn(t.Context(), long.ID, wire.Turn{Text: strings.Repeat("and then they went on ", 200)})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	examples := readExamples(t, string(text))
	if len(examples) < 15 {
		t.Errorf("%s has %d examples", path, len(examples))
	}
	for _, e := range examples {
		if err := r.play(t.Context(), e); err != nil {
			t.Fatalf("%s:%d: %s %s: %v", path, e.line, e.method, e.target, err)
		}
	}
}

// example is a request and the expected response.
type example struct {
	line           int
	method, target string
	head           []string
	body           string
	status         int
	answerHead     []string
	answer         string
}

var (
	isFence  = regexp.MustCompile("(?ms)^```http\n(.*?)^```$")
	isStatus = regexp.MustCompile(`^\d{3}$`)
)

// readExamples finds the examples in a text: a request, its status on a separate line, and
// the response.
func readExamples(t *testing.T, text string) []example {
	t.Helper()
	var all []example
	for _, at := range isFence.FindAllStringSubmatchIndex(text, -1) {
		lines := strings.Split(strings.TrimSuffix(text[at[2]:at[3]], "\n"), "\n")
		e := example{line: strings.Count(text[:at[0]], "\n") + 1}
		split := slices.IndexFunc(lines, isStatus.MatchString)
		if split < 1 {
			t.Fatalf("the example at line %d has no status", e.line)
		}
		e.method, e.target, _ = strings.Cut(lines[0], " ")
		e.head, e.body = headAndBody(lines[1:split])
		e.status, _ = strconv.Atoi(lines[split])
		e.answerHead, e.answer = headAndBody(lines[split+1:])
		all = append(all, e)
	}
	return all
}

func headAndBody(lines []string) (head []string, body string) {
	end := slices.Index(lines, "")
	if end < 0 {
		return lines, ""
	}
	return lines[:end], strings.TrimSpace(strings.Join(lines[end:], "\n"))
}

// rehearsal runs examples. Values that vary, such as IDs, are learned from the responses.
type rehearsal struct {
	*realServer
	client *http.Client
	// known maps IDs, cursors and positions in the text to actual values.
	known map[string]string
}

// play sends a request and compares the response with the text.
func (r *rehearsal) play(ctx context.Context, e example) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	host := "socket"
	if slices.ContainsFunc(e.head, func(h string) bool { return strings.HasPrefix(h, "Authorization") }) {
		host = r.TCP
	}
	request, err := http.NewRequestWithContext(ctx, e.method, "http://"+host+r.substitute(e.target), strings.NewReader(r.substitute(e.body)))
	if err != nil {
		return err
	}
	for _, h := range e.head {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, r.substituteNumber(r.substitute(value)))
	}
	answer, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		return r.readEvents(e, answer)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != e.status {
		return fmt.Errorf("the status is %d: %s", answer.StatusCode, body)
	}
	if err := r.matchText(e.answer, string(body)); err != nil {
		return fmt.Errorf("%w\nin %s", err, body)
	}
	return r.heads(e, answer)
}

// heads compares the headers of a response with the text.
func (r *rehearsal) heads(e example, answer *http.Response) error {
	for _, h := range e.answerHead {
		name, value, _ := strings.Cut(h, ": ")
		if got, want := answer.Header.Get(name), r.substituteNumber(r.substitute(value)); got != want {
			return fmt.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	return nil
}

// readEvents compares a stream of events with the text, up to its last event.
func (r *rehearsal) readEvents(e example, answer *http.Response) error {
	if answer.StatusCode != e.status {
		return fmt.Errorf("the status is %d", answer.StatusCode)
	}
	if err := r.heads(e, answer); err != nil {
		return err
	}
	next, stop := iter.Pull2(sse.Read(answer.Body))
	defer stop()
	skip := false
	for want := range strings.SplitSeq(e.answer, "\n\n") {
		if strings.TrimSpace(want) == "…" {
			skip = true
			continue
		}
		for {
			got, err, more := next()
			if err != nil || !more {
				return fmt.Errorf("wait for %s: %v", want, err)
			}
			err = r.matchEvent(want, got)
			if err == nil {
				break
			}
			if !skip {
				return err
			}
		}
		skip = false
	}
	return nil
}

func (r *rehearsal) matchEvent(want string, got sse.Event) error {
	for line := range strings.SplitSeq(want, "\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "event" && value != got.Name:
			return fmt.Errorf("the event is %s with %s, want %s", got.Name, got.Data, value)
		case name == "id":
			if err := r.matchNumber(value, got.ID); err != nil {
				return err
			}
		case name == "data":
			if err := r.matchText(value, string(got.Data)); err != nil {
				return fmt.Errorf("%w\nin %s", err, got.Data)
			}
		}
	}
	return nil
}

// substitute replaces known values in a text, longest first.
func (r *rehearsal) substitute(text string) string {
	for _, known := range slices.SortedFunc(maps.Keys(r.known), func(a, b string) int { return len(b) - len(a) }) {
		if _, err := strconv.Atoi(known); err != nil {
			text = strings.ReplaceAll(text, known, r.known[known])
		}
	}
	return text
}

// substituteNumber returns the actual value of a position, quoted or not.
func (r *rehearsal) substituteNumber(text string) string {
	bare := strings.Trim(text, `"`)
	if known, ok := r.known[bare]; ok {
		return strings.Replace(text, bare, known, 1)
	}
	return text
}

// matchText compares JSON with an expected text in which … matches anything.
func (r *rehearsal) matchText(want, got string) error {
	want = strings.NewReplacer("{…}", `{"…":0}`, ",…}", `,"…":0}`, ",…]", `,"…"]`).Replace(want)
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return fmt.Errorf("the example is not JSON: %w", err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	return r.match("", w, g)
}

func (r *rehearsal) match(at string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %v", at, got)
		}
		return r.matchObject(at, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok {
			return fmt.Errorf("%s is %v", at, got)
		}
		return r.matchList(at, w, g)
	case string:
		g, ok := got.(string)
		if !ok || !r.matchString(w, g) {
			return fmt.Errorf("%s is %v, want %q", at, got, w)
		}
	case float64:
		if err := r.matchNumber(fmt.Sprint(w), fmt.Sprint(got)); err != nil && w != got {
			return fmt.Errorf("%s is %v, want %v", at, got, w)
		}
	default:
		if want != got {
			return fmt.Errorf("%s is %v, want %v", at, got, want)
		}
	}
	return nil
}

func (r *rehearsal) matchObject(at string, want, got map[string]any) error {
	for name, w := range want {
		if name == "…" {
			continue
		}
		g, ok := got[name]
		if !ok {
			return fmt.Errorf("%s has no %s", at, name)
		}
		if err := r.match(at+"."+name, w, g); err != nil {
			return err
		}
	}
	if _, more := want["…"]; more {
		return nil
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			return fmt.Errorf("%s has %s, which the document does not describe", at, name)
		}
	}
	return nil
}

func (r *rehearsal) matchList(at string, want, got []any) error {
	if len(want) > 0 && want[len(want)-1] == "…" {
		want = want[:len(want)-1]
		got = got[:min(len(got), len(want))]
	}
	if len(want) != len(got) {
		return fmt.Errorf("%s has %d items, want %d", at, len(got), len(want))
	}
	for i := range want {
		if err := r.match(fmt.Sprintf("%s[%d]", at, i), want[i], got[i]); err != nil {
			return err
		}
	}
	return nil
}

// isName matches IDs and cursors in the text.
var isName = regexp.MustCompile(`^([0-9a-f]{8}(-[0-9a-f-]+)?|[0-9a-z]{13}|k[0-9a-z]{9}|\d+\.\d+\..+)$`)

func (r *rehearsal) matchString(want, got string) bool {
	if before, after, open := strings.Cut(want, "…"); open {
		return strings.HasPrefix(got, before) && strings.HasSuffix(got, after)
	}
	if known, ok := r.known[want]; ok {
		return known == got
	}
	if _, err := time.Parse(time.RFC3339, want); err == nil {
		_, err := time.Parse(time.RFC3339, got)
		return err == nil
	}
	if want != got && isName.MatchString(want) {
		r.known[want] = got
		return true
	}
	return want == got
}

// matchNumber compares a number with one of the text. Numbers with three or more digits,
// and those in compactions, are learned: they are positions and sizes.
func (r *rehearsal) matchNumber(want, got string) error {
	if known, ok := r.known[want]; ok && known == got || want == got {
		return nil
	} else if _, err := strconv.Atoi(got); !ok && err == nil && len(want) >= 2 {
		r.known[want] = got
		return nil
	}
	return fmt.Errorf("the number is %s, want %s", got, want)
}
