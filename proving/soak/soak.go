//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// options say how long and how hard.
type options struct {
	// Dir is where the disk, the logs and the summary go, Program the firn to try.
	Dir, Program string
	// For is how long clients talk; zero means until each fault happened once.
	For time.Duration
	// Every is how often the process is measured, Pause about how long it is
	// quiet between faults, Think about how long clients think.
	Every, Pause, Think time.Duration
	// Sessions is how many sessions are talked in, Making how many more clients
	// may make.
	Sessions int
	Making   int64
	// Between is how much must be acknowledged after each fault.
	Between int64
	Seed    uint64
	// Strict takes what cannot be tried for a complaint.
	Strict bool
	Log    io.Writer
}

// soak is a gateway, its disk, its clients, and what they were told.
type soak struct {
	options
	disk    *disk
	model   *model
	gateway *gateway
	ledger  *ledger
	auditor *auditor
	samples *samples
	http    *http.Client
	client  *client.Client
	chance  *rand.Rand

	token, hookToken string
	// plain are sessions whose head nobody moves, trees those that branch.
	plain, trees []firn.ID
	// ending is closed when clients are to stop.
	ending chan struct{}
	making atomic.Int64
	// late says that the second half has begun, in which one process lives on.
	late   bool
	began  time.Time
	untold []string
}

// mayMake reports whether one more session may be made.
func (s *soak) mayMake() bool { return s.making.Add(1) <= s.Making }

func (s *soak) logf(format string, args ...any) {
	fmt.Fprintf(s.Log, "%8s  %s\n", time.Since(s.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// soakFor runs it all, and returns what came of it. An error says that it could
// not be run.
func soakFor(ctx context.Context, o options) (_ *summary, err error) {
	s := &soak{options: o, ledger: newLedger(), samples: &samples{}, ending: make(chan struct{}), began: time.Now(), chance: rand.New(rand.NewPCG(o.Seed, 1))}
	s.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	if s.disk, err = newDisk(o.Dir, diskSize); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.disk.close()) }()
	if s.model, err = newModel(); err != nil {
		return nil, err
	}
	defer s.model.server.Close()
	if s.gateway, err = newGateway(o, filepath.Join(s.disk.dir, "home"), soakSettings(s.model.port)); err != nil {
		return nil, err
	}
	defer s.gateway.log.Close()
	s.auditor = &auditor{home: s.gateway.home}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.gateway.end()
	followers := s.work(ctx)
	s.finish(followers)
	return s.summary(), nil
}

// begin starts the gateway, lets clients in, and makes the sessions.
func (s *soak) begin(ctx context.Context) (err error) {
	if err := s.gateway.start(); err != nil {
		return err
	}
	if s.client, err = client.New(client.Options{Address: "unix:" + s.gateway.socket}); err != nil {
		return err
	}
	for name, secret := range map[string]*string{"all": &s.token, "ci": &s.hookToken} {
		scope := wire.Scope("admin")
		if name == "ci" {
			scope = "hook"
		}
		made, err := s.client.CreateToken(ctx, wire.NewToken{Name: name, Scope: scope})
		if err != nil {
			return err
		}
		*secret = made.Secret
	}
	for i := range s.Sessions + max(2, s.Sessions/3) {
		made, err := s.client.NewSession(ctx, wire.NewSession{Agent: []string{"main", "rules"}[min(i%4, 1)]})
		if err != nil {
			return err
		}
		s.ledger.make(made.ID)
		if i < s.Sessions {
			s.plain = append(s.plain, made.ID)
		} else {
			s.trees = append(s.trees, made.ID)
		}
	}
	s.auditor.strict = s.plain
	return nil
}

// work lets clients talk while faults happen, and returns those who follow.
func (s *soak) work(ctx context.Context) []*follower {
	var clients, listening, watching sync.WaitGroup
	for i := range 6 {
		clients.Go(func() { s.talker(i) })
	}
	for i := range 2 {
		clients.Go(func() { s.noter(i) })
		clients.Go(func() { s.peer(i) })
	}
	for _, do := range []func(){s.hooks, s.brancher, s.compacter, s.reader, s.typist, s.browser} {
		clients.Go(do)
	}
	var followers []*follower
	for _, id := range s.plain {
		f := s.newFollower(id)
		followers = append(followers, f)
		listening.Go(f.run)
	}
	watched := make(chan struct{})
	watching.Go(func() { s.watch(watched) })
	s.harm(ctx)
	close(s.ending)
	clients.Wait()
	s.quiet()
	s.still()
	s.logf("clients are done; %d acknowledged", s.ledger.acks.Load())
	for _, f := range followers {
		at, err := s.client.Session(context.Background(), string(f.session))
		if err != nil {
			s.ledger.complain("tell of session %s: %v", f.session, err)
		}
		f.end <- max(at.End, 1)
	}
	listening.Wait()
	close(watched)
	watching.Wait()
	return followers
}

// quiet waits until nothing runs and nothing waits.
func (s *soak) quiet() {
	late := time.Now().Add(patience)
	for {
		ctx, done := within()
		st, err := s.client.Status(ctx)
		done()
		if err == nil && st.Running == 0 && st.Queued == 0 {
			return
		}
		if time.Now().After(late) {
			s.ledger.complain("turns do not end: %d run and %d messages wait, %v", st.Running, st.Queued, err)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// still waits until nothing is added any more: titles and notes come after the
// turns that they are of.
func (s *soak) still() {
	before := ""
	for late := time.Now().Add(patience); time.Now().Before(late); time.Sleep(2 * time.Second) {
		ends := ""
		for one, err := range s.client.Sessions(context.Background(), client.Query{}) {
			if err != nil {
				s.ledger.complain("list sessions: %v", err)
				return
			}
			ends += fmt.Sprintf("%s %d\n", one.ID, one.End)
		}
		if ends == before {
			return
		}
		before = ends
	}
	s.ledger.complain("sessions go on growing when nobody talks")
}

// await waits until clients were acknowledged so much more.
func (s *soak) await(n int64) {
	late := time.After(patience)
	for from := s.ledger.acks.Load(); s.ledger.acks.Load() < from+n; {
		select {
		case <-s.ledger.progress:
		case <-late:
			s.ledger.complain("the clients do not get on: %d of %d acknowledged", s.ledger.acks.Load()-from, n)
			return
		}
	}
}
