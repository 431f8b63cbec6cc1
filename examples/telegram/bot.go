package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"firn.dev/examples/bridge"
)

// bot calls Telegram's bot API.
type bot struct {
	base string
	http *http.Client
}

func newBot(server, token string) *bot {
	if server == "" {
		server = "https://api.telegram.org"
	}
	return &bot{base: server + "/bot" + url.PathEscape(token) + "/", http: &http.Client{Timeout: pollTime + 30*time.Second}}
}

// pollTime is how long Telegram waits for a message before it answers that there is none.
const pollTime = 50 * time.Second

// update is a message, or something else that the bridge does not handle.
type update struct {
	ID      int64    `json:"update_id"`
	Message *message `json:"message"`
}

type message struct {
	ID    int64  `json:"message_id"`
	Topic int64  `json:"message_thread_id"`
	From  user   `json:"from"`
	Chat  chat   `json:"chat"`
	Text  string `json:"text"`
}

type user struct {
	ID    int64  `json:"id"`
	First string `json:"first_name"`
	Last  string `json:"last_name"`
}

// name returns the name of a user.
func (u user) name() string { return strings.TrimSpace(u.First + " " + u.Last) }

type chat struct {
	ID    int64  `json:"id"`
	Type  string `json:"type"`
	Title string `json:"title"`
}

// rejection is an error of Telegram.
type rejection struct {
	Code        int
	Description string
	// RetryAfter is the number of seconds to wait; zero if Telegram names none.
	RetryAfter int
}

// Error describes the error. It does not contain the token.
func (r *rejection) Error() string {
	return fmt.Sprintf("Telegram answers %d: %s", r.Code, r.Description)
}

// final reports whether the token is wrong, so that trying again is useless.
func (r *rejection) final() bool {
	return r.Code == http.StatusUnauthorized || r.Code == http.StatusNotFound
}

// unwanted reports whether a chat does not accept messages, for example because the user has
// blocked the bot.
func (r *rejection) unwanted() bool {
	return r.Code == http.StatusBadRequest || r.Code == http.StatusForbidden
}

// updates waits for messages from an offset on. The offset confirms all messages before it.
func (b *bot) updates(ctx context.Context, offset int64) (all []update, err error) {
	err = b.call(ctx, "getUpdates", map[string]any{"offset": offset, "timeout": int(pollTime.Seconds()), "allowed_updates": []string{"message"}}, &all)
	return all, err
}

// maxText is the largest length of a message of Telegram, in units of UTF-16.
const maxText = 4096

// send sends a text to a chat, in pieces if it is long.
func (b *bot) send(ctx context.Context, chat, topic int64, text string) error {
	for _, piece := range bridge.Pieces(text, maxText) {
		body := map[string]any{"chat_id": chat, "text": piece}
		if topic != 0 {
			body["message_thread_id"] = topic
		}
		if err := b.call(ctx, "sendMessage", body, nil); err != nil {
			return err
		}
	}
	return nil
}

// call calls a method of the API.
func (b *bot) call(ctx context.Context, method string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.base+method, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: the address of Telegram is invalid", method) // it contains the token
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := b.http.Do(r)
	if err != nil {
		return fmt.Errorf("%s: Telegram does not respond", method)
	}
	defer response.Body.Close()
	var answer struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Description string          `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 16<<20)).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %d without JSON", method, response.StatusCode)
	}
	if !answer.OK {
		return &rejection{response.StatusCode, answer.Description, answer.Parameters.RetryAfter}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, into)
}
