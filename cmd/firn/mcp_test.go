package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/base/basetest"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// program is firn with a home of its own.
func program(home string, args ...string) *exec.Cmd {
	cmd := exec.Command("firn", args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "FIRN_GATEWAY=")
	return cmd
}

// outputs runs firn and returns its output.
func outputs(t *testing.T, home string, args ...string) string {
	t.Helper()
	cmd := program(home, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("firn %v: %v\n%s", args, err, &errs)
	}
	return string(out)
}

// mcpClient is the protocol's own client.
func mcpClient(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// call calls a tool and returns its text and structured content.
func call(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (string, map[string]any, bool) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var text strings.Builder
	for _, c := range result.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	data, _ := result.StructuredContent.(map[string]any)
	return text.String(), data, result.IsError
}

// well calls a tool that must not fail.
func well(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (string, map[string]any) {
	t.Helper()
	text, data, failed := call(t, s, name, args)
	if failed {
		t.Fatalf("%s %v: %s", name, args, text)
	}
	return text, data
}

// TestMCPOnStdio starts firn mcp as clients do: without a gateway, and next to one.
func TestMCPOnStdio(t *testing.T) {
	home := t.TempDir()
	s := mcpClient(t, &mcp.CommandTransport{Command: program(home, "mcp")})
	walkMCP(t, s)
	s.Close()
	if out := outputs(t, home, "ls", "--json"); !strings.Contains(out, "6*7") {
		t.Errorf("the message is not in the home: %s", out)
	}

	gateway := startServe(t, home)
	s = mcpClient(t, &mcp.CommandTransport{Command: program(home, "mcp", "--gateway", gateway.Address)})
	if text, _ := well(t, s, "list_sessions", nil); !strings.Contains(text, "6*7") {
		t.Errorf("next to a gateway it lists %s", text)
	}
}

// walkMCP does all that can be done.
func walkMCP(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if got := fmt.Sprint(names); got != "[compact_session forget fork_session get_window list_sessions read_session read_window recall remember search_sessions send_message]" {
		t.Errorf("the tools are %s", got)
	}
	_, sent := well(t, s, "send_message", map[string]any{"text": "what is 6*7?"})
	id, _ := sent["session"].(string)
	if answer, _ := sent["text"].(string); !strings.Contains(answer, "42") || id == "" {
		t.Fatalf("the answer is %v", sent)
	}
	well(t, s, "send_message", map[string]any{"text": "my name is Ada" + strings.Repeat(" and I have more to say", 200), "session": id})
	_, data := well(t, s, "list_sessions", map[string]any{"text": "6*7"})
	if rows, _ := data["sessions"].([]any); len(rows) != 1 {
		t.Errorf("the list is %v", data)
	}
	text, _ := well(t, s, "read_session", map[string]any{"session": id})
	for _, want := range []string{"what is 6*7?", "my name is Ada", "42"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	text, _ = well(t, s, "read_session", map[string]any{"session": id, "around": sent["entry"], "before": 0, "after": 0})
	if !strings.Contains(text, "42") || strings.Contains(text, "Ada") || !strings.Contains(text, "earlier messages omitted") || !strings.Contains(text, "later messages omitted") {
		t.Errorf("around the answer there is\n%s", text)
	}
	if text, _ = well(t, s, "get_window", map[string]any{"session": id}); !strings.Contains(text, "my name is Ada") {
		t.Errorf("the window is\n%s", text)
	}
	_, fork := well(t, s, "fork_session", map[string]any{"session": id, "at": sent["entry"], "title": "another way"})
	if fork["title"] != "another way" || fork["id"] == id {
		t.Errorf("the fork is %v", fork)
	}
	if text, _, failed := call(t, s, "compact_session", map[string]any{"session": id, "plan": true}); failed || !strings.Contains(text, "nothing to do") {
		t.Errorf("a short session is compacted: %s", text)
	}
	if text, _ = well(t, s, "compact_session", map[string]any{"session": id, "keep_recent": 1, "hint": "numbers"}); !strings.Contains(text, "the summary, entry ") {
		t.Errorf("the compaction is\n%s", text)
	}
	findMCP(t, s, id, sent["entry"])
	notesMCP(t, s)
	resourcesMCP(t, s, id, fmt.Sprint(sent["entry"]))
	resource, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "firn://session/" + id})
	if err != nil || !strings.Contains(resource.Contents[0].Text, "my name is Ada") {
		t.Errorf("the resource is %v, %v", resource, err)
	}
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "firn://session/missing"}); err == nil {
		t.Error("a session that does not exist has a resource")
	}
	text, _, failed := call(t, s, "read_session", map[string]any{"session": "nobody-here"})
	if !failed || !strings.Contains(text, "nobody-here") {
		t.Errorf("a session that does not exist returns %s", text)
	}
}

