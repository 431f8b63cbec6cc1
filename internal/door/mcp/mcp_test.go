package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// testServer is a gateway and an MCP client in one process.
type testServer struct {
	*sdk.ClientSession
	t        *testing.T
	c        *client.Client
	progress chan string
	// changed receives the URIs of changed sessions, and "list" for a changed list.
	changed chan string
	watch   *watcher
}

// newTestServer creates a gateway whose model calls play for each message.
func newTestServer(t *testing.T, play func(last string) scripted.Step) *testServer {
	t.Helper()
	s := &testServer{t: t, progress: make(chan string, 100), changed: make(chan string, 1000)}
	st, err := filestore.Open(t.TempDir(), filestore.Options{})
	s.must(err)
	var model *scripted.Model
	model = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return model.Play(ctx, req, play(req.Window.Items[len(req.Window.Items)-1].Message.Text()))
	})
	g, err := gateway.New(gateway.Options{Store: st, Dialect: native.New(), Setup: gateway.Setup{
		Default: "main", Agents: map[string]*agent.Agent{"main": {Name: "main", Store: st, Model: model, NoTitles: true}},
	}})
	s.must(err)
	local := client.InProcess(api.Owner(api.Handler(g, api.Config{})))
	s.c, err = client.New(client.Options{Transport: local})
	s.must(err)
	ours, theirs := sdk.NewInMemoryTransports()
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	server, watch := newServer(ctx, s.c, Options{Version: "test", live: true, connected: true, page: 3})
	s.watch = watch
	go func() { served <- server.Run(ctx, ours) }()
	s.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: "test"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.progress <- fmt.Sprint(r.Params.ProgressToken, ": ", r.Params.Message)
		},
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { s.changed <- "list" },
		ResourceUpdatedHandler:     func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { s.changed <- r.Params.URI },
	}).Connect(t.Context(), theirs, nil)
	s.must(err)
	t.Cleanup(func() {
		s.Close()
		cancel()
		<-served
		watch.close()
		s.c.Close()
		s.must(g.Close(context.Background()))
		s.must(st.Close())
	})
	return s
}

