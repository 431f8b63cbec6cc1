package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store/filestore"
)

// target is a release of a tool and the API that it uses.
type target struct {
	name  string
	start func(t *testing.T) client
	// all is true if it is tested only by `make interop-all`.
	all bool
	// slow is true for a tool that takes long to start. api is the API that it uses.
	slow bool
	api  string
}

// apis are the APIs of providers that pi and OpenClaw use.
var apis = []string{"anthropic-messages", "openai-completions", "openai-responses"}

// everything reports whether to test all tools with all sessions, which takes long and
// needs the installations of `make interop-all`.
func everything() bool { return os.Getenv("FIRN_INTEROP") == "all" }

// targets returns the tools that sessions are handed to.
func targets() []target {
	list := []target{
		{name: "claude", start: func(t *testing.T) client { return newClaude(t).client() }},
		{name: "codex", start: func(t *testing.T) client { return newCodex(t).client() }},
	}
	for _, api := range apis {
		for name, version := range piCommands {
			all := name == "pi" || name == "pi-new" && api != "openai-responses" || name == "pi-next" && api != "anthropic-messages"
			list = append(list, target{name: "pi " + version + " on " + api, start: func(t *testing.T) client { return newPi(t, name, api) }, all: all})
		}
		for name, version := range openClawReleases {
			start := func(t *testing.T) client { return newOpenClaw(t, name, api).client() }
			list = append(list, target{name: "openclaw " + version + " on " + api, start: start, all: true, slow: true, api: api})
		}
	}
	slices.SortFunc(list, func(a, b target) int { return strings.Compare(a.name, b.name) })
	return list
}

