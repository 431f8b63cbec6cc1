//go:build unix

package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/ops/jetstreamtest"
	"firn.dev/store"
	"firn.dev/store/jetstream"
	"firn.dev/wire"
)

// soak is a cluster of three servers and three gateways with active clients.
type soak struct {
	t        *testing.T
	servers  *jetstreamtest.Cluster
	leads    func(stream string) *jetstreamtest.Node
	options  jetstream.Options
	store    *jetstream.Store
	gateways []*process
	sessions []firn.ID

	mu sync.Mutex
	// sent holds the acknowledged messages, noted the acknowledged entries.
	sent, noted []spoken
	// lost holds entries with an unknown outcome.
	lost []spoken
	// faults counts the injected faults.
	faults map[string]int

	acks, retries, events atomic.Int64
	progress              chan struct{}

	seed   uint64
	chance *rand.Rand
}

// spoken is a message or entry of a session.
type spoken struct {
	session firn.ID
	id      firn.EntryID
	text    string
}

const (
	soakTTL      = 3 * time.Second
	soakClients  = 30
	soakSessions = 10
)

// duration is how long faults are injected: a few seconds, or 0.6 seconds for each of
// FIRN_KILLS, so that 2,000 take 20 minutes.
func duration() time.Duration {
	n, err := strconv.Atoi(os.Getenv("FIRN_KILLS"))
	if err != nil {
		n = 0
	}
	return time.Duration(n) * 600 * time.Millisecond
}

// TestKillGateways kills and pauses servers and gateways at random while clients of all
// gateways write to the same sessions, and compares the result with the acknowledgments.
func TestKillGateways(t *testing.T) {
	s := &soak{t: t, servers: jetstreamtest.New(t, t.TempDir()), faults: make(map[string]int), progress: make(chan struct{}, 1), seed: basetest.Seed(t)}
	s.chance = basetest.NewRandom(s.seed)
	s.run(s.harm)
}

// run starts the gateways and clients, injects faults, and checks the result.
func (s *soak) run(harm func()) {
	t := s.t
	t.Cleanup(s.servers.Stop)
	s.options = s.servers.Through(jetstream.Options{Space: "soak", Shards: 2})
	s.store = s.servers.Open(t, s.options)
	behind := s.servers.Connect(t)
	s.leads = func(stream string) *jetstreamtest.Node { return s.servers.Leader(t, behind, stream) }
	for _, port := range basetest.FreePorts(t, 3) {
		p := &process{Store: s.options, Port: port, TTL: soakTTL, Seed: s.seed}
		p.start(t)
		t.Cleanup(p.kill)
		s.gateways = append(s.gateways, p)
	}
	s.createSessions()
	stop := make(chan struct{})
	var clients, followers sync.WaitGroup
	for i := range soakClients {
		clients.Go(func() { s.talk(i, stop) })
	}
	seen := make([][]string, len(s.sessions))
	ends := make([]chan firn.Pos, len(s.sessions))
	for i, id := range s.sessions {
		ends[i] = make(chan firn.Pos, 1)
		followers.Go(func() { seen[i] = s.follow(id, ends[i]) })
	}
	harm()
	close(stop)
	clients.Wait()
	logs := make([][]firn.Entry, len(s.sessions))
	for i, id := range s.sessions {
		s.send(spoken{id, firn.NewEntryID(), "the end"}, wire.Turn{})
		var end firn.Pos
		logs[i], end = s.read(id)
		ends[i] <- end
	}
	followers.Wait()
	for i, id := range s.sessions {
		s.check(id, logs[i], seen[i])
	}
	t.Logf("%d messages and %d entries acknowledged, %d sent again, %d of unknown fate, %d events followed; %v", len(s.sent), len(s.noted), s.retries.Load(), len(s.lost), s.events.Load(), s.faults)
}

