package webtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
)

// transcriptWriter writes a transcript file directly, for homes that would take too long to create
// through the gateway.
type transcriptWriter struct {
	id    firn.ID
	agent string
	head  firn.EntryID
	now   time.Time
	lines []byte
	cut   int // index of the last compaction
	err   error
	calls int
}

// newScribe creates a transcript with a start time.
func newScribe(id firn.ID, begun time.Time, h firn.Header) *transcriptWriter {
	if h.Agent == "" {
		h.Agent = "main"
	}
	h.Session, h.Version, h.Firn = id, 3, 1
	if h.CWD == "" {
		h.CWD = "/home/you/project"
	}
	s := &transcriptWriter{id: id, agent: h.Agent, now: begun.UTC().Truncate(time.Millisecond)}
	s.line(firn.Entry{Time: s.now, Body: &h})
	return s
}

func (s *transcriptWriter) line(e firn.Entry) {
	if s.err != nil {
		return
	}
	if s.lines, s.err = native.New().Append(s.lines, e); s.err == nil {
		s.lines = append(s.lines, '\n')
	}
}

// add appends an entry, one second after the last.
func (s *transcriptWriter) add(body firn.Body) firn.EntryID {
	s.now = s.now.Add(time.Second)
	if m, ok := body.(*firn.Message); ok {
		m.Time = s.now
	}
	e := firn.Entry{ID: firn.NewEntryID(), Parent: s.head, Time: s.now, Body: body}
	s.line(e)
	s.head = e.ID
	return e.ID
}

func (s *transcriptWriter) user(text string) firn.EntryID {
	return s.add(&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}})
}

func (s *transcriptWriter) assistant(parts ...firn.Part) firn.EntryID {
	stop := firn.StopEnd
	for _, p := range parts {
		if _, ok := p.(firn.ToolCall); ok {
			stop = firn.StopToolUse
		}
	}
	// Approximates the token count of a provider: the lines since the last compaction.
	in := 1200 + int64(len(s.lines)-s.cut)/5
	return s.add(&firn.Message{Role: firn.RoleAssistant, Parts: parts, StopReason: stop, API: "anthropic-messages", Provider: "anthropic", Model: "claude-sonnet-4-5",
		Usage: &firn.Usage{Input: 1200, Output: 140, CacheRead: in - 1200, Total: in + 140, Cost: firn.Cost{Input: 0.0036, Output: 0.0021, Total: 0.0057}}})
}

func (s *transcriptWriter) says(text string) firn.EntryID { return s.assistant(firn.Text{Text: text}) }

// uses adds a tool call and its result.
func (s *transcriptWriter) uses(tool, arguments, result string) firn.EntryID {
	s.calls++
	id := fmt.Sprintf("call_%06d", s.calls)
	s.assistant(firn.Thinking{Text: "I should look."}, firn.ToolCall{ID: id, Name: tool, Arguments: json.RawMessage(arguments)})
	return s.add(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: id, Name: tool, Content: []firn.Part{firn.Text{Text: result}}}}})
}

func (s *transcriptWriter) compaction(summary string, kept firn.EntryID, before int64) firn.EntryID {
	s.cut = len(s.lines)
	return s.add(&firn.Compaction{Summary: summary, FirstKept: kept, TokensBefore: before, Details: json.RawMessage(`{"strategy":"summary","tokensAfter":900}`)})
}

func (s *transcriptWriter) title(name string) {
	s.add(&firn.Title{Name: name, Source: firn.SourceUser})
}

func (s *transcriptWriter) label(target firn.EntryID, name string) {
	s.add(&firn.Label{Target: target, Name: name})
}

func (s *transcriptWriter) tags(tags ...string) {
	e, err := store.NewTags(tags)
	if err != nil && s.err == nil {
		s.err = err
	}
	s.add(e.Body)
}

// rewind continues from an earlier entry.
func (s *transcriptWriter) rewind(to firn.EntryID) {
	s.head = to
	s.add(&firn.Head{Reason: "rewind"})
}

// partSize is the size at which a transcript continues in another file.
const partSize = 45 << 20

