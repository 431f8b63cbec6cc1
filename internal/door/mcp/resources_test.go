package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/wire"
)

// TestResources checks the list, whose pages are complete, and each kind of resource.
func TestResources(t *testing.T) {
	s := newTestServer(t, echo)
	id, entries := s.filled(130)
	for range 4 { // more than a page of the test
		s.filled(2)
	}
	var uris []string
	for r, err := range s.Resources(t.Context(), nil) {
		s.must(err)
		uris = append(uris, r.URI)
	}
	if len(uris) != 6 || uris[0] != sessionsURI || !slices.Contains(uris, sessionURI(id)) {
		t.Errorf("%d resources, the first %s", len(uris), uris[0])
	}
	if _, err := s.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: "elsewhere"}); err == nil {
		t.Error("a cursor of another list is accepted")
	}
	base := sessionURI(id)
	for uri, want := range map[string]string{
		base: "message 130.", base[:len(base)-4]: "message 130.", base + "/entry/%23123": "message 123.", base + "/entry/" + string(entries[6]): "message 7.",
	} {
		result, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		s.must(err)
		if c := result.Contents[0]; !strings.Contains(c.Text, want) || c.MIMEType != "text/plain" || c.URI != uri || result.CacheScope != "private" {
			t.Errorf("%s: %s %s", uri, c.MIMEType, c.Text)
		}
	}
	for _, uri := range []string{
		"firn://session/missing", base + "/entry/%239999", base + "/entry/%23123/image/1", base + "/entry/x/image/0", base + "/other", "firn://note/agent/none", "firn://note/user/none", "firn://session/%zz", "file:///etc/passwd",
	} {
		if r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%s: %v, %v", uri, r, err)
		}
	}
}

// TestCut checks that what is left out of a long text is marked.
func TestCut(t *testing.T) {
	if got := cut("abcdef", 4); got != "abcd\n… 2 bytes omitted\n" || cut("abcd", 4) != "abcd" {
		t.Errorf("the text is cut to %q", got)
	}
}

// TestImageResource checks that the image of a message is a binary resource.
func TestImageResource(t *testing.T) {
	s := newTestServer(t, echo)
	session, err := s.c.NewSession(t.Context(), wire.NewSession{})
	s.must(err)
	line, err := native.New().Append(nil, firn.NewEntry(&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Image{Data: "iVBORw0KGgo=", MimeType: "image/png"}}}))
	s.must(err)
	added, err := s.c.Append(t.Context(), session.ID, client.Any, wire.NewEntries{Entries: []json.RawMessage{line}})
	s.must(err)
	result, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: fmt.Sprintf("%s/entry/%s/image/1", sessionURI(session.ID), added.IDs[0])})
	s.must(err)
	if c := result.Contents[0]; c.MIMEType != "image/png" || string(c.Blob) != "\x89PNG\r\n\x1a\n" {
		t.Errorf("the image is %s %q", c.MIMEType, c.Blob)
	}
}

// FuzzURI checks that a URI that is accepted has all parts of its kind.
func FuzzURI(f *testing.F) {
	for _, seed := range []string{sessionsURI, "firn://session/a", "firn://session/a/entry/%23b", "firn://session/a/entry/b/image/1", "firn://note/agent/x?key=k", "firn://session/%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		name, ok := parseURI(uri)
		if !ok {
			return
		}
		complete := map[string]bool{
			kindSessions: uri == sessionsURI, kindSession: name.session != "", kindEntry: name.session != "" && name.entry != "",
			kindImage: name.session != "" && name.entry != "" && name.image > 0, kindNote: name.note != "" && name.place.Scope != "",
		}
		if !complete[name.kind] {
			t.Errorf("%q is %+v", uri, name)
		}
	})
}

