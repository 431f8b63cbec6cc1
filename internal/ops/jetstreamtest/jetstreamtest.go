// Package jetstreamtest starts real NATS clusters for tests. The servers are separate
// processes, which can be killed, stopped and restarted.
//
// The servers run in the test binary itself. Its TestMain calls [Serve] if the variable
// [Env] is set.
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

// Env is the environment variable that makes a test binary run as a server.
const Env = "FIRN_TEST_NODE"

// Node is one server of a cluster, in a separate process.
type Node struct {
	Name                   string
	Dir                    string
	Client, Route, Monitor int
	Routes                 []int
	// Lazy leaves syncing to the operating system.
	Lazy bool
	// Forgetful makes the server free the blocks it has read as soon as possible, so that
	// changes of its files take effect while it runs.
	Forgetful bool

	command *exec.Cmd
	stdin   io.Closer
}

// Serve is the main function of a server; config is the value of the variable. It returns
// when its parent process exits or input, its standard input, ends.
func Serve(config string, input io.Reader) error {
	var n Node
	if err := json.Unmarshal([]byte(config), &n); err != nil {
		return err
	}
	o := &server.Options{
		ServerName: n.Name, Host: "127.0.0.1", Port: n.Client, HTTPHost: "127.0.0.1", HTTPPort: n.Monitor,
		JetStream: true, StoreDir: n.Dir, SyncAlways: !n.Lazy, NoSigs: true, LogFile: n.Dir + ".log",
	}
	if n.Route != 0 { // otherwise it is standalone
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
		return fmt.Errorf("server %s did not become ready", n.Name)
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

// ServeFile is the command nats-server with a configuration file: it runs a server until the
// process is killed.
func ServeFile(config string) error {
	o, err := server.ProcessConfigFile(config)
	if err != nil {
		return err
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	s.WaitForShutdown()
	return nil
}

// forget runs the garbage collector continuously: a server keeps unneeded blocks until
// then.
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
		t.Fatalf("server %s printed %q, %v", n.Name, line, err)
	}
}

// Stop shuts the process down cleanly.
func (n *Node) Stop() {
	_ = n.stdin.Close()
	_ = n.command.Wait()
}

// Kill kills the process, like a crash.
func (n *Node) Kill() {
	_ = n.command.Process.Kill()
	_ = n.command.Wait()
}

// Crash kills the process without waiting for it to exit.
func (n *Node) Crash() { _ = n.command.Process.Kill() }

// Signal sends the process a signal.
func (n *Node) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := n.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// Cluster is a cluster of three servers.
type Cluster struct{ Nodes []*Node }

// New starts a cluster. It is ready once a store can be opened.
func New(t testing.TB, dir string) *Cluster {
	t.Helper()
	return start(t, dir, false)
}

// NewForgetful starts a cluster whose servers notice changes of their files.
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

// Through returns options that connect a store to the named nodes, or to any node if no
// names are given.
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

// Open opens a store once the cluster is ready, and closes it after the test.
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

// Connect returns a JetStream client of the cluster.
func (c *Cluster) Connect(t testing.TB) js.JetStream {
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
	api := c.Connect(t)
	ctx, cancel := context.WithTimeout(context.Background(), basetest.Limit)
	defer cancel()
	for ctx.Err() == nil {
		if err := clearOnce(ctx, api, space); err == nil {
			return
		}
	}
	t.Logf("the streams of %s could not be deleted", space)
}

// clearOnce makes one attempt to delete the streams, with a short timeout.
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

// ask queries a stream with a short timeout.
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
		s, err := ask(ctx, api, stream) // a stopped server does not respond
		if err != nil || s.CachedInfo().Cluster == nil {
			continue
		}
		for _, n := range c.Nodes {
			if n.Name == s.CachedInfo().Cluster.Leader {
				return n
			}
		}
	}
	t.Fatalf("stream %s has no leader", stream)
	return nil
}
