// Command telegram lets people talk to an agent of a gateway by Telegram: a chat, or a topic of
// a group, is a session.
//
//	TELEGRAM_TOKEN=123:abc TELEGRAM_USERS=7,8 FIRN_GATEWAY=http://127.0.0.1:7766 FIRN_TOKEN=… go run ./examples/telegram
//
// A message is confirmed to Telegram only after its answer was sent. If the bridge is stopped
// before, Telegram delivers the message again. The gateway stores it once, by its ID, and
// returns the same answer, so nothing is lost; an answer may be sent twice.
//
// Anyone who finds a bot can write to it. TELEGRAM_USERS lists the IDs of the users who may talk
// to the agent, separated by commas; messages of others are ignored.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"firn.dev/client"
	"firn.dev/wire"
)

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c, err := client.New(client.Options{Address: os.Getenv("FIRN_GATEWAY"), Token: os.Getenv("FIRN_TOKEN"), UserAgent: "firn-telegram"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	token := os.Getenv("TELEGRAM_TOKEN")
	if token == "" {
		log.Fatal("TELEGRAM_TOKEN is not set: ask @BotFather for a token")
	}
	b := &telegram{bot: newBot(os.Getenv("TELEGRAM_API"), token), gateway: c, answered: make(map[string]bool)}
	for id := range strings.SplitSeq(os.Getenv("TELEGRAM_USERS"), ",") {
		if id = strings.TrimSpace(id); id != "" {
			b.users = append(b.users, id)
		}
	}
	if len(b.users) == 0 {
		log.Fatal("TELEGRAM_USERS is not set: list the IDs of the users who may talk to the agent, or * for all")
	}
	if err := b.run(ctx); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// telegram carries messages between a bot and a gateway.
type telegram struct {
	bot     *bot
	gateway *client.Client
	// users are the IDs of the users who may talk to the agent; * means all.
	users []string
	mu    sync.Mutex
	// answered are the messages whose answers were sent and that are not confirmed yet.
	answered map[string]bool
}

// run handles messages until ctx ends or Telegram rejects the token. It waits and tries again
// after other errors.
func (b *telegram) run(ctx context.Context) error {
	offset := int64(0)
	for ctx.Err() == nil {
		updates, err := b.bot.updates(ctx, offset)
		if err == nil {
			offset, err = b.handle(ctx, updates, offset)
		}
		var rejected *rejection
		switch {
		case err == nil:
		case errors.As(err, &rejected) && rejected.final():
			return err
		default:
			log.Print(err)
			b.pause(ctx, rejected)
		}
	}
	return ctx.Err()
}

// pause waits as long as Telegram asks for, or a second.
func (b *telegram) pause(ctx context.Context, why *rejection) {
	wait := time.Second
	if why != nil && why.RetryAfter > 0 {
		wait = time.Duration(why.RetryAfter) * time.Second
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// handle answers messages: those of a chat one after the other, those of several chats at the
// same time. It returns the offset that confirms them, which is the old one if an answer could
// not be sent.
func (b *telegram) handle(ctx context.Context, updates []update, offset int64) (int64, error) {
	chats := make(map[int64][]update)
	next := offset
	for _, u := range updates {
		next = max(next, u.ID+1)
		if u.Message != nil && u.Message.Text != "" && b.mayTalk(u.Message.From) {
			chats[u.Message.Chat.ID] = append(chats[u.Message.Chat.ID], u)
		}
	}
	var wait sync.WaitGroup
	failures := make(chan error, len(chats))
	for _, of := range chats {
		wait.Go(func() {
			for _, u := range of {
				if err := b.answer(ctx, *u.Message); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wait.Wait()
	close(failures)
	var err error
	for failed := range failures {
		err = errors.Join(err, failed)
	}
	if err != nil {
		return offset, err
	}
	b.mu.Lock()
	clear(b.answered) // all are confirmed
	b.mu.Unlock()
	return next, nil
}

// mayTalk reports whether a user may talk to the agent.
func (b *telegram) mayTalk(u user) bool {
	return slices.Contains(b.users, "*") || slices.Contains(b.users, strconv.FormatInt(u.ID, 10))
}

// answer sends a message to the gateway and its answer to the chat, unless that was done
// before. A message that the gateway refuses, and an answer that the chat does not accept, are
// not sent again.
func (b *telegram) answer(ctx context.Context, m message) error {
	in := inbound(m)
	b.mu.Lock()
	done := b.answered[in.ID]
	b.mu.Unlock()
	if done {
		return nil
	}
	if err := b.converse(ctx, m, in); err != nil {
		return err
	}
	b.mu.Lock()
	b.answered[in.ID] = true
	b.mu.Unlock()
	return nil
}

// converse sends a message to the gateway and its answer to the chat.
func (b *telegram) converse(ctx context.Context, m message, in wire.Inbound) error {
	routed, err := b.gateway.Inbound(ctx, in)
	if problem := new(wire.Problem); errors.As(err, &problem) && problem.Kind == wire.Invalid {
		log.Printf("message %d of chat %d: %v", m.ID, m.Chat.ID, err)
		return nil
	}
	if err != nil {
		return err
	}
	if !routed.Deliver || routed.Reply == "" {
		return nil
	}
	err = b.bot.send(ctx, m.Chat.ID, m.Topic, routed.Reply)
	if rejected := new(rejection); errors.As(err, &rejected) && rejected.unwanted() {
		log.Printf("the answer to message %d of chat %d: %v", m.ID, m.Chat.ID, err)
		return nil
	}
	return err
}

// inbound converts a message of Telegram.
func inbound(m message) wire.Inbound {
	in := wire.Inbound{
		Channel: "telegram", PeerKind: "group", PeerID: strconv.FormatInt(m.Chat.ID, 10), Sender: m.From.name(),
		Subject: m.Chat.Title, Text: m.Text, ID: strconv.FormatInt(m.Chat.ID, 10) + "." + strconv.FormatInt(m.ID, 10), Wait: true,
	}
	switch m.Chat.Type {
	case "private":
		in.PeerKind, in.PeerID = "direct", strconv.FormatInt(m.From.ID, 10)
	case "channel":
		in.PeerKind = "channel"
	}
	if m.Topic != 0 {
		in.ThreadID = strconv.FormatInt(m.Topic, 10)
	}
	return in
}
