// Command matrix lets people talk to an agent of a gateway by Matrix: a room, and every thread,
// is a session. In a room with one user the bot answers everything, in others what mentions it.
//
//	MATRIX_SERVER=https://matrix.example.org MATRIX_TOKEN=syt_… MATRIX_USERS=@ann:example.org FIRN_GATEWAY=http://127.0.0.1:7766 FIRN_TOKEN=… go run ./examples/matrix
//
// MATRIX_TOKEN is the access token of the bot's account. MATRIX_USERS lists the users who may talk
// to the agent, or * for all. The bot accepts their invitations and ignores everyone else.
//
// The bridge keeps in MATRIX_STATE up to where it has handled the events of the homeserver. If it
// is killed before an answer was sent, it gets the message again. The transaction ID of an
// answer is derived from the answer, so that the homeserver does not send it twice (Synapse
// remembers such IDs for a day). A read receipt means that the gateway has stored the message.
//
// Encrypted messages cannot be read: use rooms without encryption. The bot says so once.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"

	"firn.dev/examples/bridge"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// run reads the environment and handles messages until ctx ends or the homeserver rejects the
// token.
func run(ctx context.Context) error {
	env, err := bridge.Environment(map[string]string{
		"MATRIX_SERVER": "the URL of the homeserver",
		"MATRIX_TOKEN":  "the access token of the bot's account",
		"MATRIX_USERS":  "the users who may talk to the agent, or * for all",
	})
	if err != nil {
		return err
	}
	gateway, err := bridge.Connect("firn-matrix")
	if err != nil {
		return err
	}
	defer gateway.Close()
	m := &matrix{
		api: newAPI(env["MATRIX_SERVER"], env["MATRIX_TOKEN"]), bridge: bridge.New(gateway),
		users: bridge.ParseUsers(env["MATRIX_USERS"]), rooms: make(map[string]*room), warned: make(map[string]bool),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer m.wait()
	defer cancel()
	if err := m.retry(ctx, "log in", func() (err error) { m.me, err = m.api.whoAmI(ctx); return err }); err != nil {
		return err
	}
	dir, err := stateDir(os.Getenv("MATRIX_STATE"))
	if err != nil {
		return err
	}
	since := ""
	if m.progress, since, err = openProgress(dir, m.me); err != nil {
		return err
	}
	return m.listen(ctx, since)
}

// stateDir returns the directory of the state; the default is in the user's configuration.
func stateDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	config, err := os.UserConfigDir()
	return filepath.Join(config, "firn-matrix"), err
}

// matrix carries messages between a homeserver and a gateway.
type matrix struct {
	api      *api
	bridge   *bridge.Bridge
	progress *progress
	users    bridge.Users
	me       string
	// rooms are the known rooms by ID. Only listen uses rooms and warned.
	rooms  map[string]*room
	warned map[string]bool // about encryption
	work   sync.WaitGroup
}

// wait waits for everything that was started.
func (m *matrix) wait() {
	m.work.Wait()
	m.bridge.Wait()
}

// retry retries a function unless the homeserver rejects the token or the request.
func (m *matrix) retry(ctx context.Context, what string, do func() error) error {
	return bridge.Retry(ctx, what, func() error {
		err := do()
		if wrongToken(err) || refused(err) {
			return bridge.Final(err)
		}
		return err
	})
}

// listen handles events after a token. Events before the first sync are not handled.
func (m *matrix) listen(ctx context.Context, since string) error {
	for {
		var s synced
		if err := m.retry(ctx, "sync", func() (err error) { s, err = m.api.sync(ctx, since); return err }); err != nil {
			return err
		}
		b := m.progress.begin(s.Next)
		for id, invited := range s.Rooms.Invite {
			m.invited(ctx, b, id, invited.State.Events)
		}
		for id, joined := range s.Rooms.Join {
			if since == "" {
				continue
			}
			if err := m.handle(ctx, b, id, joined.Timeline, since); err != nil {
				return err
			}
		}
		if err := m.progress.done(b); err != nil {
			return err
		}
		since = s.Next
	}
}

// invited accepts an invitation of a user who may talk to the agent.
func (m *matrix) invited(ctx context.Context, b *batch, id string, state []event) {
	if !slices.ContainsFunc(state, func(e event) bool { return e.membership(m.me) == "invite" && m.users.Has(e.Sender) }) {
		return
	}
	m.start(ctx, b, "join "+id, func() error { return m.api.join(ctx, id) })
}

