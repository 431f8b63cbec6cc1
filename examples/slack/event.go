package main

import (
	"encoding/json"
	"regexp"
	"strings"

	"firn.dev/wire"
)

// callback is the payload of an envelope of the Events API.
type callback struct {
	Type  string `json:"type"`
	Team  string `json:"team_id"`
	Event event  `json:"event"`
}

// event is a message, or something else that the bridge ignores.
type event struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	// Bot is set if a bot has sent the message.
	Bot     string `json:"bot_id"`
	User    string `json:"user"`
	Text    string `json:"text"`
	Channel string `json:"channel"`
	// Kind is im for a direct conversation; mentions do not have it.
	Kind string `json:"channel_type"`
	// TS is the ID of the message in its channel, Thread that of the first message of its
	// thread.
	TS     string `json:"ts"`
	Thread string `json:"thread_ts"`
}

// question is a message for the agent. The journal keeps it until it is answered.
type question struct {
	Team  string `json:"team"`
	Event event  `json:"event"`
	// Retried means that Slack has delivered the event before.
	Retried bool `json:"retried,omitempty"`
}

// parse returns the question of an envelope, or false if it is none: it comes from a bot, is an
// edit or another notice, or was written in a channel without mentioning the bot. Slack
// announces a mention twice, as a message and as a mention; only the latter counts.
func parse(e envelope, me identity) (question, bool) {
	var c callback
	if e.Type != "events_api" || json.Unmarshal(e.Payload, &c) != nil || c.Type != "event_callback" {
		return question{}, false
	}
	ev := c.Event
	fromBot := ev.Bot != "" || ev.User == "" || ev.User == me.User
	written := ev.Subtype == "" || ev.Subtype == "file_share" || ev.Subtype == "thread_broadcast"
	direct := ev.Type == "message" && ev.Kind == "im"
	mentioned := ev.Type == "app_mention" && !strings.HasPrefix(ev.Channel, "D")
	if fromBot || !written || !direct && !mentioned || ev.Channel == "" || ev.TS == "" {
		return question{}, false
	}
	return question{Team: c.Team, Event: ev, Retried: e.Retries > 0}, true
}

// id returns the ID of a question.
func (q question) id() string { return q.Event.Channel + "." + q.Event.TS }

// place returns where the answer belongs: beside a direct message, and in the thread of a
// mention, which may start with it.
func (q question) place() place {
	to := place{q.Event.Channel, q.Event.Thread}
	if to.Thread == "" && q.Event.Type == "app_mention" {
		to.Thread = q.Event.TS
	}
	return to
}

// inbound converts a question. Every thread is a session of its own.
func (q question) inbound(me identity) wire.Inbound {
	in := wire.Inbound{
		Channel: "slack", AccountID: q.Team, PeerKind: "channel", PeerID: q.Event.Channel, ThreadID: q.place().Thread,
		Text: plain(q.Event.Text, me), ID: q.id(),
	}
	if q.Event.Kind == "im" {
		in.PeerKind, in.PeerID = "direct", q.Event.User
	}
	return in
}

// reference is a reference in the text of a message, such as <@U1>, <#C1|general> or
// <https://example.org|label>.
var reference = regexp.MustCompile(`<([^<>|]*)(?:\|([^<>]*))?>`)

// plain converts the markup of a message to text, without the mention of the bot.
func plain(text string, me identity) string {
	text = strings.ReplaceAll(text, "<@"+me.User+">", "")
	text = reference.ReplaceAllStringFunc(text, func(s string) string {
		m := reference.FindStringSubmatch(s)
		target, label := m[1], m[2]
		switch {
		case strings.HasPrefix(target, "#") && label != "":
			return "#" + label
		case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"), strings.HasPrefix(target, "!"):
			return strings.TrimPrefix(target, "!")
		case label != "" && !strings.HasSuffix(target, label):
			return label + " (" + target + ")"
		}
		return target
	})
	return strings.TrimSpace(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text))
}
