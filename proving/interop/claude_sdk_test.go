package interop

import (
	first "cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store/filestore"

	"github.com/google/go-cmp/cmp"
)

// sdkReply is a response of claude.mjs.
type sdkReply struct {
	Error    string       `json:"error"`
	Sessions []sdkSession `json:"sessions"`
	Info     *sdkSession  `json:"info"`
	Messages []struct {
		Type    string      `json:"type"`
		Message wireMessage `json:"message"`
	} `json:"messages"`
}

// sdkSession is a session as the SDK lists it.
type sdkSession struct {
	ID          string `json:"sessionId"`
	Summary     string `json:"summary"`
	CustomTitle string `json:"customTitle"`
	FirstPrompt string `json:"firstPrompt"`
	CWD         string `json:"cwd"`
}

// sdk starts the SDK on the home.
func (c *claude) sdk(t *testing.T) *driver {
	t.Helper()
	return startDriver(t, claudeSDK, c.env(nil), "claude.mjs")
}

// sdkAsk sends a request that must succeed.
func sdkAsk(t *testing.T, d *driver, request map[string]string) sdkReply {
	t.Helper()
	var got sdkReply
	if d.exchange(t, request, &got); got.Error != "" {
		t.Fatalf("the SDK printed: %s", got.Error)
	}
	return got
}

// sdkRead reads a session: its list entry, and its messages, one line per part.
func (c *claude) sdkRead(t *testing.T, d *driver, id string) (*sdkSession, []string) {
	t.Helper()
	got := sdkAsk(t, d, map[string]string{"read": id, "dir": c.cwd})
	return got.Info, flatMessages(t, got.messages())
}

// messages returns the messages of a session.
func (r sdkReply) messages() []wireMessage {
	var messages []wireMessage
	for _, m := range r.Messages {
		m.Message.Role = m.Type
		messages = append(messages, m.Message)
	}
	return messages
}

// sdkReads holds, by shape, the lines that the SDK reads if they differ from those that
// Claude Code sends: the SDK omits meta messages, and includes failed answers.
var sdkReads = map[string][]string{
	"one line of every kind": {
		"user: What is in a.txt?",
		"assistant: Reading it.",
		"call toolu_1 read map[limit:1.5 path:a.txt]",
		"call toolu_2 read map[limit:1.5 path:a.txt]",
		"result toolu_1: alpha\n",
		"result toolu_2: no such file+[image/png]",
		"assistant: Alpha.",
		"user: And here?",
		"user: [image/png]",
		"user: <bash-input>ls</bash-input>",
		"user: <bash-stdout>a.txt\n</bash-stdout><bash-stderr></bash-stderr>",
		"user: <bash-input>true</bash-input>",
		"user: <bash-stdout></bash-stdout><bash-stderr></bash-stderr>",
		"assistant: A dot.",
	},
	"branched":              saidLines("one", "two", "five"),
	"an answer that failed": slices.Concat(saidLines("one"), []string{"user: ask two", "assistant: overloaded", "assistant: half an ans"}, saidLines("three")),
}

// saidLines returns the lines of the messages that [session.talk] appends.
func saidLines(words ...string) []string {
	var lines []string
	for i, text := range turns(words...) {
		lines = append(lines, []string{"user: ", "assistant: "}[i%2]+text)
	}
	return lines
}

// TestClaudeSDK hands sessions of all shapes to Claude Code, and lists and reads them with
// its SDK.
func TestClaudeSDK(t *testing.T) {
	c := newClaude(t)
	d := c.sdk(t)
	listed := make(map[string]sdkSession)
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, filestore.Options{})
			shape.build(t, s)
			h := s.handoff(t, "claude", c.home, c.cwd)
			want := slices.DeleteFunc(append(sdkReads[name], saidIn(t, s, claudeWords, sdkReads[name])...), func(line string) bool { return line == "user: " })
			info, got := c.sdkRead(t, d, h.Resume[2])
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the SDK reads different messages (-firn +SDK):\n%s", diff)
			}
			if info != nil {
				s.mustBeListed(t, *info, c.cwd)
				listed[info.ID] = *info
			} else if len(want) > 0 {
				t.Errorf("the SDK does not find the session %s", s.id)
			}
		})
	}
	c.mustList(t, d, listed)
}