// start does something in the background that belongs to a sync. If it is refused, the sync is
// handled anyway.
func (m *matrix) start(ctx context.Context, b *batch, what string, do func() error) {
	m.progress.add(b)
	m.work.Go(func() {
		if err := m.retry(ctx, what, do); ctx.Err() == nil {
			if err != nil {
				log.Printf("%s: %v", what, err)
			}
			m.finish(b)
		}
	})
}

// finish marks one part of a sync as handled.
func (m *matrix) finish(b *batch) {
	if err := m.progress.done(b); err != nil {
		log.Print(err)
	}
}

// handle accepts the messages of a room.
func (m *matrix) handle(ctx context.Context, b *batch, id string, t timeline, since string) error {
	events, err := m.complete(ctx, id, t, since)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(events, func(e event) bool { return e.Type == "m.room.member" || e.Type == "m.room.name" }) {
		delete(m.rooms, id) // it is read again
	}
	for _, e := range events {
		c, ok := e.message()
		if e.Sender == m.me || !m.users.Has(e.Sender) || !ok && e.Type != "m.room.encrypted" {
			continue
		}
		r, err := m.room(ctx, id)
		if err != nil {
			log.Printf("room %s: %v", id, err) // the bot was removed from it
			return ctx.Err()
		}
		switch {
		case e.Type == "m.room.encrypted":
			m.warn(ctx, b, id)
		case r.direct() || c.mentions(m.me):
			m.accept(ctx, b, id, r, e, c)
		}
	}
	return nil
}

// complete returns all events of a room since a token, oldest first, without those before the
// bot was invited. The timeline of a sync may have only the latest ones.
func (m *matrix) complete(ctx context.Context, id string, t timeline, since string) ([]event, error) {
	entered := func(e event) bool {
		how := e.membership(m.me)
		return how == "invite" || how == "join" && e.Unsigned.Before.Membership != "invite"
	}
	events, from := slices.Clone(t.Events), t.Prev
	for t.Limited && from != "" && !slices.ContainsFunc(events, entered) {
		var page []event
		next := ""
		err := m.retry(ctx, "older messages of "+id, func() (err error) { page, next, err = m.api.before(ctx, id, from, since); return err })
		if ctx.Err() != nil || wrongToken(err) {
			return nil, err
		}
		if err != nil {
			log.Printf("older messages of %s: %v", id, err)
			break
		}
		slices.Reverse(page)
		events, from = append(page, events...), next
	}
	if n := slices.IndexFunc(events, entered); n >= 0 {
		events = events[n:]
	}
	return events, nil
}

// room returns a room that messages come from.
func (m *matrix) room(ctx context.Context, id string) (r *room, err error) {
	if r = m.rooms[id]; r != nil {
		return r, nil
	}
	err = m.retry(ctx, "room "+id, func() (err error) { r, err = m.api.room(ctx, id); return err })
	m.rooms[id] = r
	return r, err
}

// warn sends a notice to a room, once, that encrypted messages cannot be read.
func (m *matrix) warn(ctx context.Context, b *batch, id string) {
	if m.warned[id] {
		return
	}
	m.warned[id] = true
	notice := content{Kind: "m.notice", Body: "I cannot read encrypted messages. Please invite me to a room without encryption.", Mentions: &mentions{}}
	m.start(ctx, b, "notice in "+id, func() error { return m.api.send(ctx, id, "firn-encrypted-"+id, notice) })
}

// maxText is the largest length of a message. An event has at most 65,536 bytes, and a unit of
// UTF-16 takes at most six.
const maxText = 10_000

// accept delivers a message to the gateway and its answer to the room.
func (m *matrix) accept(ctx context.Context, b *batch, id string, r *room, e event, c content) {
	m.progress.add(b)
	thread := c.thread()
	if thread == "" {
		thread = "main"
	}
	m.bridge.Accept(ctx, bridge.Message{
		In: inbound(e, c, id, r),
		Stored: func(ctx context.Context) {
			if err := m.api.markRead(ctx, id, e.ID, thread); err != nil && ctx.Err() == nil {
				log.Printf("receipt for %s: %v", e.ID, err)
			}
		},
		Send: func(ctx context.Context, reply bridge.Reply) error {
			for n, piece := range bridge.Pieces(reply.Text, maxText) {
				err := m.api.send(ctx, id, fmt.Sprintf("firn-%s-%d", reply.ID, n), answerTo(e, c, r.direct(), piece))
				if refused(err) {
					return bridge.Final(err)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		Done: func() { m.finish(b) },
	})
}