// findMCP finds a message, even before a compaction, and reads its context.
func findMCP(t *testing.T, s *mcp.ClientSession, id string, entry any) {
	t.Helper()
	text, _ := well(t, s, "search_sessions", map[string]any{"query": "what is 6*7", "session": id})
	if !strings.Contains(text, "[1] session "+id+", entry ") || !strings.Contains(text, "> #") || !strings.Contains(text, "compacted") {
		t.Errorf("the search finds\n%s", text)
	}
	if text, _ = well(t, s, "search_sessions", map[string]any{"query": "walrus"}); !strings.Contains(text, "no results") {
		t.Errorf("a search for nothing finds\n%s", text)
	}
	text, _ = well(t, s, "read_window", map[string]any{"session": id, "entry": entry, "before": 3, "after": 0})
	if !strings.Contains(text, "42") || !strings.Contains(text, "what is 6*7?") || strings.Contains(text, "Ada") {
		t.Errorf("the window is\n%s", text)
	}
	for name, args := range map[string]map[string]any{
		"search_sessions": {"query": "role:nobody x"}, "read_window": {"session": id, "entry": "#9999"},
	} {
		if text, _, failed := call(t, s, name, args); !failed || text == "" {
			t.Errorf("%s %v returned %s", name, args, text)
		}
	}
}

// resourcesMCP lists resources, reads an entry and a note, uses a prompt, and completes its
// argument.
func resourcesMCP(t *testing.T, s *mcp.ClientSession, id, entry string) {
	t.Helper()
	well(t, s, "remember", map[string]any{"text": "Bread is baked on Fridays", "name": "bread"})
	list, err := s.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, r := range list.Resources {
		uris = append(uris, r.URI)
	}
	for _, want := range []string{"firn://sessions", "firn://note/agent/bread", "firn://session/" + id} {
		if !slices.Contains(uris, want) {
			t.Errorf("%s is not among %v", want, uris)
		}
	}
	for uri, want := range map[string]string{"firn://session/" + id + "/entry/" + entry: "42", "firn://note/agent/bread": "Fridays", "firn://sessions": id} {
		got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(got.Contents[0].Text, want) {
			t.Errorf("%s is %v, %v", uri, got, err)
		}
	}
	prompt, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "continue_session", Arguments: map[string]string{"session": id, "task": "multiply"}})
	if err != nil || len(prompt.Messages) != 2 {
		t.Errorf("the prompt is %v, %v", prompt, err)
	}
	topic, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "recall_topic", Arguments: map[string]string{"topic": "bread"}})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := topic.Messages[0].Content.(*mcp.TextContent); !ok || !strings.Contains(text.Text, "Fridays") {
		t.Errorf("the topic is %v, %v", topic, err)
	}
	done, err := s.Complete(t.Context(), &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "continue_session"}, Argument: mcp.CompleteParamsArgument{Name: "session", Value: id[:20]},
	})
	if err != nil || !slices.Contains(done.Completion.Values, id) {
		t.Errorf("the session is completed as %v, %v", done, err)
	}
	well(t, s, "forget", map[string]any{"what": "agent/bread"})
}

