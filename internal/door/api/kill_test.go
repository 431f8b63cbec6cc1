package api_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/base/route"
	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// childHome is the variable that makes this program, run as a child, a gateway for a home.
const childHome = "FIRN_GATEWAY_CHILD"

// children are the functions this program runs instead of its tests, by the variable that
// selects them.
var children = map[string]func(){}

// childAs adds to children.
func childAs(variable string, run func()) bool {
	children[variable] = run
	return true
}

func TestMain(m *testing.M) {
	for variable, run := range children {
		if os.Getenv(variable) != "" {
			run()
			return
		}
	}
	if home := os.Getenv(childHome); home != "" {
		if err := serveChild(home); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveChild serves a home with an echoing model until it is killed.
func serveChild(home string) error {
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		return err
	}
	g, err := gateway.New(gateway.Options{Store: st, Setup: echoing(st), Home: home})
	if err != nil {
		return err
	}
	if _, err := g.Recover(context.Background()); err != nil {
		return err
	}
	return api.Serve(context.Background(), api.ServeOptions{
		Home: home, Socket: api.SocketPath(home), Handler: api.Handler(g, api.Config{Requests: 1000}), Close: g.Close,
		Ready: func(api.Address) { fmt.Println("ready") },
	})
}

// echoing returns a setup whose model echoes the last message.
func echoing(st store.Store) gateway.Setup {
	var m *scripted.Model
	m = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		last := req.Window.Items[len(req.Window.Items)-1].Message.Text()
		return m.Play(ctx, req, scripted.Reply("re: "+last))
	})
	none := time.Duration(0)
	return gateway.Setup{
		Default: "main", Agents: map[string]*agent.Agent{"main": {Store: st, Model: m, NoTitles: true}},
		Queue: route.Queue{Mode: route.QueueFollowup, Cap: 1000, Debounce: &none},
	}
}

// TestKillUnderLoad kills a gateway repeatedly while many clients use it. Each acknowledged
// message must be in the log exactly once, and answered once the last gateway has caught
// up.
func TestKillUnderLoad(t *testing.T) {
	clients, messages, kills := 50, 100, 6
	if testing.Short() {
		clients, messages, kills = 20, 20, 3
	}
	home := filepath.Join(t.TempDir(), "h")
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i := range clients {
		header := firn.Entry{Body: &firn.Header{Session: session(i), Agent: "main"}}
		if _, err := st.Append(t.Context(), session(i), store.Start, header); err != nil {
			t.Fatal(err)
		}
	}
	load := &load{t: t, home: home, messages: messages, acked: make([][]firn.EntryID, clients)}
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() { load.talk(i) })
	}
	total := int64(clients * messages)
	child, chance := startGateway(t, home), basetest.Random(t)
	for k := range kills {
		// At a random moment of each part of the load.
		at := total * int64(k) / int64(kills+1)
		load.reach(at + chance.Int64N(total/int64(kills+1)))
		_ = child.Process.Kill()
		_ = child.Wait()
		child = startGateway(t, home)
	}
	group.Wait()
	load.waitIdle()
	load.check(st, clients)
	_ = child.Process.Kill()
	_ = child.Wait()
}

func session(i int) firn.ID { return firn.ID(fmt.Sprintf("s%03d", i)) }

// startGateway starts a gateway and waits until it listens.
func startGateway(t *testing.T, home string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childHome+"="+home)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 6)
	if n, err := out.Read(ready); err != nil || !strings.HasPrefix(string(ready[:n]), "ready") {
		t.Fatalf("the gateway printed %q, %v", ready[:n], err)
	}
	return cmd
}

// load is a set of clients of a gateway that is killed repeatedly.
type load struct {
	t        *testing.T
	home     string
	messages int
	sent     atomic.Int64
	mu       sync.Mutex
	acked    [][]firn.EntryID
}

// talk sends messages to one session, each until it is acknowledged. Half of them wait for
// the answer.
func (l *load) talk(i int) {
	c, err := client.New(client.Options{Address: "unix:" + api.SocketPath(l.home)})
	if err != nil {
		l.t.Error(err)
		return
	}
	defer c.Close()
	for k := range l.messages {
		wait := k%2 == 0
		turn := wire.Turn{Text: fmt.Sprintf("message %d", k), ID: firn.EntryID(fmt.Sprintf("c%03d-%03d", i, k)), Wait: &wait}
		for {
			_, err := c.Turn(l.t.Context(), session(i), turn)
			if err == nil || errors.Is(err, firn.ErrConflict) { // already answered before the acknowledgment arrived
				break
			}
			if l.t.Context().Err() != nil {
				return
			}
		}
		l.mu.Lock()
		l.acked[i] = append(l.acked[i], turn.ID)
		l.mu.Unlock()
		l.sent.Add(1)
	}
}

// reach waits until n messages were acknowledged.
func (l *load) reach(n int64) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.sent.Load() < n && l.t.Context().Err() == nil {
		<-tick.C
	}
}

// waitIdle waits until no turn is running.
func (l *load) waitIdle() {
	c, err := client.New(client.Options{Address: "unix:" + api.SocketPath(l.home)})
	if err != nil {
		l.t.Fatal(err)
	}
	defer c.Close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		running, err := c.Running(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		if len(running) == 0 {
			return
		}
		<-tick.C
	}
}

// check checks that every acknowledged message is stored exactly once, that each was
// answered after it, and that the last message of each session is the agent's.
func (l *load) check(st *filestore.Store, clients int) {
	l.t.Helper()
	for i := range clients {
		times := map[firn.EntryID]int{}
		owed := map[string]bool{}
		last := firn.Role("")
		for rec, err := range st.Read(l.t.Context(), session(i), store.Start) {
			if err != nil || rec.Gap != nil {
				l.t.Fatalf("%v %v", err, rec.Gap)
			}
			entry, err := rec.Entry()
			if err != nil {
				l.t.Fatal(err)
			}
			if m, ok := entry.Body.(*firn.Message); ok {
				switch last = m.Role; {
				case last == firn.RoleUser:
					times[entry.ID]++
					owed["re: "+m.Text()] = true
				case m.StopReason == firn.StopEnd:
					delete(owed, m.Text())
				}
			}
		}
		if last != firn.RoleAssistant {
			l.t.Errorf("session %d: the last message is the %s's", i, last)
		}
		if len(owed) > 0 {
			l.t.Errorf("session %d: these answers were never given: %v", i, slices.Collect(maps.Keys(owed)))
		}
		for _, id := range l.acked[i] {
			if times[id] != 1 {
				l.t.Errorf("session %d: %s is stored %d times", i, id, times[id])
			}
		}
	}
}
