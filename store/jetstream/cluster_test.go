package jetstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"firn/store/jetstream"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// nodeEnv tells the test binary that it shall be a server of a cluster.
const nodeEnv = "FIRN_TEST_NODE"

// node is one server of a cluster, a process of its own.
type node struct {
	Name                   string
	Dir                    string
	Client, Route, Monitor int
	Routes                 []int
	// Lazy leaves syncing to the system.
	Lazy bool

	command *exec.Cmd
	stdin   io.Closer
}

// beNode is the main function of a server. It ends when its parent does.
func beNode(config string) error {
	var n node
	if err := json.Unmarshal([]byte(config), &n); err != nil {
		return err
	}
	o := &server.Options{
		ServerName: n.Name, Host: "127.0.0.1", Port: n.Client, HTTPHost: "127.0.0.1", HTTPPort: n.Monitor,
		JetStream: true, StoreDir: n.Dir, SyncAlways: !n.Lazy, NoSigs: true, NoLog: true,
		Cluster: server.ClusterOpts{Name: "firn", Host: "127.0.0.1", Port: n.Route},
	}
	for _, port := range n.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	go s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return fmt.Errorf("server %s does not get ready", n.Name)
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	s.WaitForShutdown()
	return err
}

// start starts the process, and waits until it listens.
func (n *node) start(t testing.TB) {
	t.Helper()
	config, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	n.command = exec.Command(os.Args[0])
	n.command.Env = append(os.Environ(), nodeEnv+"="+string(config))
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

// stop ends the process in order.
func (n *node) stop() {
	_ = n.stdin.Close()
	_ = n.command.Wait()
}

// kill ends the process as a crash does.
func (n *node) kill() {
	_ = n.command.Process.Kill()
	_ = n.command.Wait()
}

// cluster is three servers that tests share.
type cluster struct{ nodes []*node }

// newCluster starts a cluster. It is ready once a store can be opened.
func newCluster(t testing.TB, dir string) *cluster {
	t.Helper()
	ports := freePorts(t, 9)
	c := &cluster{}
	for i := range 3 {
		c.nodes = append(c.nodes, &node{Name: fmt.Sprint("n", i+1), Dir: fmt.Sprint(dir, "/n", i+1),
			Client: ports[i], Route: ports[3+i], Monitor: ports[6+i], Routes: ports[3:6]})
	}
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		wg.Go(func() { n.start(t) })
	}
	wg.Wait()
	return c
}

// freePorts finds ports that nobody uses.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func (c *cluster) stop() {
	for _, n := range c.nodes {
		n.kill()
	}
}

// options are those of an empty store on the cluster that is connected to the
// nodes that are named, or to any.
func (c *cluster) options(t testing.TB, names ...string) jetstream.Options {
	o := jetstream.Options{Space: fmt.Sprint("c", spaces.Add(1)), Shards: 1, Report: func(m string) { t.Log(m) }}
	return c.through(o, names...)
}

// through changes which nodes a store is connected to.
func (c *cluster) through(o jetstream.Options, names ...string) jetstream.Options {
	var urls []string
	o.Monitors = nil
	for _, n := range c.nodes {
		o.Monitors = append(o.Monitors, fmt.Sprint("http://127.0.0.1:", n.Monitor))
		if len(names) == 0 || strings.Contains(strings.Join(names, " "), n.Name) {
			urls = append(urls, fmt.Sprint("nats://127.0.0.1:", n.Client))
		}
	}
	o.URL = strings.Join(urls, ",")
	return o
}

// open opens a store once the cluster can make one, and takes its streams away
// after the test.
func (c *cluster) open(t testing.TB, o jetstream.Options) *jetstream.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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

// behind connects to the cluster itself.
func (c *cluster) behind(t testing.TB) js.JetStream {
	t.Helper()
	nc, err := nats.Connect(c.through(jetstream.Options{}).URL, nats.MaxReconnects(-1))
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

// clear deletes the streams of a space.
func (c *cluster) clear(t testing.TB, space string) {
	api := c.behind(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var mine []string
	for name := range api.StreamNames(ctx).Name() {
		if strings.Contains(name, space+"_") {
			mine = append(mine, name)
		}
	}
	for _, name := range mine {
		if err := api.DeleteStream(ctx, name); err != nil {
			t.Logf("delete stream %s: %v", name, err)
		}
	}
}

// leader returns the node that leads a stream, once there is one.
func (c *cluster) leader(t testing.TB, api js.JetStream, stream string) *node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		s, err := api.Stream(ctx, stream)
		if err != nil || s.CachedInfo().Cluster == nil {
			continue
		}
		for _, n := range c.nodes {
			if n.Name == s.CachedInfo().Cluster.Leader {
				return n
			}
		}
	}
	t.Fatalf("nobody leads %s", stream)
	return nil
}
