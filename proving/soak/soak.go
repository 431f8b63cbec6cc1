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

// options configures a run.
type options struct {
	// Dir is the directory of the disk, the logs and the summary, and Program the firn
	// binary to test.
	Dir, Program string
	// For is the duration of the run; zero means until each fault has occurred once.
	For time.Duration
	// Every is the sampling interval, Pause the approximate pause between faults, and Think
	// the approximate pause between a client's messages.
	Every, Pause, Think time.Duration
	// Sessions is the number of initial sessions, and Making the number of further sessions
	// that clients may create.
	Sessions int
	Making   int64
	// Between is the number of acknowledgments required after each fault.
	Between int64
	Seed    uint64
	// Strict treats faults that cannot be tried as errors.
	Strict bool
	Log    io.Writer
}

// soak is a run: the gateway, its disk, its clients and the ledger.
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
	// plain are sessions whose head is never moved, trees those that branch.
	plain, trees []firn.ID
	// ending is closed to stop the clients.
	ending chan struct{}
	making atomic.Int64
	// secondHalf is true after half of the run, from which on one process keeps running.
	secondHalf bool
	began      time.Time
	untried    []string
}

// mayMake reports whether one more session may be created.
func (s *soak) mayMake() bool { return s.making.Add(1) <= s.Making }

func (s *soak) logf(format string, args ...any) {
	fmt.Fprintf(s.Log, "%8s  %s\n", time.Since(s.began).Round(time.Second), fmt.Sprintf(format, args...))
}

// soakFor runs the soak test and returns its summary. An error means that it could not be
// run.
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
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	defer s.gateway.end()
	followers := s.work(ctx)
	s.finish(followers)
	return s.summary(), nil
}

// start starts the gateway, and creates tokens and sessions.
func (s *soak) start(ctx context.Context) (err error) {
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
		made, err := s.client.Access.CreateToken(ctx, wire.NewToken{Name: name, Scope: scope})
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

// work runs clients while faults are injected, and returns the followers.
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
	s.runFaults(ctx)
	close(s.ending)
	clients.Wait()
	s.awaitIdle()
	s.awaitUnchanged()
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

// awaitIdle waits until no turns run and no messages are queued.
func (s *soak) awaitIdle() {
	deadline := time.Now().Add(patience)
	for {
		ctx, done := requestContext()
		st, err := s.client.Status(ctx)
		done()
		if err == nil && st.Running == 0 && st.Queued == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.ledger.complain("turns do not end: %d run and %d messages wait, %v", st.Running, st.Queued, err)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// awaitUnchanged waits until sessions stop growing: titles and notes are appended after
// their turns.
func (s *soak) awaitUnchanged() {
	before := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Second) {
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
	s.ledger.complain("sessions grow without any activity")
}

// await waits for n further acknowledgments.
func (s *soak) await(n int64) {
	timeout := time.After(patience)
	for from := s.ledger.acks.Load(); s.ledger.acks.Load() < from+n; {
		select {
		case <-s.ledger.progress:
		case <-timeout:
			s.ledger.complain("the clients do not get on: %d of %d acknowledged", s.ledger.acks.Load()-from, n)
			return
		}
	}
}
