package main

import (
	"encoding/json"
	"slices"
	"strings"

	"firn.dev/wire"
)

// event is an event of a room. Content that is not that of a message is ignored.
type event struct {
	Type     string          `json:"type"`
	ID       string          `json:"event_id"`
	Sender   string          `json:"sender"`
	StateKey *string         `json:"state_key"`
	Content  json.RawMessage `json:"content"`
	Unsigned struct {
		Before struct {
			Membership string `json:"membership"`
		} `json:"prev_content"`
	} `json:"unsigned"`
}

// content is the content of a message.
type content struct {
	Kind     string    `json:"msgtype"`
	Body     string    `json:"body"`
	Mentions *mentions `json:"m.mentions,omitempty"`
	Relates  *relation `json:"m.relates_to,omitempty"`
}

type mentions struct {
	Users []string `json:"user_ids,omitempty"`
}

// relation says that a message is in a thread, is a reply, or replaces another message.
type relation struct {
	Kind string `json:"rel_type,omitempty"`
	ID   string `json:"event_id,omitempty"`
	// Fallback means that Reply is there only for clients without threads.
	Fallback bool   `json:"is_falling_back,omitempty"`
	Reply    *reply `json:"m.in_reply_to,omitempty"`
}

type reply struct {
	ID string `json:"event_id"`
}

// membership returns how a user becomes related to the room by an event: invite, join, leave.
// It returns "" for other events, and for a member who changes the profile.
func (e event) membership(user string) string {
	var m struct {
		Membership string `json:"membership"`
	}
	if e.Type != "m.room.member" || e.StateKey == nil || *e.StateKey != user || json.Unmarshal(e.Content, &m) != nil || m.Membership == e.Unsigned.Before.Membership {
		return ""
	}
	return m.Membership
}

// message returns the content of a message for the agent. Notices are from bots, whom bots
// must not answer; edits are ignored.
func (e event) message() (c content, ok bool) {
	if e.Type != "m.room.message" || json.Unmarshal(e.Content, &c) != nil {
		return c, false
	}
	replaces := c.Relates != nil && c.Relates.Kind == "m.replace"
	return c, (c.Kind == "m.text" || c.Kind == "m.emote") && c.Body != "" && !replaces
}

// thread returns the ID of the first message of the thread of a message, or "".
func (c content) thread() string {
	if c.Relates != nil && c.Relates.Kind == "m.thread" {
		return c.Relates.ID
	}
	return ""
}

// mentions reports whether a message mentions a user. Older clients do it in the text only.
func (c content) mentions(user string) bool {
	if c.Mentions != nil {
		return slices.Contains(c.Mentions.Users, user)
	}
	return strings.Contains(c.Body, user)
}

// text returns the text of a message without the quotation that older clients put before a
// reply.
func (c content) text() string {
	text := c.Body
	if c.Relates == nil || c.Relates.Reply == nil || c.Relates.Fallback || !strings.HasPrefix(text, "> <@") {
		return text
	}
	for strings.HasPrefix(text, ">") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimPrefix(text, "\n")
}

// direct reports whether a room is a conversation with one user.
func (r *room) direct() bool { return len(r.Names) <= 2 }

// inbound converts a message. Every room and every thread is a session.
func inbound(e event, c content, id string, r *room) wire.Inbound {
	in := wire.Inbound{
		Channel: "matrix", PeerKind: "group", PeerID: id, ThreadID: c.thread(), Sender: r.Names[e.Sender],
		Subject: r.Name, Text: c.text(), ID: e.ID,
	}
	if r.direct() {
		in.PeerKind, in.PeerID = "direct", e.Sender
	}
	return in
}

// answerTo returns a piece of the answer to a message: in its thread, as a reply in a group, or
// plainly. It is a notice, so that no other bot answers it.
func answerTo(e event, c content, direct bool, text string) content {
	answer := content{Kind: "m.notice", Body: text, Mentions: &mentions{}}
	switch thread := c.thread(); {
	case thread != "":
		answer.Relates = &relation{Kind: "m.thread", ID: thread, Fallback: true, Reply: &reply{e.ID}}
	case !direct:
		answer.Relates, answer.Mentions = &relation{Reply: &reply{e.ID}}, &mentions{[]string{e.Sender}}
	}
	return answer
}