// nasty are sessions that a provider would reject unchanged, by their defect.
var nasty = map[string]func(t *testing.T, s *session){
	"call ids of pi on OpenAI": func(t *testing.T, s *session) {
		id := "call_" + strings.Repeat("a", 32) + "|fc_" + strings.Repeat("b", 44)
		s.add(t, userMessage("ask one"))
		s.add(t, answered("Reading.", calls(id), calls(id+"2"), calls("tool:1/é")))
		s.add(t, returned(id, "alpha"))
		s.add(t, returned(id+"2", "beta"))
		s.add(t, returned("tool:1/é", "gamma"))
		s.add(t, answered("Alpha, beta and gamma."))
	},
	"one id for all calls": func(t *testing.T, s *session) {
		for _, word := range []string{"one", "two", "three"} {
			s.add(t, userMessage("ask "+word))
			s.add(t, answered("Reading.", calls("call_1")))
			s.add(t, returned("call_1", "result "+word))
			s.add(t, answered("answer "+word))
		}
	},
	"names of tools": func(t *testing.T, s *session) {
		s.add(t, userMessage("ask one"))
		for i, name := range []string{"fs.read", "mcp:server/tool with spaces", strings.Repeat("long", 20), ""} {
			id := fmt.Sprintf("toolu_%d", i)
			s.add(t, answered("Reading.", firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(`{}`)}))
			s.add(t, &firn.Message{Role: firn.RoleToolResult, Time: at, Parts: []firn.Part{firn.ToolResult{CallID: id, Name: name, Content: []firn.Part{firn.Text{Text: "ok"}}}}})
		}
		s.add(t, answered("answer one"))
	},
	"arguments": func(t *testing.T, s *session) {
		s.add(t, userMessage("ask one"))
		for i, arguments := range []string{`"{\"path\":\"a\"}"`, `"ls -l"`, `[1]`, `null`, `7`} {
			id := fmt.Sprintf("toolu_%d", i)
			s.add(t, answered("Reading.", firn.ToolCall{ID: id, Name: "read", Arguments: json.RawMessage(arguments)}))
			s.add(t, returned(id, "ok"))
		}
		s.add(t, answered("answer one"))
	},
	"the assistant begins": func(t *testing.T, s *session) {
		s.add(t, answered("Good morning."))
		s.talk(t, "one")
	},
	"images": func(t *testing.T, s *session) {
		pictures := []firn.Part{firn.Text{Text: "ask one"}, firn.Image{MimeType: "image/png"}, firn.Image{MimeType: "application/pdf", Data: "JVBERi0="}, firn.Image{MimeType: "image/jpeg", Data: dot}, firn.Image{MimeType: "image/png", Data: "not base64"}}
		s.add(t, &firn.Message{Role: firn.RoleUser, Time: at, Parts: pictures})
		s.add(t, answered("Reading.", calls("toolu_1")))
		s.add(t, &firn.Message{Role: firn.RoleToolResult, Time: at, Parts: []firn.Part{firn.ToolResult{CallID: "toolu_1", Name: "read", Content: pictures[1:]}}})
		s.add(t, answered("answer one"))
	},
	"a document": func(t *testing.T, s *session) {
		pdf := firn.OpaquePart{Type: "document", Raw: json.RawMessage(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"}}`)}
		s.add(t, &firn.Message{Role: firn.RoleUser, Time: at, Parts: []firn.Part{pdf}})
		s.add(t, answered("A document.", calls("toolu_1")))
		s.add(t, &firn.Message{Role: firn.RoleToolResult, Time: at, Parts: []firn.Part{firn.ToolResult{CallID: "toolu_1", Name: "read", Content: []firn.Part{pdf}}}})
		s.add(t, answered("answer one"))
	},
	"parts of another provider": func(t *testing.T, s *session) {
		search := firn.OpaquePart{Type: "web_search_call", Raw: json.RawMessage(`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"snow"}}`)}
		s.add(t, userMessage("ask one"))
		s.add(t, &firn.Message{Role: firn.RoleAssistant, Time: at, Parts: []firn.Part{search}})
		s.add(t, &firn.Message{Role: firn.RoleAssistant, Time: at, Parts: []firn.Part{firn.Text{Text: "answer one"}}})
	},
	"results and calls that are alone": func(t *testing.T, s *session) {
		s.add(t, userMessage("ask one"))
		s.add(t, returned("toolu_0", "nobody asked"))
		s.add(t, answered("Reading.", calls("toolu_1"), calls("toolu_2")))
		s.add(t, returned("toolu_1", "alpha"))
		s.add(t, answered("answer one"))
		s.add(t, userMessage("ask two"))
		s.add(t, answered("Reading.", calls("toolu_3")))
		s.add(t, userMessage("are you there?"))
		s.add(t, returned("toolu_3", "late"))
		s.add(t, answered("answer two"))
	},
	"a session without an answer": func(t *testing.T, s *session) {
		s.add(t, userMessage("ask one"))
	},
	"a last question without an answer": func(t *testing.T, s *session) {
		s.talk(t, "one")
		s.add(t, userMessage("ask two"))
	},
	"blank text": func(t *testing.T, s *session) {
		s.add(t, userMessage("ask one"))
		s.add(t, answered(" \n", calls("toolu_1")))
		s.add(t, returned("toolu_1", " "))
		s.add(t, answered("answer one"))
		s.add(t, userMessage(" "))
		s.add(t, answered("\t"))
		s.talk(t, "two")
	},
	"a failed answer with calls": func(t *testing.T, s *session) {
		s.talk(t, "one")
		s.add(t, userMessage("ask two"))
		failed := answered("Half an answer.", calls("tool:1|fc_"+strings.Repeat("b", 64)))
		failed.StopReason, failed.Error = firn.StopError, "overloaded"
		s.add(t, failed)
		s.talk(t, "three")
	},
	"rewound to a call": func(t *testing.T, s *session) {
		s.add(t, userMessage("ask one"))
		call := s.add(t, answered("Reading.", calls("toolu_1"), calls("toolu_2")))
		s.add(t, returned("toolu_1", "alpha"))
		s.add(t, returned("toolu_2", "beta"))
		s.add(t, answered("abandoned answer"))
		s.addAfter(t, call, userMessage("ask two"))
		s.add(t, answered("answer two"))
	},
	"an interrupted call at the end": func(t *testing.T, s *session) {
		s.talk(t, "one")
		s.add(t, userMessage("ask two"))
		s.add(t, answered("Reading.", calls("toolu_1"), calls("toolu_2")))
		s.add(t, returned("toolu_2", "beta"))
	},
	"branched": branched,
	"rewound":  rewound,
}

// TestStrictHandoff hands sessions that a provider would reject to every tool, and asks one
// more question there. The provider must accept the request.
func TestStrictHandoff(t *testing.T) {
	for _, to := range targets() {
		if to.all && !everything() {
			continue
		}
		for name, build := range nasty {
			t.Run(to.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newSession(t, filestore.Options{})
				build(t, s)
				strictHandoff(t, s, to.start(t))
			})
		}
	}
}

