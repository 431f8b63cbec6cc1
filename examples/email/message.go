package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // messages in other encodings than UTF-8
	"github.com/emersion/go-message/mail"
	"golang.org/x/net/html"

	"firn.dev/wire"
)

// question is a message for the agent.
type question struct {
	// ID and References are message IDs without brackets; References are those of the
	// messages before, oldest first.
	ID         string
	References []string
	// Thread is the same for all messages of a conversation.
	Thread  string
	From    mail.Address
	Subject string
	Text    string
}

// errIgnored is why a message is not for the agent.
type errIgnored string

// Error returns the reason.
func (e errIgnored) Error() string { return string(e) }

// parse reads a message. It returns an errIgnored if it is not for the agent: an automatic one,
// which must not be answered, or one whose sender is missing or not verified.
func (b *email) parse(data []byte) (q question, err error) {
	r, err := mail.CreateReader(bytes.NewReader(data))
	if err != nil && !message.IsUnknownCharset(err) {
		return q, errIgnored("it cannot be read: " + err.Error())
	}
	defer r.Close()
	from, err := r.Header.AddressList("From")
	if err != nil || len(from) != 1 {
		return q, errIgnored("it has no single sender")
	}
	q.From = *from[0]
	q.From.Address = strings.ToLower(q.From.Address)
	switch {
	case q.From.Address == b.address || !b.users.Has(q.From.Address):
		return q, errIgnored("the sender may not talk to the agent")
	case automatic(r.Header):
		return q, errIgnored("it was sent automatically")
	case b.authority != "none" && !verified(r.Header, b.authority):
		return q, errIgnored(b.authority + " has not verified the sender")
	}
	if q.ID, err = r.Header.MessageID(); err != nil || q.ID == "" {
		sum := sha256.Sum256(data)
		q.ID = hex.EncodeToString(sum[:16]) + "@" + domain(b.address)
	}
	q.References = references(r.Header)
	q.Thread = threadOf(append(slices.Clone(q.References), q.ID))
	q.Subject, _ = r.Header.Subject()
	text, err := textOf(r)
	if err != nil {
		return q, errIgnored("its text cannot be read: " + err.Error())
	}
	q.Text = withoutQuotation(text)
	if len(q.References) == 0 && q.Subject != "" { // the question is often only there
		q.Text = strings.TrimSpace("Subject: " + q.Subject + "\n\n" + q.Text)
	}
	return q, nil
}

// automatic reports whether a message comes from a program (RFC 3834), a list or a mail server.
// Answers to such messages could go back and forth forever.
func automatic(h mail.Header) bool {
	submitted := strings.ToLower(strings.TrimSpace(h.Get("Auto-Submitted")))
	kind, _, _ := h.ContentType()
	precedence := strings.ToLower(strings.TrimSpace(h.Get("Precedence")))
	return submitted != "" && submitted != "no" || slices.Contains([]string{"bulk", "junk", "list"}, precedence) ||
		h.Has("List-Id") || h.Has("X-Auto-Response-Suppress") || strings.TrimSpace(h.Get("Return-Path")) == "<>" || kind == "multipart/report"
}

// verified reports whether our mail server has verified the domain of the sender by DMARC. It
// removes such headers of others, and puts its own first (RFC 8601).
func verified(h mail.Header, authority string) bool {
	for fields := h.FieldsByKey("Authentication-Results"); fields.Next(); {
		results := strings.Split(fields.Value(), ";")
		name, _, _ := strings.Cut(strings.TrimSpace(results[0]), " ")
		if !strings.EqualFold(name, authority) {
			continue
		}
		return slices.ContainsFunc(results[1:], func(result string) bool {
			method, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(result)), " ")
			return method == "dmarc=pass"
		})
	}
	return false
}

// references returns the IDs of the messages before a message.
func references(h mail.Header) []string {
	all, _ := h.MsgIDList("References")
	parents, _ := h.MsgIDList("In-Reply-To")
	if len(parents) > 0 && !slices.Contains(all, parents[0]) {
		all = append(all, parents[0])
	}
	return all
}

// ownID is the ID of an answer: the ID of the answer in the gateway, and its thread.
var ownID = regexp.MustCompile(`^firn\.[^@]*\.([0-9a-f]{16})@`)

// threadOf returns the thread of messages, oldest first: the one in the ID of an answer, because
// some programs drop older references, or else one derived from the first message.
func threadOf(ids []string) string {
	for _, id := range ids {
		if m := ownID.FindStringSubmatch(id); m != nil {
			return m[1]
		}
	}
	sum := sha256.Sum256([]byte(ids[0]))
	return hex.EncodeToString(sum[:8])
}

// domain returns the domain of an address.
func domain(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// textOf returns the first text of a message; plain text is preferred to HTML.
func textOf(r *mail.Reader) (string, error) {
	var markup string
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the rest was not fetched
			return markup, nil
		}
		if err != nil && !message.IsUnknownCharset(err) {
			return markup, err
		}
		h, ok := part.Header.(*mail.InlineHeader)
		if !ok {
			continue
		}
		data, err := io.ReadAll(part.Body)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return markup, err
		}
		switch kind, _, _ := h.ContentType(); {
		case kind == "text/plain":
			return string(data), nil
		case kind == "text/html" && markup == "":
			markup = plain(string(data))
		}
	}
}

// plain returns the text of a page.
func plain(page string) string {
	var text strings.Builder
	tokens, skip := html.NewTokenizer(strings.NewReader(page)), 0
	for {
		kind := tokens.Next()
		name, _ := tokens.TagName()
		switch tag := string(name); {
		case kind == html.ErrorToken:
			return strings.TrimSpace(text.String())
		case kind == html.TextToken && skip == 0:
			text.WriteString(strings.Join(strings.Fields(" "+string(tokens.Text())+" "), " "))
		case slices.Contains([]string{"style", "script", "head", "blockquote"}, tag):
			if kind == html.StartTagToken {
				skip++
			} else if kind == html.EndTagToken {
				skip = max(skip-1, 0)
			}
		case kind != html.TextToken && slices.Contains([]string{"br", "p", "div", "li", "tr", "h1", "h2", "h3"}, tag) && !strings.HasSuffix(text.String(), "\n"):
			text.WriteByte('\n')
		case kind != html.TextToken && text.Len() > 0 && !strings.HasSuffix(text.String(), "\n"):
			text.WriteByte(' ')
		}
	}
}

// withoutQuotation removes the signature and the quoted message at the end of a reply. The
// session has the earlier messages anyway.
func withoutQuotation(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if before, _, found := strings.Cut(text, "\n-- \n"); found {
		text = before
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	n := len(lines)
	for n > 0 && (strings.HasPrefix(lines[n-1], ">") || strings.TrimSpace(lines[n-1]) == "") {
		n--
	}
	if n == len(lines) || n == 0 {
		return strings.TrimSpace(text)
	}
	if strings.HasSuffix(strings.TrimSpace(lines[n-1]), ":") { // "On Monday Ann wrote:", in any language
		for n--; n > 0 && strings.TrimSpace(lines[n-1]) != ""; n-- { // which may take two lines
		}
	}
	return cmp.Or(strings.TrimSpace(strings.Join(lines[:n], "\n")), strings.TrimSpace(text))
}

// inbound converts a question. Every thread is a session.
func (q question) inbound() wire.Inbound {
	return wire.Inbound{
		Channel: "email", PeerKind: "direct", PeerID: q.From.Address, ThreadID: q.Thread,
		Sender: cmp.Or(q.From.Name, q.From.Address), Text: q.Text, ID: q.ID,
	}
}