// notesMCP notes something, finds it, and forgets it; scopes are apart.
func notesMCP(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	ann := "agent:main:telegram:direct:ann"
	_, kept := well(t, s, "remember", map[string]any{"text": "The ferry to Moss leaves at nine", "type": "project"})
	refs, _ := kept["refs"].([]any)
	if kept["scope"] != "agent" || len(refs) != 1 {
		t.Fatalf("it noted %v", kept)
	}
	if _, theirs := well(t, s, "remember", map[string]any{"text": "The ferry of Ann is blue", "key": ann}); theirs["scope"] != "user" {
		t.Errorf("about Ann it noted %v", theirs)
	}
	recall := func(args map[string]any) string {
		args["query"] = "ferry"
		text, _ := well(t, s, "recall", args)
		return text
	}
	if text := recall(map[string]any{}); !strings.Contains(text, "[1] note "+fmt.Sprint(refs[0])+", project") || !strings.Contains(text, "leaves at nine") || strings.Contains(text, "blue") {
		t.Errorf("it recalls\n%s", text)
	}
	if text := recall(map[string]any{"key": ann, "scope": "user"}); !strings.Contains(text, "blue") || strings.Contains(text, "nine") {
		t.Errorf("of Ann it recalls\n%s", text)
	}
	if text, _ := well(t, s, "forget", map[string]any{"what": refs[0]}); !strings.Contains(text, "firn memory undo ") {
		t.Errorf("got %s", text)
	}
	if text := recall(map[string]any{"scope": "agent"}); strings.Contains(text, "nine") {
		t.Errorf("a forgotten note is recalled:\n%s", text)
	}
	for name, args := range map[string]map[string]any{
		"remember": {"text": " "}, "recall": {"query": " "}, "forget": {"what": "nothing of that kind"},
	} {
		if text, _, failed := call(t, s, name, args); !failed || text == "" {
			t.Errorf("%s %v returned %s", name, args, text)
		}
	}
}

// TestMCPReadOnly offers nothing that changes something.
func TestMCPReadOnly(t *testing.T) {
	home := t.TempDir()
	outputs(t, home, "chat", "-p", "hello")
	s := mcpClient(t, &mcp.CommandTransport{Command: program(home, "mcp", "--read-only")})
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 6 {
		t.Errorf("there are %v, %v", tools, err)
	}
	if text, _ := well(t, s, "list_sessions", nil); !strings.Contains(text, "hello") {
		t.Errorf("the list is %s", text)
	}
}

// listening is where a gateway listens.
type listening struct{ Address, TCP string }

// startServe starts a gateway that listens on TCP too.
func startServe(t *testing.T, home string, args ...string) listening {
	t.Helper()
	cmd := program(home, append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var ready listening
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	return ready
}

// bearing sends a token with every request.
type bearing string

// RoundTrip sends the token.
func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// boundResources checks that a token bound to a key reads, lists, completes and subscribes to
// its own sessions only.
func boundResources(t *testing.T, writer, ann *mcp.ClientSession, updated <-chan string) {
	t.Helper()
	_, sent := well(t, ann, "send_message", map[string]any{"text": "hello", "key": "agent:main:telegram:direct:ann"})
	own := fmt.Sprint("firn://session/", sent["session"])
	list, err := ann.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 2 || list.Resources[1].URI != own {
		t.Errorf("the list is %v, %v", list, err)
	}
	all, err := writer.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var foreign string
	for _, r := range all.Resources {
		if _, err := ann.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI}); (err == nil) != (r.URI == own || r.URI == "firn://sessions") {
			t.Errorf("%s: %v", r.URI, err)
		}
		if id, ok := strings.CutPrefix(r.URI, "firn://session/"); ok && r.URI != own {
			foreign = id
		}
	}
	if _, err := ann.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "recall_topic", Arguments: map[string]string{"topic": "hello", "key": "agent:main:telegram:direct:ann"}}); err != nil {
		t.Errorf("the topic: %v", err)
	}
	sessions, err := ann.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "firn://sessions"})
	if err != nil || strings.Count(sessions.Contents[0].Text, "\n") != 1 {
		t.Errorf("the sessions are %v, %v", sessions, err)
	}
	done, err := ann.Complete(t.Context(), &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "firn://session/{id}"}, Argument: mcp.CompleteParamsArgument{Name: "id"},
	})
	if err != nil || fmt.Sprint(done.Completion.Values) != fmt.Sprintf("[%v]", sent["session"]) {
		t.Errorf("the sessions are completed as %v, %v", done, err)
	}
	// The client does not wait for the answer: that the first is refused shows below.
	for _, uri := range []string{"firn://session/" + foreign, own} {
		if err := ann.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil && uri == own {
			t.Fatal(err)
		}
	}
	well(t, writer, "send_message", map[string]any{"text": "not for others", "session": foreign})
	well(t, ann, "send_message", map[string]any{"text": "hello again", "key": "agent:main:telegram:direct:ann"})
	if uri := <-updated; uri != own {
		t.Errorf("%s was updated", uri)
	}
}

