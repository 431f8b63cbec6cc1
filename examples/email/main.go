// Command email lets people talk to an agent of a gateway by e-mail: a thread is a session.
//
//	EMAIL_IMAP=imap.example.org:993 EMAIL_SMTP=smtp.example.org:465 EMAIL_ADDRESS=agent@example.org EMAIL_PASSWORD=… EMAIL_USERS=ann@example.org EMAIL_AUTHSERV=mx.example.org FIRN_GATEWAY=http://127.0.0.1:7766 FIRN_TOKEN=… go run .
//
// It is a module of its own: run it in examples/email. The ports 993 and 465 mean TLS; on others
// STARTTLS is required. EMAIL_USER is the user name if it is not the address, EMAIL_MAILBOX the
// mailbox if it is not INBOX.
//
// EMAIL_USERS lists the addresses that may talk to the agent, or * for all. Anyone can write any
// address into a message, so only messages are answered whose sender our mail server has
// verified: EMAIL_AUTHSERV is the name that it puts into the header Authentication-Results, which
// must have dmarc=pass. "none" answers messages of unverified senders, too. Automatic messages
// (Auto-Submitted, lists, bounces) are never answered.
//
// The bridge starts with messages that arrive after its first start, and keeps in EMAIL_STATE up
// to where it has handled the mailbox. A handled message is marked as read, and answered if it
// was. If the bridge is killed before that, it handles the message again: the gateway returns
// the same answer, and its Message-ID is the same, so that most mail programs show it once.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"

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

// email carries messages between a mailbox and a gateway.
type email struct {
	bridge  *bridge.Bridge
	mailbox *mailbox
	out     *outgoing
	users   bridge.Users
	// address is the address of the agent, authority the server that verifies senders.
	address, authority string
}

// run reads the environment and handles messages until ctx ends or the server rejects the
// password.
func run(ctx context.Context) error {
	env, err := bridge.Environment(map[string]string{
		"EMAIL_IMAP":     "the server for incoming messages, such as imap.example.org:993",
		"EMAIL_SMTP":     "the server for outgoing messages, such as smtp.example.org:465",
		"EMAIL_ADDRESS":  "the address of the agent",
		"EMAIL_PASSWORD": "the password of the account",
		"EMAIL_USERS":    "the addresses that may talk to the agent, or * for all",
		"EMAIL_AUTHSERV": "the name in Authentication-Results of your mail server, or none to trust all senders",
	})
	if err != nil {
		return err
	}
	gateway, err := bridge.Connect("firn-email")
	if err != nil {
		return err
	}
	defer gateway.Close()
	b, err := newEmail(env)
	if err != nil {
		return err
	}
	b.bridge = bridge.New(gateway)
	ctx, cancel := context.WithCancel(ctx)
	defer b.bridge.Wait()
	defer cancel()
	for { // servers end connections
		err := bridge.Retry(ctx, "mailbox", func() error {
			return b.mailbox.listen(ctx, func(uid imap.UID, validity uint32, data []byte) { b.receive(ctx, uid, validity, data) })
		})
		if err != nil {
			return err
		}
	}
}

// newEmail returns the bridge that variables describe, without a gateway.
func newEmail(env map[string]string) (*email, error) {
	dir, user, name := os.Getenv("EMAIL_STATE"), os.Getenv("EMAIL_USER"), os.Getenv("EMAIL_MAILBOX")
	if dir == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(config, "firn-email")
	}
	if user == "" {
		user = env["EMAIL_ADDRESS"]
	}
	if name == "" {
		name = "INBOX"
	}
	p, err := openProgress(dir, user, name)
	if err != nil {
		return nil, err
	}
	return &email{
		mailbox: &mailbox{address: env["EMAIL_IMAP"], user: user, password: env["EMAIL_PASSWORD"], name: name, progress: p, wake: make(chan struct{}, 1)},
		out:     &outgoing{env["EMAIL_SMTP"], user, env["EMAIL_PASSWORD"]},
		users:   bridge.ParseUsers(strings.ToLower(env["EMAIL_USERS"])), address: strings.ToLower(env["EMAIL_ADDRESS"]), authority: env["EMAIL_AUTHSERV"],
	}, nil
}

// receive delivers a message to the gateway and its answer to the sender.
func (b *email) receive(ctx context.Context, uid imap.UID, validity uint32, data []byte) {
	q, err := b.parse(data)
	if ignored := errIgnored(""); errors.As(err, &ignored) {
		log.Printf("message %d is ignored: %v", uid, err)
		if err := b.mailbox.progress.done(uid); err != nil {
			log.Print(err)
		}
		return
	}
	sent := false
	b.bridge.Accept(ctx, bridge.Message{
		In: q.inbound(),
		Send: func(ctx context.Context, r bridge.Reply) error {
			answer, err := answerTo(q, b.address, r, time.Now())
			if err != nil {
				return bridge.Final(err)
			}
			err = b.out.send(ctx, b.address, q.From.Address, answer)
			sent = err == nil
			return err
		},
		Done: func() { b.mailbox.finish(finished{validity, uid, sent}) },
	})
}
