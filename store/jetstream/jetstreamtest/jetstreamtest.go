// Package jetstreamtest starts real clusters of servers for tests: processes of
// their own, which can be killed, stopped and started again.
//
// The servers are the test binary itself. Its TestMain calls [Serve] if the
// variable [Env] is set, and goes on as usual if not.
package jetstreamtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev/internal/base/basetest"
	"firn.dev/store/jetstream"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// Env is the variable that tells a test binary that it shall be a server.
const Env = "FIRN_TEST_NODE"

// Node is one server of a cluster, a process of its own.
type Node struct {
	Name                   string
	Dir                    string
	Client, Route, Monitor int
	Routes                 []int
	// Lazy leaves syncing to the system.
	Lazy bool
	// Forgetful makes the server free blocks that it has read as soon as it may,
	// so that changes of its files are seen while it runs.
	Forgetful bool

	command *exec.Cmd
	stdin   io.Closer
}

// Serve is the main function of a server; config is the value of the variable. It
// ends when its parent does, or input, which is its standard input, ends.
func Serve(config string, input io.Reader) error {
	var n Node
	if err := json.Unmarshal([]byte(config), &n); err != nil {
		return err
	}
	o := &server.Options{
		ServerName: n.Name, Host: "127.0.0.1", Port: n.Client, HTTPHost: "127.0.0.1", HTTPPort: n.Monitor,
		JetStream: true, StoreDir: n.Dir, SyncAlways: !n.Lazy, NoSigs: true, LogFile: n.Dir + ".log",
	}
	if n.Route != 0 { // else it stands alone
		o.Cluster = server.ClusterOpts{Name: "firn", Host: "127.0.0.1", Port: n.Route}
	}
	for _, port := range n.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	go s.Start()
	if !s.ReadyForConnections(basetest.Limit) {
		return fmt.Errorf("server %s does not get ready", n.Name)
	}
	fmt.Println("ready")
	if n.Forgetful {
		go forget()
	}
	_, err = io.Copy(io.Discard, input)
	s.Shutdown()
	s.WaitForShutdown()
	return err
}

// forget collects garbage all the time: a server keeps blocks that it does not need
// any more until then.
func forget() {
	for range time.Tick(500 * time.Millisecond) {
		runtime.GC()
	}
}

// Start starts the process, and waits until it listens.
func (n *Node) Start(t testing.TB) {
	t.Helper()
	config, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	n.command = exec.Command(binary)
	n.command.Env = append(n.command.Environ(), Env+"="+string(config))
	n.command.Stderr = os.Stderr
	stdin, err := n.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.stdin = stdin
	stdout, err := n.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.command.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("server %s says %q, %v", n.Name, line, err)
	}
}

// Stop ends the process in order.
func (n *Node) Stop() {
	_ = n.stdin.Close()
	_ = n.command.Wait()
}

// Kill ends the process as a crash does.
func (n *Node) Kill() {
	_ = n.command.Process.Kill()
	_ = n.command.Wait()
}

// Crash kills the process and does not wait for it.
func (n *Node) Crash() { _ = n.command.Process.Kill() }

// Signal sends the process a signal.
func (n *Node) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := n.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Cluster is three servers.
type Cluster struct{ Nodes []*Node }

// New starts a cluster. It is ready once a store can be opened.
func New(t testing.TB, dir string) *Cluster {
	t.Helper()
	return start(t, dir, false)
}

// NewForgetful starts a cluster whose servers see changes of their files.
func NewForgetful(t testing.TB, dir string) *Cluster {
	t.Helper()
	return start(t, dir, true)
}

func start(t testing.TB, dir string, forgetful bool) *Cluster {
	t.Helper()
	ports := basetest.FreePorts(t, 9)
	c := &Cluster{}
	for i := range 3 {
		c.Nodes = append(c.Nodes, &Node{Name: fmt.Sprint("n", i+1), Dir: fmt.Sprint(dir, "/n", i+1),
			Client: ports[i], Route: ports[3+i], Monitor: ports[6+i], Routes: ports[3:6], Forgetful: forgetful})
	}
	var wg sync.WaitGroup
	for _, n := range c.Nodes {
		wg.Go(func() { n.Start(t) })
	}
	wg.Wait()
	return c
}

// Stop kills all servers.
func (c *Cluster) Stop() {
	for _, n := range c.Nodes {
		n.Kill()
	}
}

// Through changes which nodes a store is connected to: those that are named, or
// any.
func (c *Cluster) Through(o jetstream.Options, names ...string) jetstream.Options {
	var urls []string
	o.Monitors = nil
	for _, n := range c.Nodes {
		o.Monitors = append(o.Monitors, fmt.Sprint("http://127.0.0.1:", n.Monitor))
		if len(names) == 0 || strings.Contains(strings.Join(names, " "), n.Name) {
			urls = append(urls, fmt.Sprint("nats://127.0.0.1:", n.Client))
		}
	}
	o.URL = strings.Join(urls, ",")
	return o
}

// Open opens a store once the cluster can make one, and closes it after the
// test.
func (c *Cluster) Open(t testing.TB, o jetstream.Options) *jetstream.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), basetest.Limit)
	defer cancel()
	for {
		st, err := jetstream.Open(ctx, o)
		if err == nil {
			t.Cleanup(func() { _ = st.Close() })
			return st
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// Behind connects to the cluster itself.
func (c *Cluster) Behind(t testing.TB) js.JetStream {
	t.Helper()
	nc, err := nats.Connect(c.Through(jetstream.Options{}).URL, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	api, err := js.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// Clear deletes the streams of a space.
func (c *Cluster) Clear(t testing.TB, space string) {
	api := c.Behind(t)
	ctx, cancel := context.WithTimeout(context.Background(), basetest.Limit)
	defer cancel()
	for ctx.Err() == nil {
		if err := clearOnce(ctx, api, space); err == nil {
			return
		}
	}
	t.Logf("the streams of %s could not be deleted", space)
}

// clearOnce deletes streams if there is somebody who does, and does not wait for
// long.
func clearOnce(ctx context.Context, api js.JetStream, space string) error {
	once, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	names := api.StreamNames(once)
	var wg sync.WaitGroup
	failed := make(chan error, 1)
	for name := range names.Name() {
		if !strings.Contains(name, space+"_") {
			continue
		}
		wg.Go(func() {
			if err := api.DeleteStream(once, name); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return names.Err()
	}
}

// ask asks about a stream, and does not wait for long.
func ask(ctx context.Context, api js.JetStream, stream string) (js.Stream, error) {
	once, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return api.Stream(once, stream)
}

// Leader returns the node that leads a stream, once there is one.
func (c *Cluster) Leader(t testing.TB, api js.JetStream, stream string) *Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), basetest.Limit)
	defer cancel()
	for ctx.Err() == nil {
		s, err := ask(ctx, api, stream) // one who was stopped does not answer
		if err != nil || s.CachedInfo().Cluster == nil {
			continue
		}
		for _, n := range c.Nodes {
			if n.Name == s.CachedInfo().Cluster.Leader {
				return n
			}
		}
	}
	t.Fatalf("nobody leads %s", stream)
	return nil
}
