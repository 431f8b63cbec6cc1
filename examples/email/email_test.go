package main

import (
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-smtp"

	"firn.dev/examples/bridge"
)

// TestBridge talks by e-mail: in threads, after errors of the servers, with messages that must
// be ignored, and after the mailbox was renumbered. The bridge is killed before and after it has
// sent an answer; none is lost, and one that is repeated has the same Message-ID.
func TestBridge(t *testing.T) {
	f, state := newMailServer(t), t.TempDir()
	b := buildBridge(t, "EMAIL_IMAP="+f.imap, "EMAIL_SMTP="+f.smtp, "EMAIL_ADDRESS="+agentAddress, "EMAIL_PASSWORD="+agentPassword, "EMAIL_MAILBOX="+agentMailbox,
		"EMAIL_USERS=ann@home.test, bob@home.test", "EMAIL_AUTHSERV=mx.firn.test", "EMAIL_STATE="+state, "SSL_CERT_FILE="+f.certificates)
	f.deliver("old@home.test", "what is 5*5?") // before the first start
	if out := b.fails("EMAIL_PASSWORD=wrong"); !strings.Contains(out, "log in to "+f.imap) {
		t.Errorf("with a wrong password it ends with %s", out)
	}
	if out := b.fails("SSL_CERT_FILE="+f.certificates+".none", "EMAIL_USERS="); !strings.Contains(out, "EMAIL_USERS is not set") {
		t.Errorf("without users it ends with %s", out)
	}
	kill := b.start()
	started(t, state)
	f.talkInThread(b)
	f.ignored()

	limited := true
	f.hook(func(to string) error {
		switch {
		case strings.HasPrefix(to, "bob"):
			return &smtp.SMTPError{Code: 550, Message: "no such user"}
		case limited:
			limited = false
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "too many messages, try again"}
		}
		return nil
	}, nil)
	f.deliver("bob@home.test", "what is 1*1?", "From: bob@home.test", "Authentication-Results: mx.firn.test; dmarc=pass")
	f.deliver("limit@home.test", "what is 4*4?")
	f.expect("16", "limit@home.test")

	tried := make(chan struct{})
	first := sync.OnceFunc(func() { close(tried) })
	f.hook(func(string) error {
		first()
		return &smtp.SMTPError{Code: 451, Message: "try again"}
	}, nil)
	f.deliver("before@home.test", "what is 8*8?")
	<-tried
	kill()
	f.hook(nil, nil)
	kill = b.start()
	f.expect("64", "before@home.test")
	f.waitFlagged(imap.FlagSeen, 6) // three in the thread and two more, and Bob's

	f.hook(nil, kill)
	f.deliver("after@home.test", "what is 7*7?")
	killed := f.expect("49", "after@home.test")
	kill()
	f.hook(nil, nil)
	kill = b.start()
	again := f.expect("49", "after@home.test")
	if killed.header.Get("Message-ID") != again.header.Get("Message-ID") || killed.text != again.text {
		t.Errorf("the repeated answer is %v, at first %v", again, killed)
	}
	f.waitFlagged(imap.FlagAnswered, 6)

	kill()
	f.renumber()
	b.start()
	f.expect("99", "new@home.test")
	f.waitFlagged(imap.FlagAnswered, 2)
	if len(f.sent) > 0 {
		t.Errorf("it also sends %v", <-f.sent)
	}
}

// started waits until the bridge has opened the mailbox for the first time: it answers what
// arrives afterwards.
func started(t *testing.T, state string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(state, "mailbox.json")); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the bridge did not open the mailbox")
		}
	}
}

// talkInThread asks three questions in a thread, and one in another, and checks the sessions.
func (f *mailServer) talkInThread(b *bridgeProgram) {
	t := f.t
	f.deliver("q1@home.test", "", "Subject: what is 6*7?")
	answer := f.expect("42", "q1@home.test")
	if subject, _ := answer.header.Subject(); subject != "Re: what is 6*7?" || answer.to != "ann@home.test" {
		t.Errorf("the answer to %s has the subject %q", answer.to, subject)
	}
	id, _ := answer.header.MessageID()
	f.deliver("q2@home.test", "what is 2*3?\n\nOn Monday, the agent <agent@firn.test>\nwrote:\n> 6*7 = 42", "Subject: Re: what is 6*7?", "References: <q1@home.test> <"+id+">", "In-Reply-To: <"+id+">")
	answer = f.expect("6", "q2@home.test")
	if refs := references(answer.header); strings.Join(refs, " ") != "q1@home.test "+id+" q2@home.test" {
		t.Errorf("the answer refers to %q", refs)
	}
	f.deliver("q3@home.test", "<p>what is <b>3*3?</b></p><blockquote>quoted</blockquote>", "Content-Type: text/html", "In-Reply-To: <"+id+">") // without References
	f.expect("9", "q3@home.test")
	thread := threadOf([]string{"q1@home.test"})
	session := b.gateway("cat", "@agent:main:email:direct:ann@home.test:thread:"+thread)
	for _, want := range []string{"Ann Lée", "Subject: what is 6*7?", "what is 2*3?", "what is 3*3?"} {
		if !strings.Contains(session, want) {
			t.Errorf("the session has not %q\n%s", want, session)
		}
	}
	if strings.Contains(session, "quoted") || strings.Contains(session, "wrote:") {
		t.Errorf("the session has quotations\n%s", session)
	}
}

// renumber makes the mailbox anew, as after a migration: with other UIDs, an answered message and
// a new one.
func (f *mailServer) renumber() {
	f.t.Helper()
	if err := f.user.Delete(agentMailbox); err != nil {
		f.t.Fatal(err)
	}
	if err := f.user.Create(agentMailbox, nil); err != nil {
		f.t.Fatal(err)
	}
	done := "From: ann@home.test\r\nMessage-ID: <done@home.test>\r\nAuthentication-Results: mx.firn.test; dmarc=pass\r\n\r\nwhat is 2*2?\r\n"
	if _, err := f.user.Append(agentMailbox, strings.NewReader(done), &imap.AppendOptions{Flags: []imap.Flag{imap.FlagAnswered}}); err != nil {
		f.t.Fatal(err)
	}
	f.deliver("new@home.test", "what is 9*11?")
}

// TestWithoutQuotation checks what is left of replies.
func TestWithoutQuotation(t *testing.T) {
	for text, want := range map[string]string{
		"hello": "hello",
		"new\r\n\r\nAm Montag schrieb Ann:\r\n> a\r\n> b\r\n": "new",
		"new\n\nOn Monday\nAnn wrote:\n> a":                   "new",
		"> a\n\nbelow the quotation":                          "> a\n\nbelow the quotation",
		"> only a quotation":                                  "> only a quotation",
		"hello\n-- \nAnn Lee\nHome":                           "hello",
		"a list:\n- one":                                      "a list:\n- one",
	} {
		if got := withoutQuotation(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestAnswerID checks that a thread is recognized by the ID of any answer in it.
func TestAnswerID(t *testing.T) {
	q := question{ID: "q@home.test", Thread: threadOf([]string{"q@home.test"})}
	for _, reply := range []string{"1m7r68h0mahsh", q.ID} {
		id := answerID(q, agentAddress, bridge.Reply{ID: reply})
		if _, err := mail.ParseAddress("<" + id + ">"); err != nil || threadOf([]string{"lost@home.test", id}) != q.Thread {
			t.Errorf("the ID %s is in the thread %s, want %s: %v", id, threadOf([]string{id}), q.Thread, err)
		}
	}
}