// TestPrompts checks each prompt, with and without what it needs.
func TestPrompts(t *testing.T) {
	s := newTestServer(t, echo)
	id, _ := s.filled(3)
	get := func(name string, arguments map[string]string) (string, error) {
		result, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: name, Arguments: arguments})
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(result.Messages)
		return string(text), err
	}
	for _, c := range []struct {
		name      string
		arguments map[string]string
		want      []string
	}{
		{"recent_sessions", nil, []string{string(id), "message 1."}},
		{"summarize_session", map[string]string{"session": string(id), "focus": "numbers"}, []string{`"type":"resource"`, "message 3.", "Focus on: numbers"}},
		{"continue_session", map[string]string{"session": string(id)}, []string{sessionURI(id), "next open step"}},
	} {
		text, err := get(c.name, c.arguments)
		s.must(err)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", c.name, want, text)
			}
		}
	}
	for name, arguments := range map[string]map[string]string{
		"summarize_session": {"focus": "x"}, "continue_session": {"session": "missing"}, "recall_topic": {"topic": "x", "agent": "none"}, "none": nil,
	} {
		var refused *jsonrpc.Error
		if text, err := get(name, arguments); !errors.As(err, &refused) || refused.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("%s %v is %s, %v", name, arguments, text, err)
		}
	}
}

// TestCompletions checks the completion of each argument, and that every prompt and template
// is in the table.
func TestCompletions(t *testing.T) {
	s := newTestServer(t, echo)
	id, entries := s.filled(3)
	_, err := s.c.NewSession(t.Context(), wire.NewSession{Key: "agent:main:notes", Title: "An odd title"})
	s.must(err)
	prompt, template := func(name string) *sdk.CompleteReference {
		return &sdk.CompleteReference{Type: "ref/prompt", Name: name}
	}, func(uri string) *sdk.CompleteReference {
		return &sdk.CompleteReference{Type: "ref/resource", URI: uri}
	}
	complete := func(ref *sdk.CompleteReference, name, value string, known map[string]string) ([]string, error) {
		result, err := s.Complete(t.Context(), &sdk.CompleteParams{Ref: ref, Argument: sdk.CompleteParamsArgument{Name: name, Value: value}, Context: &sdk.CompleteContext{Arguments: known}})
		if err != nil {
			return nil, err
		}
		return result.Completion.Values, nil
	}
	for _, c := range []struct {
		ref         *sdk.CompleteReference
		name, value string
		known       map[string]string
		want        string
	}{
		{prompt("summarize_session"), "session", string(id)[:len(id)-3], nil, string(id)},
		{prompt("continue_session"), "session", "@agent:m", nil, "@agent:main:notes"},
		{template(sessionTemplate), "id", "message 1.", nil, string(id)},
		{template(entryTemplate), "entry", string(entries[1]), map[string]string{"id": string(id)}, string(entries[1])},
		{template(noteTemplate), "agent", "ma", nil, "main"},
		{template(noteTemplate), "scope", "pro", nil, "project"},
		{template(noteTemplate), "key", "agent:", nil, "agent:main:notes"},
		{template(noteTemplate), "name", "", map[string]string{"scope": "user"}, ""},
		{template(entryTemplate), "entry", "", nil, ""},
		{prompt("recall_topic"), "topic", "x", nil, ""},
	} {
		got, err := complete(c.ref, c.name, c.value, c.known)
		if s.must(err); strings.Join(got, " ") != c.want {
			t.Errorf("%s%s %s %q: %q, want %q", c.ref.Name, c.ref.URI, c.name, c.value, got, c.want)
		}
	}
	for _, bad := range []*sdk.CompleteReference{prompt("none"), template("firn://other/{id}"), prompt("recall_topic")} {
		if got, err := complete(bad, "other", "", nil); err == nil {
			t.Errorf("%v: %v", bad, got)
		}
	}
	for p, err := range s.Prompts(t.Context(), nil) {
		s.must(err)
		for _, a := range p.Arguments {
			if _, ok := completions[p.Name][a.Name]; !ok {
				t.Errorf("the argument %s of %s is not in the table", a.Name, p.Name)
			}
		}
	}
	for r, err := range s.ResourceTemplates(t.Context(), nil) {
		s.must(err)
		if _, ok := completions[r.URITemplate]; !ok {
			t.Errorf("%s is not in the table", r.URITemplate)
		}
	}
}