// TestStrictHandoffOfTranscripts does the same with transcripts of other tools. OpenClaw, which
// needs ten seconds of a processor to start, gets each with one of the APIs: the file that it
// reads is the same for all of them.
func TestStrictHandoffOfTranscripts(t *testing.T) {
	for _, to := range targets() {
		for i, file := range transcripts(t) {
			if to.slow && i%len(apis) != slices.Index(apis, to.api) {
				continue
			}
			own := strings.HasPrefix(file, "../../internal/formats/dialect/"+strings.Fields(to.name)[0])
			if (to.all || i%4 > 0) && !everything() || own && !isResumable(file) {
				continue
			}
			t.Run(to.name+"/"+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				s := openHome(t, home, filestore.Options{})
				s.id = firn.ID(importFile(t, home, absolute(t, file)).Session.ID)
				strictHandoff(t, s, to.start(t))
			})
		}
	}
}

// isResumable reports whether a transcript can be handed back to its own tool, which copies
// it: it must be a real file of the tool, possibly of an old release or a sub-agent. The
// others were written by hand for tests of readers.
func isResumable(file string) bool {
	for _, prefix := range []string{"real-", "agent-test", "rollout-2025"} {
		if strings.HasPrefix(filepath.Base(file), prefix) {
			return true
		}
	}
	return false
}

// transcripts returns the transcripts of other tools, except large ones.
func transcripts(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"claudecode/testdata/transcripts", "codex/testdata", "claw0/testdata", "crabtalk/testdata", "cersei/testdata"} {
		found, err := filepath.Glob("../../internal/formats/dialect/" + pattern + "/*.jsonl")
		if err != nil || len(found) == 0 {
			t.Fatalf("there are no transcripts in %s (%v)", pattern, err)
		}
		files = append(files, found...)
	}
	return slices.DeleteFunc(files, func(file string) bool { return strings.Contains(file, "_part2") })
}

// strictHandoff hands a session over and asks a question. The provider must accept the
// request, which must contain the last message of the session and the question, and nothing
// from abandoned branches.
func strictHandoff(t *testing.T, s *session, c client) {
	t.Helper()
	h := s.handoff(t, c.tool, c.home, c.cwd)
	sent := strings.Join(c.ask(t, "what was it?", h.Resume[1:]...), "\n")
	if !strings.Contains(sent, "what was it?") { // OpenClaw combines it with an unanswered question
		t.Errorf("it does not send the question:\n%.3000s", sent)
	}
	path := s.path(t)
	if last := lastWords(flatWindow(t, path)); !strings.Contains(sent, last) {
		t.Errorf("it does not send the last words %q:\n%.3000s", last, sent)
	}
	live := strings.Join(flatWindow(t, path), "\n")
	for _, e := range s.entries(t) {
		if m, ok := e.Body.(*firn.Message); ok && len(m.Text()) > 7 && !strings.Contains(live, m.Text()) && strings.Contains(sent, m.Text()) {
			t.Errorf("it sends %q from an abandoned branch or a hidden entry", m.Text())
		}
	}
}

// lastWords returns the last text of a user or assistant.
func lastWords(flat []string) string {
	for _, line := range slices.Backward(flat) {
		role, text, _ := strings.Cut(line, ": ")
		if text = strings.TrimSpace(text); (role == "user" || role == "assistant") && text != "" && !strings.HasPrefix(text, "[") {
			if _, summary, ok := strings.Cut(text, "<summary>\n"); ok {
				text = summary // each tool introduces it in its own words
			}
			line, _, _ = strings.Cut(text, "\n")
			return firn.CutText(line, 60)
		}
	}
	return ""
}
