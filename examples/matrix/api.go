package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"firn.dev/examples/bridge"
)

// api calls the client-server API of a homeserver.
type api struct {
	base, token string
	http        *http.Client
}

func newAPI(server, token string) *api {
	return &api{strings.TrimSuffix(server, "/") + "/_matrix/client/v3/", token, &http.Client{Timeout: pollTime + time.Minute}}
}

// pollTime is how long the homeserver waits for an event before it answers that there is none.
const pollTime = 30 * time.Second

// rejection is an error of the homeserver.
type rejection struct {
	Status int    `json:"-"`
	Code   string `json:"errcode"`
	Text   string `json:"error"`
}

// Error describes the error.
func (r *rejection) Error() string {
	return fmt.Sprintf("the homeserver answers %d %s: %s", r.Status, r.Code, r.Text)
}

// wrongToken reports whether an error means that the access token is not valid.
func wrongToken(err error) bool {
	r := new(rejection)
	return errors.As(err, &r) && r.Status == http.StatusUnauthorized
}

// refused reports whether an error is one that a retry cannot change: the bot was removed from
// the room, or the event is too large.
func refused(err error) bool {
	r := new(rejection)
	return errors.As(err, &r) && r.Status >= 400 && r.Status < 500 && !wrongToken(err) && r.Status != http.StatusTooManyRequests
}

// path joins parts of a path, which are escaped.
func path(parts ...string) string {
	for n, part := range parts {
		parts[n] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// call sends a request and decodes the response. Without a body none is sent.
func (a *api) call(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, content)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := a.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return problem(response, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

// problem returns the error of a response. Rate limits name a time in a header since version
// 1.10, before that in the body.
func problem(response *http.Response, data []byte) error {
	r := &rejection{Status: response.StatusCode, Code: "without an error code"}
	_ = json.Unmarshal(data, r) // a proxy in front of the homeserver may not answer with JSON
	if r.Status != http.StatusTooManyRequests {
		return r
	}
	var limit struct {
		Milliseconds int64 `json:"retry_after_ms"`
	}
	_ = json.Unmarshal(data, &limit)
	after := time.Duration(limit.Milliseconds) * time.Millisecond
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		after = max(after, time.Duration(seconds)*time.Second)
	}
	return &bridge.Limited{After: max(after, time.Second), Err: r}
}

// whoAmI returns the user ID of the access token.
func (a *api) whoAmI(ctx context.Context) (string, error) {
	var answer struct {
		User string `json:"user_id"`
	}
	err := a.call(ctx, http.MethodGet, path("account", "whoami"), nil, &answer)
	return answer.User, err
}

// filter excludes what the bridge does not need from a sync.
const filter = `{"presence":{"types":[]},"account_data":{"types":[]},"room":{"account_data":{"types":[]},"ephemeral":{"types":[]},"state":{"lazy_load_members":true},"timeline":{"limit":100}}}`

// synced is the response of a sync.
type synced struct {
	Next  string `json:"next_batch"`
	Rooms struct {
		Join map[string]struct {
			Timeline timeline `json:"timeline"`
		} `json:"join"`
		Invite map[string]struct {
			State struct {
				Events []event `json:"events"`
			} `json:"invite_state"`
		} `json:"invite"`
	} `json:"rooms"`
}

// timeline has the latest events of a room, oldest first. Limited means that there are more
// before them, which end at Prev.
type timeline struct {
	Events  []event `json:"events"`
	Limited bool    `json:"limited"`
	Prev    string  `json:"prev_batch"`
}

// sync waits for events after a token; the first sync has none.
func (a *api) sync(ctx context.Context, since string) (s synced, err error) {
	query := url.Values{"filter": {filter}}
	if since != "" {
		query.Set("since", since)
		query.Set("timeout", strconv.FormatInt(pollTime.Milliseconds(), 10))
	}
	err = a.call(ctx, http.MethodGet, "sync?"+query.Encode(), nil, &s)
	return s, err
}

// before returns a page of events of a room before a token, newest first, back to another one,
// and the token of the next page, or "" if there is none.
func (a *api) before(ctx context.Context, room, from, to string) ([]event, string, error) {
	var page struct {
		Chunk []event `json:"chunk"`
		End   string  `json:"end"`
	}
	query := url.Values{"dir": {"b"}, "from": {from}, "to": {to}, "limit": {"100"}}
	err := a.call(ctx, http.MethodGet, path("rooms", room, "messages")+"?"+query.Encode(), nil, &page)
	return page.Chunk, page.End, err
}

// join accepts an invitation.
func (a *api) join(ctx context.Context, room string) error {
	return a.call(ctx, http.MethodPost, path("rooms", room, "join"), struct{}{}, nil)
}

// send sends a message. The homeserver sends one with the same transaction ID only once.
func (a *api) send(ctx context.Context, room, transaction string, c content) error {
	return a.call(ctx, http.MethodPut, path("rooms", room, "send", "m.room.message", transaction), c, nil)
}

// markRead sends a receipt for an event, which is in a thread or in "main".
func (a *api) markRead(ctx context.Context, room, id, thread string) error {
	return a.call(ctx, http.MethodPost, path("rooms", room, "receipt", "m.read", id), map[string]string{"thread_id": thread}, nil)
}

// room is what the bridge knows about a room.
type room struct {
	// Name is empty if the room has none. Names are the names of its members by ID.
	Name  string
	Names map[string]string
}

// room returns the name and the members of a room.
func (a *api) room(ctx context.Context, id string) (*room, error) {
	var members struct {
		Joined map[string]struct {
			Name string `json:"display_name"`
		} `json:"joined"`
	}
	if err := a.call(ctx, http.MethodGet, path("rooms", id, "joined_members"), nil, &members); err != nil {
		return nil, err
	}
	var name struct {
		Name string `json:"name"`
	}
	if err := a.call(ctx, http.MethodGet, path("rooms", id, "state", "m.room.name"), nil, &name); err != nil && !refused(err) {
		return nil, err
	}
	r := &room{name.Name, make(map[string]string)}
	for user, m := range members.Joined {
		if r.Names[user] = m.Name; m.Name == "" {
			r.Names[user] = user
		}
	}
	return r, nil
}