// TestNotifications checks that a client learns of new sessions, and of each change of a
// session until it unsubscribes.
func TestNotifications(t *testing.T) {
	s := newTestServer(t, echo)
	id, _ := s.filled(2)
	uri := sessionURI(id)
	// The events may be followed a moment later than the client began to listen.
	for found := false; !found; {
		_, err := s.c.NewSession(t.Context(), wire.NewSession{})
		s.must(err)
		for wait := time.After(100 * time.Millisecond); !found && wait != nil; {
			select {
			case what := <-s.changed:
				found = what == "list"
			case <-wait:
				wait = nil
			}
		}
	}
	s.must(s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
	if text, failed := s.tool("send_message", sendArgs{Text: "hello", Session: string(id)}); failed {
		t.Fatal(text)
	}
	for <-s.changed != uri {
	}
	s.must(s.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri}))
	// The client does not wait for the end of its subscription, so this asks the server until
	// it has seen it.
	for len(s.watch.namesOf(id)) != 0 {
		_, err := s.ListPrompts(t.Context(), nil)
		s.must(err)
	}
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	if len(s.watch.sessions) != 0 {
		t.Error("a session is followed after the client unsubscribed")
	}
	if announced, err := json.Marshal(s.InitializeResult()); err != nil || strings.Contains(string(announced), `"logging"`) {
		t.Errorf("log messages are announced: %s, %v", announced, err)
	}
}

// TestSubscribing checks which resources can be subscribed to, and how many; that all
// spellings of a session share a follower, which ends with the last of them; and that none
// begins after the end.
func TestSubscribing(t *testing.T) {
	s := newTestServer(t, echo)
	id, _ := s.filled(2)
	w := newWatcher(t.Context(), &toolServer{c: s.c})
	defer w.close()
	ask := func(uri string) error {
		return w.subscribe(t.Context(), &sdk.SubscribeRequest{Params: &sdk.SubscribeParams{URI: uri}})
	}
	for _, bad := range []string{"firn://session/missing", sessionURI(id) + "/entry/%231", sessionsURI, "firn://note/agent/x", "x"} {
		if err := ask(bad); err == nil {
			t.Errorf("%s can be subscribed to", bad)
		}
	}
	// Each spelling has another letter of the path percent-encoded, or two.
	spelling := func(n int) string {
		text := []byte(string(id))
		at := len(text) - 1 - n%16
		uri := fmt.Sprintf("firn://session/%s%%%02x%s", text[:at], text[at], text[at+1:])
		if n >= 16 {
			uri = strings.Replace(uri, "firn://session/", "firn://%73ession/", 1)
		}
		return uri
	}
	check := func(uris, followed int) {
		t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.names) != uris || len(w.sessions) != followed {
			t.Errorf("%d URIs of %d sessions, want %d of %d", len(w.names), len(w.sessions), uris, followed)
		}
	}
	for n := range mostSubscriptions {
		s.must(ask(spelling(n)))
		s.must(ask(spelling(n)))
	}
	check(mostSubscriptions, 1)
	var refused *jsonrpc.Error
	if err := ask(sessionURI(id)); !errors.As(err, &refused) || refused.Code != jsonrpc.CodeInvalidParams {
		t.Errorf("a subscription above the limit: %v", err)
	}
	for n := range mostSubscriptions {
		check(mostSubscriptions-n, 1)
		s.must(w.unsubscribe(t.Context(), &sdk.UnsubscribeRequest{Params: &sdk.UnsubscribeParams{URI: spelling(n)}}))
	}
	check(0, 0)
	w.close()
	if err := ask(sessionURI(id)); err == nil {
		t.Error("a session is followed after the end")
	}
	check(0, 0)
}
