// Command slack lets people talk to an agent of a gateway by Slack: a direct conversation, and
// every thread, is a session. In channels the bot answers messages that mention it, in a thread.
//
//	SLACK_APP_TOKEN=xapp-… SLACK_BOT_TOKEN=xoxb-… SLACK_USERS=U1,U2 FIRN_GATEWAY=http://127.0.0.1:7766 FIRN_TOKEN=… go run ./examples/slack
//
// It uses Socket Mode: the bridge connects to Slack, so neither it nor the gateway needs a public
// address, a certificate or an open port. Requests of the Events API would need all three.
//
// To make the app: in its settings on api.slack.com switch on Socket Mode, subscribe to the events
// app_mention and message.im, and give the bot the scopes app_mentions:read, chat:write, im:history,
// channels:history, groups:history and users:read. The app token needs connections:write.
//
// Slack wants an event to be acknowledged within three seconds, and then does not deliver it
// again. So the bridge writes it to a file in SLACK_STATE first, and removes the file after the
// answer was sent. An answer carries its ID as metadata, so that after a crash the bridge can
// see whether it was sent. While no bridge is connected, Slack tries to deliver an event for
// some minutes and then drops it.
//
// SLACK_USERS lists the IDs of the users who may talk to the agent, or * for all: members of
// other organizations can be in shared channels. Messages of others are ignored.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"sync"

	"firn.dev/examples/bridge"
	"firn.dev/wire"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// run reads the environment and handles messages until ctx ends or Slack rejects a token.
func run(ctx context.Context) error {
	env, err := bridge.Environment(map[string]string{
		"SLACK_APP_TOKEN": "the app-level token (xapp-…) with the scope connections:write",
		"SLACK_BOT_TOKEN": "the token of the bot user (xoxb-…)",
		"SLACK_USERS":     "the IDs of the users who may talk to the agent, or * for all",
	})
	if err != nil {
		return err
	}
	gateway, err := bridge.Connect("firn-slack")
	if err != nil {
		return err
	}
	defer gateway.Close()
	journal, left, err := openState(os.Getenv("SLACK_STATE"))
	if err != nil {
		return err
	}
	s := &slack{
		api: newAPI(os.Getenv("SLACK_API"), env["SLACK_APP_TOKEN"], env["SLACK_BOT_TOKEN"]), bridge: bridge.New(gateway),
		journal: journal, users: bridge.ParseUsers(env["SLACK_USERS"]), names: make(map[string]string),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer s.bridge.Wait()
	defer cancel()
	if err := s.retry(ctx, func() (err error) { s.me, err = s.api.whoAmI(ctx); return err }); err != nil {
		return err
	}
	if err := s.recover(ctx, left); err != nil {
		return err
	}
	for { // Slack ends a connection every few hours
		if err := s.retry(ctx, func() error { return s.api.listen(ctx, s.receive) }); err != nil {
			return err
		}
	}
}

// openState opens the journal in a directory; the default is in the user's configuration.
func openState(dir string) (*bridge.Journal, []json.RawMessage, error) {
	if dir == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil, nil, err
		}
		dir = filepath.Join(config, "firn-slack")
	}
	return bridge.OpenJournal(dir)
}

// slack carries messages between Slack and a gateway.
type slack struct {
	api     *api
	bridge  *bridge.Bridge
	journal *bridge.Journal
	users   bridge.Users
	me      identity
	mu      sync.Mutex
	names   map[string]string // of users, by ID
}

// retry retries a function unless Slack rejects a token.
func (s *slack) retry(ctx context.Context, do func() error) error {
	return bridge.Retry(ctx, "Slack", func() error {
		err := do()
		if hasCode(err, tokenErrors) {
			return bridge.Final(err)
		}
		return err
	})
}

// recover delivers the questions that were not answered when the bridge ended.
func (s *slack) recover(ctx context.Context, left []json.RawMessage) error {
	for _, data := range left {
		var q question
		if err := json.Unmarshal(data, &q); err != nil {
			return err
		}
		q.Retried = true
		s.accept(ctx, q)
	}
	return nil
}

// receive writes a question to disk and accepts it. An event that was delivered twice is
// accepted once.
func (s *slack) receive(ctx context.Context, e envelope) error {
	q, ok := parse(e, s.me)
	if !ok || !s.users.Has(q.Event.User) {
		return nil
	}
	if added, err := s.journal.Put(q.id(), q); err != nil || !added {
		return err
	}
	s.accept(ctx, q)
	return nil
}

// accept delivers a question to the gateway and its answer to Slack.
func (s *slack) accept(ctx context.Context, q question) {
	s.bridge.Accept(ctx, bridge.Message{
		In: q.inbound(s.me), Recovered: q.Retried,
		Prepare: func(ctx context.Context, in *wire.Inbound) { in.Sender = s.name(ctx, q.Event.User) },
		Send: func(ctx context.Context, r bridge.Reply) error {
			err := s.api.send(ctx, q.place(), q.Event.TS, r)
			if rejected := new(rejection); errors.As(err, &rejected) && !hasCode(err, passing) && !hasCode(err, tokenErrors) {
				return bridge.Final(err) // the channel is archived, or the bot is no longer in it
			}
			return err
		},
		Done: func() {
			if err := s.journal.Remove(q.id()); err != nil {
				log.Print(err)
			}
		},
	})
}

// name returns the name of a user, or the ID if Slack does not give it.
func (s *slack) name(ctx context.Context, id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[id] == "" {
		name, err := s.api.userName(ctx, id)
		if err != nil {
			log.Print(err)
			return id
		}
		s.names[id] = name
	}
	return s.names[id]
}
