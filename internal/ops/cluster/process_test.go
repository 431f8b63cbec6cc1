package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/door/api"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/internal/ops/cluster"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store/jetstream"
	"firn.dev/tool"
)

// processEnv is the variable that makes the test binary run as a gateway.
const processEnv = "FIRN_TEST_GATEWAY"

// process is a gateway in a separate process.
type process struct {
	Store jetstream.Options
	Port  int
	TTL   time.Duration
	// Seed is the seed of the model's choices.
	Seed uint64

	command *exec.Cmd
	stdin   io.Closer
}

// beProcess is the main function of a gateway process. It ends with its parent or its
// input.
func beProcess(config string) error {
	var p process
	if err := json.Unmarshal([]byte(config), &p); err != nil {
		return err
	}
	st, err := p.open()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	c, err := cluster.Join(context.Background(), cluster.Options{Engine: st, TTL: p.TTL, Linger: 500 * time.Millisecond, Log: log})
	if err != nil {
		return err
	}
	agents := map[string]*agent.Agent{"main": {Name: "main", Store: st, Model: echo(basetest.NewRandom(p.Seed)), Tools: []tool.Tool{tool.Calc()}}}
	g, err := gateway.New(gateway.Options{Store: st, Dialect: native.New(), Setup: gateway.Setup{Default: "main", Agents: agents}, Peers: c, Log: log})
	if err != nil {
		return err
	}
	h := api.Handler(g, api.Config{Peers: c, Heartbeat: time.Second, Log: log})
	if err := c.Start(g, h); err != nil {
		return err
	}
	g.StartRecovery()
	l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", p.Port))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: api.Owner(h)}
	go func() { _ = server.Serve(l) }()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	h.Drain()
	quick, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	ctx, cancelLast := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancelLast()
	return errors.Join(g.Close(quick), c.Close(ctx), server.Close(), st.Close())
}

// open opens the store once the cluster is reachable.
func (p *process) open() (*jetstream.Store, error) {
	deadline := time.Now().Add(basetest.Limit)
	for {
		st, err := jetstream.Open(context.Background(), p.Store)
		if err == nil || time.Now().After(deadline) {
			return st, err
		}
	}
}

// echo returns a model that echoes the last message in pieces, sometimes after a tool call.
func echo(chance *rand.Rand) provider.Model {
	return scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		text, calls := "", false
		for _, it := range req.Window.Items {
			m := &it.Message
			if m.Role == firn.RoleUser {
				text = m.Text()
			}
			calls = m.Role == firn.RoleUser && chance.IntN(4) == 0
		}
		step := scripted.Reply("heard: " + text)
		if calls {
			step = scripted.Call(string(firn.NewEntryID()), "calc", `{"expression":"6*7"}`)
		}
		step.Delay = time.Duration(chance.Int64N(int64(8 * time.Millisecond)))
		return scripted.New(scripted.Info()).Play(ctx, req, step)
	})
}

// start starts the process and waits until it listens.
func (p *process) start(t testing.TB) {
	t.Helper()
	p.Store.Report = nil
	config, err := json.Marshal(struct {
		Store any
		Port  int
		TTL   time.Duration
		Seed  uint64
	}{map[string]any{"URL": p.Store.URL, "Monitors": p.Store.Monitors, "Space": p.Store.Space, "Shards": p.Store.Shards}, p.Port, p.TTL, p.Seed})
	if err != nil {
		t.Fatal(err)
	}
	p.command = exec.Command(os.Args[0])
	p.command.Env = append(os.Environ(), processEnv+"="+string(config))
	p.command.Stderr = os.Stderr
	stdin, err := p.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the gateway printed %q, %v", line, err)
	}
}

// stop shuts the process down.
func (p *process) stop() {
	_ = p.stdin.Close()
	_ = p.command.Wait()
}

// kill kills the process.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

func (p *process) address() string { return fmt.Sprint("http://127.0.0.1:", p.Port) }
