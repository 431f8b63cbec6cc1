package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"firn.dev/examples/bridge"
)

// outgoing is a server for outgoing messages.
type outgoing struct{ address, user, password string }

// send sends a message. A server that rejects it for good is not tried again.
func (o *outgoing) send(ctx context.Context, from, to string, data []byte) error {
	dial := smtp.DialStartTLS
	if _, port, _ := net.SplitHostPort(o.address); port == "465" {
		dial = smtp.DialTLS
	}
	c, err := dial(o.address, nil)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", o.address, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := c.Auth(sasl.NewPlainClient("", o.user, o.password)); err != nil {
		return fmt.Errorf("log in to %s: %w", o.address, err)
	}
	err = c.SendMail(from, []string{to}, bytes.NewReader(data))
	if no := new(smtp.SMTPError); errors.As(err, &no) && !no.Temporary() {
		return bridge.Final(err)
	}
	if err == nil {
		_ = c.Quit() // it was accepted
	}
	return err
}

// answerTo returns the answer to a question as a message. Its Message-ID is derived from the
// answer, so that a repeated one is recognized. It is marked as automatic, so that no other
// program answers it.
func answerTo(q question, from string, r bridge.Reply, now time.Time) ([]byte, error) {
	var h mail.Header
	h.SetAddressList("From", []*mail.Address{{Address: from}})
	h.SetAddressList("To", []*mail.Address{&q.From})
	h.SetSubject(replySubject(q.Subject))
	h.SetDate(now)
	h.SetMessageID(answerID(q, from, r))
	h.SetMsgIDList("In-Reply-To", []string{q.ID})
	h.SetMsgIDList("References", append(q.References[max(0, len(q.References)-20):len(q.References):len(q.References)], q.ID))
	h.Set("Auto-Submitted", "auto-replied")
	h.SetContentType("text/plain", map[string]string{"charset": "utf-8"})
	h.Set("Content-Transfer-Encoding", "quoted-printable")
	var data bytes.Buffer
	w, err := mail.CreateSingleInlineWriter(&data, h)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(strings.ReplaceAll(r.Text, "\n", "\r\n"))); err != nil {
		return nil, err
	}
	err = w.Close()
	return data.Bytes(), err
}

// answerID returns the Message-ID of an answer. The answer to a command is named after the
// question.
func answerID(q question, from string, r bridge.Reply) string {
	name := r.ID
	if name == q.ID {
		name = "re-" + threadOf([]string{q.ID})
	}
	return "firn." + name + "." + q.Thread + "@" + domain(from)
}

// replySubject returns the subject of a reply.
func replySubject(subject string) string {
	if len(subject) >= 3 && strings.EqualFold(subject[:3], "re:") {
		return subject
	}
	return strings.TrimSpace("Re: " + subject)
}
