package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"firn.dev/examples/bridge"
)

// mailbox is a mailbox of an IMAP server. The connection is used by one goroutine.
type mailbox struct {
	address, user, password, name string
	progress                      *progress
	// wake is received from when there may be something to do.
	wake chan struct{}
	mu   sync.Mutex
	// finished are messages that were handled and whose flags are not set yet.
	finished []finished
	// pause is how long to wait for the next notification.
	pause time.Duration
}

// finished is a message that was handled: answered, or at least read.
type finished struct {
	validity uint32
	uid      imap.UID
	answered bool
}

// maxMessage is how much of a message is read. Attachments come after the text.
const maxMessage = 4 << 20

// Without a notification the mailbox is looked at after minPause, then after twice that time, up
// to maxPause. A server need not announce with IDLE what has arrived just before it.
const (
	minPause = time.Second
	maxPause = 5 * time.Minute
)

// signal wakes the goroutine of the connection.
func (m *mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// finish marks a message as handled.
func (m *mailbox) finish(f finished) {
	m.mu.Lock()
	m.finished = append(m.finished, f)
	m.mu.Unlock()
	m.signal()
}

// listen connects and passes the messages of the mailbox to a function until the connection
// ends. It returns nil if a connection that has worked ends.
func (m *mailbox) listen(ctx context.Context, handle func(uid imap.UID, validity uint32, data []byte)) error {
	c, err := m.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := c.Login(m.user, m.password).Wait(); err != nil {
		if no := new(imap.Error); errors.As(err, &no) {
			err = bridge.Final(err)
		}
		return fmt.Errorf("log in to %s: %w", m.address, err)
	}
	box, err := c.Select(m.name, nil).Wait()
	if err != nil {
		return fmt.Errorf("open the mailbox %s: %w", m.name, err)
	}
	set, err := m.start(c, box)
	for worked := false; err == nil; worked = true {
		if err = m.turn(ctx, c, box.UIDValidity, set, handle); err != nil && worked {
			return nil
		}
		set = nil
	}
	return err
}

// connect connects by TLS from the start on port 993, else by STARTTLS.
func (m *mailbox) connect() (*imapclient.Client, error) {
	options := &imapclient.Options{UnilateralDataHandler: &imapclient.UnilateralDataHandler{
		Mailbox: func(*imapclient.UnilateralDataMailbox) { m.signal() },
	}}
	if _, port, _ := net.SplitHostPort(m.address); port == "993" {
		return imapclient.DialTLS(m.address, options)
	}
	return imapclient.DialStartTLS(m.address, options)
}

// start returns the messages to fetch first. If the server has numbered the messages anew,
// these are the unanswered ones of the last days.
func (m *mailbox) start(c *imapclient.Client, box *imap.SelectData) (imap.UIDSet, error) {
	first, search, err := m.progress.next(box.UIDValidity, box.UIDNext)
	if err != nil || first != 0 {
		return from(first), err
	}
	found, err := c.UIDSearch(&imap.SearchCriteria{Since: search.AddDate(0, 0, -1), NotFlag: []imap.Flag{imap.FlagAnswered}}, nil).Wait()
	if err != nil {
		return nil, fmt.Errorf("search new messages: %w", err)
	}
	uids := found.AllUIDs()
	return imap.UIDSetNum(uids...), m.progress.restart(box.UIDValidity, box.UIDNext, uids)
}

// from returns the messages from a UID on.
func from(first imap.UID) imap.UIDSet {
	set := imap.UIDSet{}
	set.AddRange(first, 0)
	return set
}

// turn sets flags, fetches messages and waits for the next ones. A nil set means all messages
// that were not fetched before.
func (m *mailbox) turn(ctx context.Context, c *imapclient.Client, validity uint32, set imap.UIDSet, handle func(uid imap.UID, validity uint32, data []byte)) error {
	if err := m.flag(c, validity); err != nil {
		return err
	}
	if set == nil {
		set = from(m.progress.fetchedUID() + 1)
	}
	if len(set) > 0 {
		if err := m.fetch(c, validity, set, handle); err != nil {
			return err
		}
	}
	return m.wait(ctx, c)
}

// flag marks handled messages as read or answered on the server, and then as handled on disk.
func (m *mailbox) flag(c *imapclient.Client, validity uint32) error {
	for {
		m.mu.Lock()
		if len(m.finished) == 0 {
			m.mu.Unlock()
			return nil
		}
		f := m.finished[0]
		m.mu.Unlock()
		if f.validity == validity { // else it has another UID now
			flags := []imap.Flag{imap.FlagSeen}
			if f.answered {
				flags = append(flags, imap.FlagAnswered)
			}
			if err := c.Store(imap.UIDSetNum(f.uid), &imap.StoreFlags{Op: imap.StoreFlagsAdd, Silent: true, Flags: flags}, nil).Close(); err != nil {
				return fmt.Errorf("mark a message as read: %w", err)
			}
			if err := m.progress.done(f.uid); err != nil {
				return err
			}
		}
		m.mu.Lock()
		m.finished = m.finished[1:]
		m.mu.Unlock()
	}
}

// fetch passes unanswered messages to a function. It does not mark them as read.
func (m *mailbox) fetch(c *imapclient.Client, validity uint32, set imap.UIDSet, handle func(uid imap.UID, validity uint32, data []byte)) error {
	section := &imap.FetchItemBodySection{Peek: true, Partial: &imap.SectionPartial{Size: maxMessage}}
	messages, err := c.Fetch(set, &imap.FetchOptions{UID: true, Flags: true, BodySection: []*imap.FetchItemBodySection{section}}).Collect()
	if err != nil {
		return fmt.Errorf("fetch messages: %w", err)
	}
	for _, message := range messages {
		if !set.Contains(message.UID) || set.Dynamic() && message.UID <= m.progress.fetchedUID() {
			continue // the range n:* has the last message, even if it is before n
		}
		m.progress.begin(message.UID)
		if answered(message.Flags) {
			m.finish(finished{validity, message.UID, true})
			continue
		}
		handle(message.UID, validity, message.FindBodySection(section))
	}
	return nil
}

// answered reports whether a message has the flag of answered ones.
func answered(flags []imap.Flag) bool {
	for _, flag := range flags {
		if flag == imap.FlagAnswered {
			return true
		}
	}
	return false
}

// wait waits until there may be something to do. The server notifies with IDLE; without it the
// mailbox is looked at every minute.
func (m *mailbox) wait(ctx context.Context, c *imapclient.Client) error {
	pause := max(m.pause, minPause)
	m.pause = min(2*pause, maxPause)
	var idle *imapclient.IdleCommand
	if c.Caps().Has(imap.CapIdle) {
		var err error
		if idle, err = c.Idle(); err != nil {
			return err
		}
	} else {
		pause = min(pause, time.Minute)
	}
	select {
	case <-m.wake:
		m.pause = minPause
	case <-ctx.Done():
	case <-c.Closed():
		return net.ErrClosed
	case <-time.After(pause):
	}
	if idle == nil {
		return c.Noop().Wait()
	}
	if err := idle.Close(); err != nil {
		return err
	}
	return idle.Wait()
}