// listenRevoked checks that a request that listens ends when its token is revoked.
func listenRevoked(t *testing.T, home, tcp, secret string) {
	t.Helper()
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, tcp+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{
		"notifications":{"resourcesListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen",
	} {
		r.Header.Set(name, value)
	}
	response, err := bearing(secret).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	in := bufio.NewReader(response.Body)
	for line := ""; !strings.Contains(line, "acknowledged"); {
		if line, err = in.ReadString('\n'); err != nil {
			t.Fatalf("%s: %q, %v", response.Status, line, err)
		}
	}
	outputs(t, home, "token", "revoke", "leaving")
	if _, err := io.ReadAll(in); err != nil {
		t.Errorf("the request that listens ends with %v", err)
	}
}

// TestMCPOverHTTP connects to a gateway at /mcp: with a token that may write, with one that
// may only read, and without one.
func TestMCPOverHTTP(t *testing.T) {
	home := t.TempDir()
	tcp := "http://" + startServe(t, home).TCP
	updated := make(chan string, 100)
	connect := func(token string) (*mcp.ClientSession, error) {
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		})
		ctx, cancel := context.WithTimeout(t.Context(), basetest.Limit)
		defer cancel()
		return c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: tcp + "/mcp", HTTPClient: &http.Client{Transport: bearing(token)}}, nil)
	}
	secret := func(name, scope string, more ...string) string {
		var made struct{ Secret string }
		if err := json.Unmarshal([]byte(outputs(t, home, append([]string{"token", "create", name, "--scope", scope, "--json"}, more...)...)), &made); err != nil || made.Secret == "" {
			t.Fatalf("no token was made: %v", err)
		}
		return made.Secret
	}
	writer, err := connect(secret("writer", "write"))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	walkMCP(t, writer)
	reader, err := connect(secret("reader", "read"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if text, _ := well(t, reader, "list_sessions", nil); !strings.Contains(text, "6*7") {
		t.Errorf("the list is %s", text)
	}
	if text, _, failed := call(t, reader, "send_message", map[string]any{"text": "hello"}); !failed || !strings.Contains(text, "scope") {
		t.Errorf("a read-only token sends a message: %s", text)
	}
	if text, _ := well(t, reader, "search_sessions", map[string]any{"query": "what is 6*7"}); !strings.Contains(text, "42") {
		t.Errorf("a read-only token finds\n%s", text)
	}
	for name, args := range map[string]map[string]any{"remember": {"text": "something to know"}, "forget": {"what": "something"}} {
		if text, _, failed := call(t, reader, name, args); !failed || !strings.Contains(text, "scope") {
			t.Errorf("a read-only token may %s: %s", name, text)
		}
	}
	ann, err := connect(secret("ann", "write", "--key", "agent:main:telegram:direct:ann"))
	if err != nil {
		t.Fatal(err)
	}
	defer ann.Close()
	if text, _ := well(t, ann, "search_sessions", map[string]any{"query": "what is 6*7"}); strings.Contains(text, "42") {
		t.Errorf("a token bound to a key finds other sessions:\n%s", text)
	}
	if text, _ := well(t, ann, "recall", map[string]any{"query": "ferry", "key": "agent:main:telegram:direct:ann"}); !strings.Contains(text, "blue") {
		t.Errorf("their own notes are\n%s", text)
	}
	for _, args := range []map[string]any{{"query": "ferry"}, {"query": "ferry", "agent": "main"}, {"query": "ferry", "key": "agent:main:telegram:direct:bob"}} {
		if text, _, failed := call(t, ann, "recall", args); !failed {
			t.Errorf("%v returned\n%s", args, text)
		}
	}
	boundResources(t, writer, ann, updated)
	listenRevoked(t, home, tcp, secret("leaving", "read"))
	if _, err := connect("nobody"); err == nil {
		t.Error("a request without a token was accepted")
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, tcp+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://evil.example")
	response, err := bearing("x").RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign page gets %d", response.StatusCode)
	}
}
