package jetstream_test

import (
	"fmt"
	"slices"
	"testing"

	"firn.dev/internal/ops/jetstreamtest"
	"firn.dev/store/jetstream"

	js "github.com/nats-io/nats.go/jetstream"
)

// cluster is a group of three servers that tests share.
type cluster struct {
	*jetstreamtest.Cluster
	nodes []*node
}

// node is one of the servers, in a separate process.
type node struct{ *jetstreamtest.Node }

func (n *node) start(t testing.TB) { n.Start(t) }
func (n *node) stop()              { n.Stop() }
func (n *node) kill()              { n.Kill() }

// newCluster starts a cluster. It is ready once a store can be opened.
func newCluster(t testing.TB, dir string) *cluster {
	t.Helper()
	return clusterOf(jetstreamtest.New(t, dir))
}

func clusterOf(servers *jetstreamtest.Cluster) *cluster {
	c := &cluster{Cluster: servers}
	for _, n := range c.Nodes {
		c.nodes = append(c.nodes, &node{n})
	}
	return c
}

func (c *cluster) stop() { c.Stop() }

// options returns the options of an empty store on the cluster, connected to the named nodes,
// or to any.
func (c *cluster) options(t testing.TB, names ...string) jetstream.Options {
	o := jetstream.Options{Space: fmt.Sprint("c", spaces.Add(1)), Shards: 1, Report: func(m string) { t.Log(m) }}
	return c.through(o, names...)
}

// through changes which nodes a store is connected to.
func (c *cluster) through(o jetstream.Options, names ...string) jetstream.Options {
	return c.Through(o, names...)
}

func (c *cluster) open(t testing.TB, o jetstream.Options) *jetstream.Store {
	t.Helper()
	return c.Open(t, o)
}

func (c *cluster) connect(t testing.TB) js.JetStream { return c.Connect(t) }

func (c *cluster) clear(t testing.TB, space string) { c.Clear(t, space) }

// leader returns the node that leads a stream, once there is one.
func (c *cluster) leader(t testing.TB, api js.JetStream, stream string) *node {
	t.Helper()
	name := c.Leader(t, api, stream).Name
	return c.nodes[slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == name })]
}
