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
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev/examples/bridge"
)

// api calls Slack's Web API.
type api struct {
	base string
	// app is the token for connections, bot the token for everything else.
	app, bot string
	http     *http.Client
}

func newAPI(base, app, bot string) *api {
	if base == "" {
		base = "https://slack.com/api"
	}
	return &api{base: strings.TrimSuffix(base, "/") + "/", app: app, bot: bot, http: &http.Client{Timeout: time.Minute}}
}

// rejection is an error code of Slack, such as channel_not_found.
type rejection struct{ method, code string }

// Error describes the error.
func (r *rejection) Error() string { return r.method + ": Slack answers " + r.code }

// tokenErrors are the errors of tokens with which nothing works.
var tokenErrors = []string{
	"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type",
	"missing_scope", "link_disabled", "socket_mode_not_enabled",
}

// passing are the errors after which the same call may succeed.
var passing = []string{"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited", "rate_limited", "message_limit_exceeded"}

// hasCode reports whether an error is a rejection with one of the codes.
func hasCode(err error, codes []string) bool {
	r := new(rejection)
	return errors.As(err, &r) && slices.Contains(codes, r.code)
}

// call calls a method with a body in JSON and decodes the response.
func (a *api) call(ctx context.Context, method, token string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return a.post(ctx, method, token, "application/json; charset=utf-8", data, into)
}

// query calls a method that reads, with a form: such methods do not accept JSON.
func (a *api) query(ctx context.Context, method string, form url.Values, into any) error {
	return a.post(ctx, method, a.bot, "application/x-www-form-urlencoded", []byte(form.Encode()), into)
}

func (a *api) post(ctx context.Context, method, token, kind string, body []byte, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := a.http.Do(r)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return &bridge.Limited{After: time.Duration(max(seconds, 1)) * time.Second, Err: &rejection{method, "ratelimited"}}
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	var status struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(data, &status); err != nil {
		return fmt.Errorf("%s: status %d without JSON", method, response.StatusCode)
	}
	if !status.OK {
		return &rejection{method, status.Error}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

// identity is the bot's own user.
type identity struct {
	User string `json:"user_id"`
	Team string `json:"team_id"`
}

// whoAmI returns the user of the bot token.
func (a *api) whoAmI(ctx context.Context) (me identity, err error) {
	err = a.call(ctx, "auth.test", a.bot, struct{}{}, &me)
	return me, err
}

// userName returns the name that a user has chosen to be shown.
func (a *api) userName(ctx context.Context, id string) (string, error) {
	var answer struct {
		User struct {
			Name    string `json:"name"`
			Real    string `json:"real_name"`
			Profile struct {
				Display string `json:"display_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	err := a.query(ctx, "users.info", url.Values{"user": {id}}, &answer)
	for _, name := range []string{answer.User.Profile.Display, answer.User.Real, answer.User.Name} {
		if name != "" {
			return name, err
		}
	}
	return id, err
}

// place is where a message is: a channel or direct conversation, and a thread in it or "".
type place struct{ Channel, Thread string }

// maxText is the largest length of a message in Markdown.
const maxText = 12_000

// metadata marks a message of the bot with the answer that it is a piece of.
type metadata struct {
	Type    string  `json:"event_type"`
	Payload payload `json:"event_payload"`
}

type payload struct {
	Answer string `json:"answer"`
	Piece  int    `json:"piece"`
}

// answerType is the type of the metadata.
const answerType = "firn_answer"

// send posts an answer, in pieces if it is long. If the answer may have been posted before, it
// looks for its pieces among the messages since the question and posts only the missing ones.
func (a *api) send(ctx context.Context, to place, question string, r bridge.Reply) error {
	posted := make(map[int]bool)
	if r.Unsure {
		var err error
		if posted, err = a.posted(ctx, to, question, r.ID); err != nil {
			return err
		}
	}
	for n, piece := range bridge.Pieces(r.Text, maxText) {
		if posted[n] {
			continue
		}
		body := map[string]any{
			"channel": to.Channel, "markdown_text": withoutBroadcasts(piece),
			"metadata": metadata{answerType, payload{r.ID, n}},
		}
		if to.Thread != "" {
			body["thread_ts"] = to.Thread
		}
		if err := a.call(ctx, "chat.postMessage", a.bot, body, nil); err != nil {
			return err
		}
	}
	return nil
}

// withoutBroadcasts changes mentions like <!channel> in the text of a model, which would notify
// all members, so that Slack shows them as text.
func withoutBroadcasts(text string) string {
	return strings.ReplaceAll(text, "<!", "<\u200b!")
}

// posted returns the pieces of an answer that were posted since a question.
func (a *api) posted(ctx context.Context, to place, question, answer string) (map[int]bool, error) {
	method, form := "conversations.history", url.Values{"channel": {to.Channel}, "oldest": {question}, "include_all_metadata": {"true"}, "limit": {"200"}}
	if to.Thread != "" {
		method = "conversations.replies"
		form.Set("ts", to.Thread)
	}
	pieces := make(map[int]bool)
	for {
		var page struct {
			Messages []struct {
				Metadata metadata `json:"metadata"`
			} `json:"messages"`
			Next struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if err := a.query(ctx, method, form, &page); err != nil {
			return nil, err
		}
		for _, m := range page.Messages {
			if m.Metadata.Type == answerType && m.Metadata.Payload.Answer == answer {
				pieces[m.Metadata.Payload.Piece] = true
			}
		}
		if page.Next.Cursor == "" {
			return pieces, nil
		}
		form.Set("cursor", page.Next.Cursor)
	}
}
