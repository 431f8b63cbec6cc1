//go:build unix

package cluster_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/ops/jetstreamtest"
	"firn.dev/store"
)

// soakFor is the duration of TestSoakCluster: FIRN_SOAK, or the time to damage a leader
// once.
func soakFor() time.Duration {
	d, err := time.ParseDuration(os.Getenv("FIRN_SOAK"))
	if err != nil {
		return 0
	}
	return d
}

// TestSoakCluster kills servers and gateways and flips bytes in the files of running
// servers while clients of three gateways write to the same sessions. One server is damaged
// at a time, checked and repaired as in the runbook. All acknowledged data must be present
// once and in one order, keys must not change, and the check must name exactly the damaged
// server.
func TestSoakCluster(t *testing.T) {
	s := &soak{t: t, servers: jetstreamtest.NewForgetful(t, t.TempDir()), faults: make(map[string]int), progress: make(chan struct{}, 1), seed: basetest.Seed(t)}
	s.chance = basetest.NewRandom(s.seed)
	r := basetest.NewRandom(s.seed + 1)
	t.Logf("for %v", soakFor())
	s.run(func() {
		behind := s.servers.Connect(t)
		lead := func(stream string, n *jetstreamtest.Node) { s.servers.Lead(t, behind, stream, n) }
		heal := func(n *jetstreamtest.Node) { s.servers.Heal(t, behind, n) }
		keys, seen := s.bind(), make(map[firn.ID]prefix)
		deadline := time.Now().Add(soakFor())
		kinds := []func(){s.killGateway, s.killLeader, s.killFollower, s.restartServer, s.stopGateway}
		for first := true; first || time.Now().Before(deadline) && !t.Failed(); first = false {
			s.await(2 * soakClients)
			s.damage(r, keys, seen, lead, heal)
			if soakFor() > 0 && !t.Failed() {
				s.await(soakClients)
				kinds[r.IntN(len(kinds))]()
				s.servers.Current(t, behind)
			}
		}
	})
}

// bind gives each session a key.
func (s *soak) bind() map[string]firn.ID {
	keys := make(map[string]firn.ID)
	for i, id := range s.sessions {
		key := fmt.Sprint("main:soak", i)
		if err := s.store.Bind(s.t.Context(), key, id); err != nil {
			s.t.Fatal(err)
		}
		keys[key] = id
	}
	return keys
}

// damage flips bytes in the files of one running server, a leader or a follower, checks
// that clients are not affected and that the server is named, and repairs it.
func (s *soak) damage(r *rand.Rand, keys map[string]firn.ID, seen map[firn.ID]prefix, lead func(stream string, n *jetstreamtest.Node), heal func(*jetstreamtest.Node)) {
	t := s.t
	victim := s.servers.Nodes[r.IntN(len(s.servers.Nodes))]
	streams := []string{"soak_S00", "soak_S01", "KV_soak_KEYS", "KV_soak_IDX"}
	stream := streams[r.IntN(len(streams))]
	if r.IntN(2) == 0 {
		lead(stream, victim)
	}
	s.whole(seen)
	for range 1 + r.IntN(3) {
		t.Log(victim.Flip(t, r, stream))
		s.count("bytes flipped")
	}
	if s.leads(stream) == victim {
		s.count("leaders damaged")
	} else {
		s.count("followers damaged")
	}
	time.Sleep(12 * time.Second) // unused data is cached no longer than this
	s.await(2 * soakClients)
	for key, want := range keys {
		if id, err := s.store.Lookup(t.Context(), key); err != nil || id != want {
			t.Errorf("key %s points at %q, want %q: %v", key, id, want, err)
		}
	}
	s.whole(seen)
	faults, err := s.store.CheckReplicas(t.Context())
	if err != nil {
		t.Errorf("check the replicas: %v", err)
	}
	for _, f := range faults {
		if f.Server != victim.Name && !f.Unasked {
			t.Errorf("%s is damaged, but the report is %v", victim.Name, f)
		}
	}
	if len(faults) > 0 {
		s.count("damaged servers named")
	}
	heal(victim)
	s.count("servers healed")
}

// prefix is the number of records of a session that were read, and their digest.
type prefix struct {
	records int
	sum     [sha256.Size]byte
}

// add adds a record.
func (p *prefix) add(line []byte) {
	p.records++
	p.sum = sha256.Sum256(append(p.sum[:], line...))
}

// whole checks that sessions still begin with the entries read before.
func (s *soak) whole(before map[firn.ID]prefix) {
	for _, id := range s.sessions {
		was, now := before[id], prefix{}
		begins := was.records == 0
		for rec, err := range s.store.Read(s.t.Context(), id, store.Start) {
			if err != nil {
				s.t.Errorf("read session %s: %v", id, err)
				return
			}
			now.add(rec.Line())
			begins = begins || now == was
		}
		if !begins {
			s.t.Errorf("session %s had %d records, and has %d that do not begin with them", id, was.records, now.records)
		}
		before[id] = now
	}
}
