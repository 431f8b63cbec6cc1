package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// patience is the longest time that a test waits for something that takes milliseconds on an
// idle machine. A test that reaches it hangs.
const patience = 5 * time.Minute

// The account of the agent.
const (
	agentAddress  = "agent@firn.test"
	agentPassword = "secret"
	agentMailbox  = "Agent"
)

// mailServer is an IMAP server and an SMTP server that require TLS and a password, with one
// account.
type mailServer struct {
	t            *testing.T
	imap, smtp   string
	certificates string // a file
	tls          *tls.Config
	user         *imapmemserver.User
	sent         chan sentMail
	mu           sync.Mutex
	// refuse answers the next messages if it returns an error; after is called before the
	// response to an accepted message.
	refuse func(to string) error
	after  func()
}

// sentMail is an accepted message.
type sentMail struct {
	to     string
	header mail.Header
	text   string
}

func newMailServer(t *testing.T) *mailServer {
	f := &mailServer{t: t, user: imapmemserver.NewUser(agentAddress, agentPassword), sent: make(chan sentMail, 100), certificates: filepath.Join(t.TempDir(), "ca.pem")}
	web := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	t.Cleanup(web.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(f.certificates, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	f.tls = &tls.Config{Certificates: web.TLS.Certificates}
	if err := f.user.Create(agentMailbox, nil); err != nil {
		t.Fatal(err)
	}
	accounts := imapmemserver.New()
	accounts.AddUser(f.user)
	incoming := imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return accounts.NewSession(), nil, nil
		},
		Caps: imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapIdle: {}}, TLSConfig: f.tls, Logger: log.New(io.Discard, "", 0),
	})
	outgoing := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &smtpSession{server: f}, nil }))
	outgoing.TLSConfig, outgoing.Domain, outgoing.ErrorLog = f.tls, "firn.test", log.New(io.Discard, "", 0)
	f.imap = listen(t, incoming.Serve, incoming.Close)
	f.smtp = listen(t, outgoing.Serve, outgoing.Close)
	return f
}

// listen runs a server and returns its address.
func listen(t *testing.T, serve func(net.Listener) error, stop func() error) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = serve(l)
		close(ended)
	}()
	t.Cleanup(func() {
		_ = stop()
		<-ended
	})
	return l.Addr().String()
}

// smtpSession is a connection that sends messages.
type smtpSession struct {
	server *mailServer
	user   bool
	to     string
}

func (s *smtpSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *smtpSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != agentAddress || password != agentPassword {
			return smtp.ErrAuthFailed
		}
		s.user = true
		return nil
	}), nil
}

func (s *smtpSession) Mail(from string, _ *smtp.MailOptions) error {
	if !s.user || from != agentAddress {
		return &smtp.SMTPError{Code: 553, Message: "sender address rejected"}
	}
	return nil
}

func (s *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = to
	s.server.mu.Lock()
	refuse := s.server.refuse
	s.server.mu.Unlock()
	if refuse != nil {
		return refuse(to)
	}
	return nil
}

// Data accepts a message, if it has what a message needs.
func (s *smtpSession) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m, err := mail.CreateReader(bytes.NewReader(data))
	if err != nil {
		return &smtp.SMTPError{Code: 554, Message: err.Error()}
	}
	_, dated := m.Header.Date()
	id, identified := m.Header.MessageID()
	from, _ := m.Header.AddressList("From")
	if dated != nil || identified != nil || id == "" || len(from) != 1 || from[0].Address != agentAddress {
		return &smtp.SMTPError{Code: 554, Message: "the header is not complete"}
	}
	text, err := textOf(m)
	if err != nil {
		return &smtp.SMTPError{Code: 554, Message: err.Error()}
	}
	s.server.sent <- sentMail{s.to, m.Header, text}
	s.server.mu.Lock()
	after := s.server.after
	s.server.mu.Unlock()
	if after != nil {
		after()
	}
	return nil
}

func (s *smtpSession) Reset() {}

func (s *smtpSession) Logout() error { return nil }

// hook sets the functions around sending.
func (f *mailServer) hook(refuse func(to string) error, after func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse, f.after = refuse, after
}