func (s *testServer) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// tool calls a tool and returns its text.
func (s *testServer) tool(name string, args any) (string, bool) {
	s.t.Helper()
	result, err := s.CallTool(s.t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	s.must(err)
	text, _ := result.Content[0].(*sdk.TextContent)
	return text.Text, result.IsError
}

// echo answers with the message.
func echo(last string) scripted.Step { return scripted.Reply("re: " + last) }

// filled creates a session of many messages, one of them long, and returns their IDs.
func (s *testServer) filled(n int) (firn.ID, []firn.EntryID) {
	s.t.Helper()
	session, err := s.c.NewSession(s.t.Context(), wire.NewSession{})
	s.must(err)
	var lines []json.RawMessage
	for i := range n {
		text := fmt.Sprintf("message %d.", i+1)
		if i == n-2 {
			text += strings.Repeat(" long", 10_000)
		}
		line, err := native.New().Append(nil, firn.NewEntry(firn.UserText(text).Body))
		s.must(err)
		lines = append(lines, line)
	}
	added, err := s.c.Append(s.t.Context(), session.ID, client.Any, wire.NewEntries{Entries: lines})
	s.must(err)
	return session.ID, added.IDs
}

// TestReading checks that results are limited, contain the position to continue from, and
// are found by name.
func TestReading(t *testing.T) {
	s := newTestServer(t, echo)
	id, entries := s.filled(300)
	text, _ := s.tool("read_session", readArgs{Session: string(id)})
	if !strings.Contains(text, "message 300.") || !strings.Contains(text, "message 271.") || strings.Contains(text, "message 270.") ||
		!strings.Contains(text, "earlier messages omitted") || !strings.Contains(text, "bytes of this entry omitted") || len(text) > mostText+1000 {
		t.Errorf("%d bytes:\n%s", len(text), text)
	}
	one, three := 1, 3
	for _, name := range []string{string(entries[99]), "#100"} {
		text, _ = s.tool("read_session", readArgs{Session: string(id), Around: name, Before: &three, After: &one})
		for i, want := range map[int]bool{96: false, 97: true, 98: true, 99: true, 100: true, 101: true, 102: false} {
			if strings.Contains(text, fmt.Sprintf("message %d.", i)) != want {
				t.Errorf("around %s, message %d: want %v in\n%s", name, i, want, text)
			}
		}
		if !strings.Contains(text, "earlier messages omitted") || !strings.Contains(text, "later messages omitted") {
			t.Errorf("around %s it does not report that there is more:\n%s", name, text)
		}
	}
	text, _ = s.tool("read_session", readArgs{Session: string(id), Around: string(entries[0]), Before: &three, After: &one})
	if strings.Contains(text, "earlier messages omitted") || !strings.HasSuffix(strings.TrimSpace(text), "later messages omitted") {
		t.Errorf("around the first there is\n%s", text)
	}
	for _, bad := range []readArgs{{Session: string(id), Around: "#9999"}, {Session: string(id), View: "sideways"}, {Session: "nobody"}} {
		if text, failed := s.tool("read_session", bad); !failed || text == "" {
			t.Errorf("%+v reads %s", bad, text)
		}
	}
}

// TestSending checks the progress notifications, and that a canceled call stops its turn
// and records that.
func TestSending(t *testing.T) {
	s := newTestServer(t, func(last string) scripted.Step {
		if last == "hang" {
			return scripted.Hang(1_000, scripted.Reply(strings.Repeat("on and on ", 1000)))
		}
		return scripted.Reply(strings.Repeat("word ", 400))
	})
	params := &sdk.CallToolParams{Name: "send_message", Arguments: sendArgs{Text: "hello", Key: "notes"}}
	params.SetProgressToken("t")
	result, err := s.CallTool(t.Context(), params)
	s.must(err)
	if result.IsError || <-s.progress != "t: sending the message" || <-s.progress != "t: the agent is answering" {
		t.Errorf("the result is %+v", result)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	params = &sdk.CallToolParams{Name: "send_message", Arguments: sendArgs{Text: "hang", Key: "notes"}}
	params.SetProgressToken("u")
	go func() {
		_, err := s.CallTool(ctx, params)
		failed <- err
	}()
	for <-s.progress != "u: the agent is answering" { // before that there may be no turn to stop
	}
	cancel()
	if err := <-failed; err == nil {
		t.Error("a canceled call succeeded")
	}
	session, err := s.c.Session(t.Context(), "@notes")
	s.must(err)
	for e, err := range s.c.Events(t.Context(), session.ID, 0) {
		s.must(err)
		if strings.Contains(string(e.Data), `\"stopReason\":\"aborted\"`) || strings.Contains(string(e.Data), `"stopReason":"aborted"`) {
			break
		}
	}
	for _, bad := range []sendArgs{{}, {Text: "x", Session: "a", Key: "b"}, {Text: "x", Session: "nobody"}, {Text: "x", Agent: "nobody"}} {
		if text, failed := s.tool("send_message", bad); !failed || text == "" {
			t.Errorf("%+v returned %s", bad, text)
		}
	}
}

// TestDirectory checks that messages record the directory that the client names.
func TestDirectory(t *testing.T) {
	s := newTestServer(t, echo)
	for _, c := range []struct{ dir, want string }{
		{"/home/ann/shop", "/home/ann/shop"}, {"/home/ann/shop", "/home/ann/shop"}, {"", "/home/ann/shop"},
		{"/home/ann/other", "/home/ann/shop then /home/ann/other"},
	} {
		if text, failed := s.tool("send_message", sendArgs{Text: "hello", Key: "notes", CWD: c.dir}); failed {
			t.Fatal(text)
		}
		session, err := s.c.Session(t.Context(), "@notes")
		s.must(err)
		if got := session.CWD + strings.Join(append([]string{""}, session.Directories...), " then "); got != c.want {
			t.Errorf("after a message in %q the directories are %q, want %q", c.dir, got, c.want)
		}
	}
	if text, failed := s.tool("send_message", sendArgs{Text: "hello", CWD: "a\nb"}); !failed {
		t.Errorf("a missing directory is accepted: %s", text)
	}
}