// createSessions creates the sessions.
func (s *soak) createSessions() {
	for range soakSessions {
		var made wire.Session
		status, body, err := s.post(context.Background(), "/v1/sessions", wire.NewSession{})
		for deadline := time.Now().Add(basetest.Limit); err == nil && again(status) && time.Now().Before(deadline); {
			status, body, err = s.post(context.Background(), "/v1/sessions", wire.NewSession{})
		}
		if err != nil || status != 200 || json.Unmarshal(body, &made) != nil {
			s.t.Fatalf("make a session: %d %s %v", status, body, err)
		}
		s.sessions = append(s.sessions, made.ID)
	}
}

// harm injects faults: each kind once, or at random for the duration. In short mode it
// kills one gateway.
func (s *soak) harm() {
	kinds := []func(){s.killGateway, s.stopGateway, s.killLeader}
	if testing.Short() && duration() == 0 {
		kinds = kinds[:1]
	}
	for _, harm := range kinds {
		s.await(2 * soakClients)
		harm()
	}
	kinds = append(kinds, s.killFollower, s.restartGateway, s.restartServer, s.stopLeader)
	for deadline := time.Now().Add(duration()); time.Now().Before(deadline) && !s.t.Failed(); {
		s.await(2 * soakClients)
		kinds[s.chance.IntN(len(kinds))]()
	}
	s.await(2 * soakClients)
}

// await waits until n more requests were acknowledged.
func (s *soak) await(n int64) {
	timeout := time.After(2 * basetest.Limit)
	for from := s.acks.Load(); s.acks.Load() < from+n; {
		select {
		case <-s.progress:
		case <-timeout:
			s.t.Errorf("the clients do not get on: %d of %d acknowledged; %v", s.acks.Load()-from, n, s.faults)
			return
		}
	}
}

func (s *soak) count(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[fault]++
}

func (s *soak) gateway() *process { return s.gateways[s.chance.IntN(len(s.gateways))] }

func (s *soak) killGateway() {
	p := s.gateway()
	s.count("gateways killed")
	p.kill()
	s.await(soakClients)
	p.start(s.t)
}

// stopGateway pauses a gateway for longer than its leases last.
func (s *soak) stopGateway() {
	p := s.gateway()
	s.count("gateways stopped")
	s.signal(p.command.Process, syscall.SIGSTOP)
	<-time.After(soakTTL + 2*time.Second)
	s.signal(p.command.Process, syscall.SIGCONT)
}

func (s *soak) signal(p *os.Process, signal os.Signal) {
	if err := p.Signal(signal); err != nil {
		s.t.Error(err)
	}
}

func (s *soak) restartGateway() {
	p := s.gateway()
	s.count("gateways restarted")
	p.stop()
	p.start(s.t)
}

func (s *soak) leader() *jetstreamtest.Node {
	return s.leads(fmt.Sprintf("soak_S%02d", s.chance.IntN(2)))
}

func (s *soak) killLeader() {
	n := s.leader()
	s.count("leaders killed")
	n.Kill()
	s.await(soakClients)
	n.Start(s.t)
}

func (s *soak) killFollower() {
	leader := s.leader()
	i := slices.IndexFunc(s.servers.Nodes, func(n *jetstreamtest.Node) bool { return n != leader })
	n := s.servers.Nodes[i]
	s.count("followers killed")
	n.Kill()
	s.await(soakClients)
	n.Start(s.t)
}

func (s *soak) restartServer() {
	n := s.servers.Nodes[s.chance.IntN(3)]
	s.count("servers restarted")
	n.Stop()
	n.Start(s.t)
}

// stopLeader pauses the leader of a stream until another leads, and then resumes it.
func (s *soak) stopLeader() {
	n := s.leader()
	s.count("leaders stopped")
	n.Signal(s.t, syscall.SIGSTOP)
	s.await(soakClients)
	n.Signal(s.t, syscall.SIGCONT)
}

// read reads a whole session.
func (s *soak) read(id firn.ID) (all []firn.Entry, end firn.Pos) {
	for rec, err := range s.store.Read(s.t.Context(), id, store.Start) {
		if err != nil {
			s.t.Fatalf("read session %s: %v", id, err)
		}
		e, err := rec.Entry()
		if err != nil {
			s.t.Fatalf("read session %s: %v", id, err)
		}
		all, end = append(all, e), rec.Next
	}
	return all, end
}