// keep writes the transcript to a home in as many parts as needed.
func (s *transcriptWriter) keep(home string) error {
	if s.err != nil {
		return s.err
	}
	dir := filepath.Join(home, "agents", s.agent, "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	rest := s.lines
	for part := 1; len(rest) > 0; part++ {
		size := len(rest)
		if size > partSize {
			size = strings.LastIndexByte(string(rest[:partSize]), '\n') + 1
		}
		name := string(s.id) + ".jsonl"
		if part > 1 {
			name = fmt.Sprintf("%s_part%d.jsonl", s.id, part)
		}
		if err := os.WriteFile(filepath.Join(dir, name), rest[:size], 0o600); err != nil {
			return err
		}
		rest = rest[size:]
	}
	return nil
}

// sessionID returns an ID that contains a number.
func sessionID(kind string, n int) firn.ID { return firn.ID(fmt.Sprintf("%s-%05d", kind, n)) }

// longAgo is the start time of the fixture sessions.
var longAgo = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

const (
	crowdSize  = 10_000
	longSize   = 50_000
	longID     = firn.ID("long-session")
	longNeedle = "the zirconium gasket"
)

// writeCrowd writes ten thousand sessions, one hour apart.
func writeCrowd(home string) error {
	for i := range crowdSize {
		s := newScribe(sessionID("crowd", i), longAgo.Add(time.Duration(i)*20*time.Minute), firn.Header{})
		s.user(fmt.Sprintf("What about number %d?", i))
		s.says(fmt.Sprintf("Number **%d** is fine.", i))
		s.title(fmt.Sprintf("Session number %05d", i))
		if i%7 == 0 {
			s.tags("seventh")
		}
		if err := s.keep(home); err != nil {
			return err
		}
	}
	return nil
}

// writeLong writes a session of fifty thousand entries: turns with tool calls, some
// with long results, and occasional compactions.
func writeLong(home string) error {
	s := newScribe(longID, longAgo, firn.Header{})
	result := strings.Repeat("line of a file that a tool has read\n", 12)
	for n, entries := 0, 0; entries < longSize-1; n++ {
		first := s.user(fmt.Sprintf("Question %d: what does file%d.go do?", n, n))
		out := result
		if n%50 == 0 {
			out = strings.Repeat(result, 40)
		}
		if n == 9_000 {
			out = "here lies " + longNeedle
		}
		s.uses("read_file", fmt.Sprintf(`{"path":"src/file%d.go"}`, n), out)
		s.says(fmt.Sprintf("It is the **%d**th file.\n\n```go\nfunc file%d() int { return %d }\n```\n", n, n, n))
		entries += 4
		if n%500 == 499 {
			s.compaction(fmt.Sprintf("## Goal\n\nRead files up to %d.", n), first, 150_000)
			entries++
		}
	}
	s.title("A very long session")
	return s.keep(home)
}

// branchyID is a session with five branches, some of them labeled.
const branchyID = firn.ID("five-branches")

func writeBranchy(home string) error { return branches(branchyID).keep(home) }

// branches creates it: a trunk of two turns, and five answers to a question.
func branches(id firn.ID) *transcriptWriter {
	s := newScribe(id, longAgo.AddDate(0, 2, 0), firn.Header{})
	s.user("We plan a trip.")
	s.says("Where to?")
	fork := s.user("You choose.")
	for i, place := range []string{"Lisbon", "Oslo", "Naples", "Gdansk", "Bergen"} {
		if i > 0 {
			s.rewind(fork)
		}
		s.says("Let us go to " + place + ".")
		tip := s.user("Tell me more about " + place + ".")
		s.says(place + " is by the sea.")
		if i%2 == 0 {
			s.label(tip, strings.ToLower(place))
		}
	}
	s.title("Five branches")
	return s
}

// reusedID is a session with a duplicate ID, once on an entry that is its own parent.
const reusedID = firn.ID("reused-ids")

func writeReused(home string) error {
	s := newScribe(reusedID, longAgo, firn.Header{})
	for _, e := range []firn.Entry{
		{ID: "a1", Body: userMessage("The root.")},
		{ID: "a2", Parent: "a1", Body: userMessage("The left one.")},
		{ID: "b1", Parent: "a1", Body: userMessage("The right one.")},
		{ID: "a1", Parent: "a2", Body: userMessage("The root again.")},
	} {
		e.Time = s.now
		s.line(e)
	}
	return s.keep(home)
}

func userMessage(text string) *firn.Message {
	return &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}, Time: longAgo}
}