// deliver puts a message into the mailbox. The header has the lines given besides those of every
// message; one that begins with "From:" replaces Ann's.
func (f *mailServer) deliver(id, text string, header ...string) {
	f.t.Helper()
	lines := append(header, "Message-ID: <"+id+">", "Date: Mon, 16 Nov 2026 10:00:00 +0000", "To: "+agentAddress)
	if !strings.Contains(strings.Join(lines, "\n"), "From:") {
		lines = append(lines, "From: =?utf-8?q?Ann_L=C3=A9e?= <Ann@home.test>", "Authentication-Results: mx.firn.test 1; spf=none; dmarc=pass (p=none) header.from=home.test")
	}
	data := strings.Join(lines, "\r\n") + "\r\n\r\n" + strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"
	if _, err := f.user.Append(agentMailbox, bytes.NewReader([]byte(data)), &imap.AppendOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// expect returns the next message of the agent, which must contain a text and answer a message.
func (f *mailServer) expect(text, id string) sentMail {
	f.t.Helper()
	select {
	case m := <-f.sent:
		if parents, _ := m.header.MsgIDList("In-Reply-To"); len(parents) != 1 || parents[0] != id || !strings.Contains(m.text, text) || m.header.Get("Auto-Submitted") != "auto-replied" {
			f.t.Errorf("the answer to %q is %q, want one to %s with %s", parents, m.text, id, text)
		}
		return m
	case <-time.After(patience):
		f.t.Fatalf("no answer to %s", id)
		return sentMail{}
	}
}

// waitFlagged waits until a number of messages have a flag.
func (f *mailServer) waitFlagged(flag imap.Flag, want int) {
	f.t.Helper()
	roots := f.tls.Clone()
	roots.InsecureSkipVerify = true
	c, err := imapclient.DialStartTLS(f.imap, &imapclient.Options{TLSConfig: roots})
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	if err := c.Login(agentAddress, agentPassword).Wait(); err != nil {
		f.t.Fatal(err)
	}
	if _, err := c.Select(agentMailbox, nil).Wait(); err != nil {
		f.t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		found, err := c.UIDSearch(&imap.SearchCriteria{Flag: []imap.Flag{flag}}, nil).Wait()
		if err != nil {
			f.t.Fatal(err)
		}
		if len(found.AllUIDs()) == want {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("%d messages have the flag %s, want %d", len(found.AllUIDs()), flag, want)
		}
	}
}

// bridgeProgram is the bridge as a program, with a gateway.
type bridgeProgram struct {
	t             *testing.T
	program, firn string
	home          string
	env           []string
}

// buildBridge builds the bridge and firn, and starts a gateway.
func buildBridge(t *testing.T, env ...string) *bridgeProgram {
	t.Helper()
	dir := t.TempDir()
	b := &bridgeProgram{t: t, program: filepath.Join(dir, "email"), firn: filepath.Join(dir, "firn"), home: filepath.Join(dir, "home")}
	b.run(".", nil, "go", "build", "-o", b.program, ".")
	b.run("../..", nil, "go", "build", "-o", b.firn, "./cmd/firn")
	if err := os.MkdirAll(b.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.home, "firn.toml"), []byte("[session.queue]\ndebounce = \"0s\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.env = []string{"HOME=" + dir, "NO_COLOR=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	var token struct{ Secret string }
	if err := json.Unmarshal([]byte(b.gateway("--json", "token", "create", "bridge", "--scope", "write")), &token); err != nil {
		t.Fatal(err)
	}
	url := b.serve()
	b.env = append(b.env, append(env, "FIRN_GATEWAY="+url, "FIRN_TOKEN="+token.Secret)...)
	return b
}

// run runs a program and returns its output.
func (b *bridgeProgram) run(dir string, env []string, name string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command(name, args...)
	var errs strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, &errs
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, &errs)
	}
	return string(out)
}

// gateway runs a command of firn.
func (b *bridgeProgram) gateway(args ...string) string {
	b.t.Helper()
	return b.run(b.home, []string{"HOME=" + filepath.Dir(b.home), "NO_COLOR=1", "TERM=dumb"}, b.firn, append([]string{"--home", b.home}, args...)...)
}

// serve starts the gateway and returns its URL.
func (b *bridgeProgram) serve() string {
	b.t.Helper()
	cmd := exec.Command(b.firn, "--home", b.home, "serve", "--listen", "127.0.0.1:0")
	cmd.Env, cmd.Dir, cmd.Stderr = b.env, b.home, b.t.Output()
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var at struct{ TCP string }
		if data, err := os.ReadFile(filepath.Join(b.home, "gateway", "address.json")); err == nil && json.Unmarshal(data, &at) == nil && at.TCP != "" {
			return "http://" + at.TCP
		}
		if time.Now().After(end) {
			b.t.Fatal("the gateway did not start")
		}
	}
}

// start starts the bridge and returns a function that kills it.
func (b *bridgeProgram) start() (kill func()) {
	b.t.Helper()
	cmd := exec.Command(b.program)
	cmd.Env, cmd.Stderr = b.env, b.t.Output()
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	b.t.Cleanup(kill)
	return kill
}

// fails runs the bridge with other variables, with which it must end with an error.
func (b *bridgeProgram) fails(env ...string) string {
	b.t.Helper()
	cmd := exec.Command(b.program)
	cmd.Env = append(append([]string(nil), b.env...), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		b.t.Errorf("with %q it ends without an error: %s", env, out)
	}
	return string(out)
}

// ignored are messages that must not be answered: each would be one that could be.
func (f *mailServer) ignored() {
	const verified = "Authentication-Results: mx.firn.test; dmarc=pass header.from=home.test"
	f.deliver("i1@home.test", "what is 9*1?", "Auto-Submitted: auto-replied")
	f.deliver("i2@home.test", "what is 9*2?", "Precedence: bulk")
	f.deliver("i3@home.test", "what is 9*3?", "List-Id: <everyone.home.test>")
	f.deliver("i4@home.test", "what is 9*4?", "Content-Type: multipart/report; boundary=x")
	f.deliver("i5@home.test", "what is 9*5?", "From: Eve <eve@home.test>", verified)
	f.deliver("i6@home.test", "what is 9*6?", "From: "+agentAddress, verified)
	f.deliver("i7@home.test", "what is 9*7?", "From: Ann <ann@home.test>")
	f.deliver("i8@home.test", "what is 9*8?", "From: Ann <ann@home.test>", "Authentication-Results: mx.firn.test; dmarc=fail", verified)
	f.deliver("i9@home.test", "what is 9*9?", "From: Ann <ann@home.test>", strings.Replace(verified, "mx.firn", "mx.evil", 1))
	f.deliver("i10@home.test", "what is 9*10?", "From: Ann <ann@home.test>, eve@home.test", verified)
	f.deliver("i11@home.test", "what is 9*11?", "Auto-Submitted: auto-generated", fmt.Sprintf("In-Reply-To: <firn.x.%016d@firn.test>", 1))
}