// saidIn returns the lines of the session after replacing words, or nil if known is not nil.
func saidIn(t *testing.T, s *session, words *strings.Replacer, known []string) []string {
	t.Helper()
	if known != nil {
		return nil
	}
	var lines []string
	for _, line := range flatWindow(t, s.path(t)) {
		lines = append(lines, words.Replace(line))
	}
	return lines
}

// mustBeListed checks the SDK's list entry of the session.
func (s *session) mustBeListed(t *testing.T, got sdkSession, cwd string) {
	t.Helper()
	title, prompt := "", ""
	for _, e := range s.entries(t) {
		switch b := e.Body.(type) {
		case *firn.Title:
			if b.Source != firn.SourceAuto {
				title = b.Name
			}
		case *firn.Message:
			if prompt == "" && b.Role == firn.RoleUser {
				prompt = b.Text()
			}
		}
	}
	prompt = strings.TrimRight(strings.ReplaceAll(prompt, "\n", " "), " \ufeff") // as displayed, in one line
	want := sdkSession{ID: string(s.id), CustomTitle: title, Summary: first.Or(title, prompt), FirstPrompt: prompt, CWD: cwd}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the SDK lists the session differently (-firn +SDK):\n%s", diff)
	}
}

// mustList checks that the SDK lists the sessions that it has read.
func (c *claude) mustList(t *testing.T, d *driver, read map[string]sdkSession) {
	t.Helper()
	listed := make(map[string]sdkSession)
	for _, s := range sdkAsk(t, d, map[string]string{"list": c.cwd}).Sessions {
		listed[s.ID] = s
	}
	if diff := cmp.Diff(read, listed); diff != "" || len(read) == 0 {
		t.Errorf("the SDK lists other sessions (-read +listed):\n%s", diff)
	}
}

// sdkCalls maps call IDs, by transcript, that are changed in a file for Claude Code,
// because Anthropic rejects duplicate call IDs.
var sdkCalls = map[string]map[string]string{
	"agentsview_function_calls.jsonl": {"call call_test apply_patch map[]": "call call_test_91f90901 apply_patch map[]"},
}

// TestClaudeSDKReadsOthers converts the transcripts of other tools to Claude Code's format,
// and reads them with its SDK.
func TestClaudeSDKReadsOthers(t *testing.T) {
	c := newClaude(t)
	d := c.sdk(t)
	var files []string
	for _, pattern := range []string{"../../testdata/corpus/pi/*.jsonl", "../../internal/formats/dialect/codex/testdata/*.jsonl", "../../internal/formats/dialect/crabtalk/testdata/*.jsonl", "../../internal/formats/dialect/claw0/testdata/*.jsonl"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no transcripts match %s (%v)", pattern, err)
		}
		files = append(files, found...)
	}
	folder := filepath.Join(c.home, "projects", "-x")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			file, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			home := t.TempDir()
			id := dialect.UUID("interop", filepath.Base(file))
			runFirn(t, home, "convert", file, "--to", "claude", "-o", filepath.Join(folder, id+".jsonl"))
			s := openHome(t, home, filestore.Options{})
			s.id = firn.ID(importFile(t, home, file).Session.ID)
			// Thinking is useful only to its own provider, and Codex's environment context
			// is a meta message.
			want := withoutThinking(withoutPlace(saidIn(t, s, claudeWords, nil)))
			for i, line := range want {
				want[i] = first.Or(sdkCalls[filepath.Base(file)][line], line)
			}
			got := sdkAsk(t, d, map[string]string{"read": id})
			if diff := cmp.Diff(want, withoutThinking(flatMessages(t, got.messages()))); diff != "" {
				t.Errorf("the SDK reads different messages (-firn +SDK):\n%s", diff)
			}
		})
	}
}

func withoutThinking(flat []string) []string {
	return slices.DeleteFunc(flat, func(line string) bool { return strings.HasPrefix(line, "thinking ") })
}
