package jetstreamtest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
)

// Blocks returns the files that hold a stream's messages on this server, oldest first.
func (n *Node) Blocks(t testing.TB, stream string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.Dir, "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(path[:len(path)-len(".blk")])) // a name that is not a number sorts first
		return n
	}
	slices.SortFunc(files, func(a, b string) int { return number(a) - number(b) })
	return files
}

// recordHeader is the size of the fixed part of a record in a block file: length,
// sequence, time, and length of the subject.
const recordHeader = 22

// highSequence is the offset of the upper bytes of a record's sequence, and timeOfRecord
// the offset after them. A server that reads a far too large sequence counts up to it and
// does not respond until it is killed (nats-server 2.15). Such a server hangs until its
// restart; it does not model a server with a missing record.
const highSequence, timeOfRecord = 7, 12

// Flip changes one bit in a block file of a stream, in place, and returns a description.
// Every record is chosen with the same probability regardless of its size, and in one of
// four cases the bit is in the fixed part of the record. The upper bytes of the sequence
// are never changed.
func (n *Node) Flip(t testing.TB, r *rand.Rand, stream string) string {
	t.Helper()
	type record struct {
		path         string
		offset, size int64
	}
	var records []record
	for _, path := range n.Blocks(t, stream) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at+recordHeader <= len(data); {
			size := int(binary.LittleEndian.Uint32(data[at:]) &^ (1 << 31))
			if size < recordHeader || at+size > len(data) {
				break // already damaged
			}
			records = append(records, record{path, int64(at), int64(size)})
			at += size
		}
	}
	if len(records) == 0 {
		return "no record in " + stream
	}
	hit := records[r.IntN(len(records))]
	offset := r.Int64N(hit.size)
	if r.IntN(4) == 0 {
		offset = r.Int64N(recordHeader)
	}
	if offset >= highSequence && offset < timeOfRecord {
		offset += timeOfRecord - highSequence
	}
	f, err := os.OpenFile(hit.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], hit.offset+offset); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << r.IntN(8)
	if _, err := f.WriteAt(b[:], hit.offset+offset); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("byte %d of the record at %d in %s of %s on %s", offset, hit.offset, filepath.Base(hit.path), stream, n.Name)
}

// errNotAsked means that another server was asked.
var errNotAsked = errors.New("another server was asked")

// direct requests messages of a stream until this server's replica was asked: the servers
// choose a replica at random, and the trace of a request identifies it. Each message is
// passed to take.
func (n *Node) direct(nc *nats.Conn, stream, request string, take func(*nats.Msg)) {
	for range 40 { // a damaged replica may not respond at all
		messages, err := n.try(nc, stream, request)
		if err != nil {
			continue
		}
		for _, m := range messages {
			take(m)
		}
		return
	}
}

// try makes one request.
func (n *Node) try(nc *nats.Conn, stream, request string) ([]*nats.Msg, error) {
	answers, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = answers.Unsubscribe() }()
	traces, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = traces.Unsubscribe() }()
	err = nc.PublishMsg(&nats.Msg{Subject: "$JS.API.DIRECT.GET." + stream, Reply: answers.Subject, Data: []byte(request), Header: nats.Header{"Nats-Trace-Dest": {traces.Subject}}})
	if err != nil {
		return nil, err
	}
	for asked := ""; asked == ""; {
		m, err := traces.NextMsg(time.Second)
		if err != nil {
			return nil, err
		}
		asked = lastServer(m.Data)
		if asked != "" && asked != n.Name {
			return nil, errNotAsked
		}
	}
	var all []*nats.Msg
	for {
		m, err := answers.NextMsg(2 * time.Second)
		if err != nil || m.Header.Get("Status") != "" {
			return all, nil
		}
		if all = append(all, m); !strings.Contains(request, "batch") {
			return all, nil
		}
	}
}

// lastServer returns the server of a trace if the request was not forwarded.
func lastServer(trace []byte) string {
	var event struct {
		Server struct {
			Name string `json:"name"`
		} `json:"server"`
		Events []struct {
			Type string `json:"type"`
			Kind int    `json:"kind"`
		} `json:"events"`
	}
	if json.Unmarshal(trace, &event) != nil {
		return ""
	}
	for _, step := range event.Events {
		if step.Type == "eg" && step.Kind == 1 { // to another server
			return ""
		}
	}
	return event.Server.Name
}

// Holds returns the hash of each message in this server's replica of a stream, by sequence.
// It reads the stream in order up to the first damaged message. As a side effect, the
// server drops all blocks but the last from its cache.
func (n *Node) Holds(api js.JetStream, stream string) map[string]uint64 {
	held := make(map[string]uint64)
	n.direct(api.Conn(), stream, `{"seq":1,"next_by_subj":">","batch":100000,"max_bytes":60000000}`, func(m *nats.Msg) {
		h := fnv.New64a()
		h.Write(m.Data) // a hash never fails
		h.Write([]byte(m.Header.Get("Nats-Msg-Id")))
		held[m.Header.Get("Nats-Sequence")] = h.Sum64()
	})
	return held
}

// Lead tries to make this server the leader of a stream, and reports whether it is.
func (c *Cluster) Lead(t testing.TB, api js.JetStream, stream string, n *Node) bool {
	t.Helper()
	nc := api.Conn()
	body, err := json.Marshal(map[string]any{"placement": map[string]string{"preferred": n.Name}})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); {
		if c.Leader(t, api, stream) == n {
			return true
		}
		_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, body, 2*time.Second) // repeated until it leads
	}
	return false
}

// Heal repairs a damaged server as the runbook describes: it stops it (or kills it if it
// does not stop), empties its directory, starts it and waits until it has caught up.
func (c *Cluster) Heal(t testing.TB, api js.JetStream, n *Node) {
	t.Helper()
	slow := time.AfterFunc(10*time.Second, n.Crash)
	n.Stop()
	slow.Stop()
	if err := os.RemoveAll(n.Dir); err != nil {
		t.Fatal(err)
	}
	n.Start(t)
	c.Current(t, api)
}

// Current waits until all replicas of all streams have caught up.
func (c *Cluster) Current(t testing.TB, api js.JetStream) {
	t.Helper()
	if behind := c.AwaitCurrent(t.Context(), api, 3*time.Minute); behind != "" {
		t.Fatalf("replicas do not catch up: %s", behind)
	}
}

// AwaitCurrent waits for at most the given time until all replicas of all streams have
// caught up, and returns the name of one that has not.
func (c *Cluster) AwaitCurrent(ctx context.Context, api js.JetStream, most time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for calm := 0; calm < 2; {
		behind := lagging(ctx, api)
		if ctx.Err() != nil {
			return behind
		}
		if calm++; behind != "" {
			calm = 0
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ""
}

// lagging returns the name of a replica that has not caught up, or an empty string.
func lagging(ctx context.Context, api js.JetStream) string {
	once, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	streams := api.ListStreams(once)
	n := 0
	for info := range streams.Info() {
		n++
		if info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != info.Config.Replicas-1 {
			return info.Config.Name
		}
		for _, r := range info.Cluster.Replicas {
			if !r.Current || r.Offline || r.Lag > 0 {
				return info.Config.Name + " on " + r.Name
			}
		}
	}
	if err := streams.Err(); err != nil {
		return err.Error()
	}
	if n == 0 {
		return "no stream"
	}
	return ""
}
