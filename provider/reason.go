package provider

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"firn.dev/internal/base/pattern"
)

// reason is the cause of a failure as a user understands it. It refines a [Kind].
type reason int

const (
	rejected reason = iota
	noKey
	badAPIKey
	denied
	noCredit
	rateLimited
	overloaded
	serverFailed
	tooLong
	unknownModel
	filtered
	cutOff
	noNetwork
	notListening
	timedOut
	untrusted
)

// reasons maps each reason to its message and hint.
var reasons = map[reason]struct{ what, hint string }{
	rejected:     {"request rejected", "the provider does not accept this request; /model picks another model"},
	noKey:        {"no API key", "set the provider's API key, or pick another model with /model or -m"},
	badAPIKey:    {"API key rejected", "check the provider's API key, or pick another model with /model or -m"},
	denied:       {"access denied", "the API key may not use this model; pick another with /model or -m"},
	noCredit:     {"no credit or quota left", "add credit or raise the limit in the provider's billing settings, or pick another model with /model or -m"},
	rateLimited:  {"rate limited", "your message is saved; wait, then /retry sends it again, or pick another model with /model or -m"},
	overloaded:   {"overloaded", "the provider has too many requests; your message is saved, and /retry sends it again"},
	serverFailed: {"the provider has a problem", "your message is saved, and /retry sends it again; /model or -m picks another model"},
	tooLong:      {"the conversation is too long for the model", "/compact summarizes it, /new starts another session, and /model picks a model with a larger window"},
	unknownModel: {"unknown model", "to list the models: firn model"},
	filtered:     {"blocked by a content filter", "change the message: /rewind goes back to before it"},
	cutOff:       {"the answer was cut off", "the part that arrived is saved; /retry continues"},
	noNetwork:    {"no network", "check the connection; your message is saved, and /retry sends it again"},
	notListening: {"no server answers", "check that the server runs and its address; your message is saved, and /retry sends it again"},
	timedOut:     {"no answer in time", "your message is saved, and /retry sends it again"},
	untrusted:    {"the server's certificate is not trusted", "check the address and the clock of this machine"},
}

// reason returns why a request failed.
func (e *Error) reason() reason {
	switch e.Kind {
	case Overflow:
		return tooLong
	case Auth:
		return e.authReason()
	case BadRequest:
		return e.requestReason()
	}
	switch {
	case e.Partial:
		return cutOff
	case e.Status == http.StatusTooManyRequests || e.Status == 0 && rateCode().MatchString(e.Code):
		return rateLimited
	case e.Status == 529 || overload().MatchString(e.Code) || e.Status == http.StatusServiceUnavailable && overload().MatchString(e.Message):
		return overloaded
	case e.Status != 0 || e.Code != "" || e.Message != "":
		return serverFailed
	}
	return networkReason(e.Err)
}

var (
	rateCode  = pattern.New(`(?i)rate.?limit|too_many_requests|RESOURCE_EXHAUSTED`)
	overload  = pattern.New(`(?i)overload|capacity|server.?busy|server is busy`)
	unpaid    = pattern.New(`(?i)insufficient_quota|billing|quota|credit|balance|afford|payment`)
	noModel   = pattern.New(`(?i)\bmodel\b.{0,120}(?:not found|does not exist|not exist|is not (?:a valid|supported|available)|unknown|invalid)|(?:no such|unknown|invalid) model|model_not_found|^model: \S+$|not a valid model`)
	filterFor = pattern.New(`(?i)content_filter|content.?policy|flagged|moderation`)
)

func (e *Error) authReason() reason {
	switch {
	case e.Status == http.StatusPaymentRequired || unpaid().MatchString(e.Code) || unpaid().MatchString(e.Message):
		return noCredit
	case e.Status == http.StatusForbidden:
		return denied
	case e.Status == 0 && e.Err != nil:
		return noKey
	}
	return badAPIKey
}

func (e *Error) requestReason() reason {
	switch {
	case filterFor().MatchString(e.Code) || filterFor().MatchString(e.Message):
		return filtered
	case noModel().MatchString(e.Code) || noModel().MatchString(e.Message):
		return unknownModel
	case e.Status == 0 && e.Code == "" && e.Message == "" && e.Err != nil:
		if r := networkReason(e.Err); r == untrusted {
			return r
		}
	}
	return rejected
}

// networkReason returns why no response arrived.
func networkReason(err error) reason {
	var name *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil:
		return notListening
	case strings.Contains(err.Error(), "certificate"):
		return untrusted
	case errors.As(err, &name), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETDOWN):
		return noNetwork
	case errors.Is(err, errStalled), errors.As(err, &timeout) && timeout.Timeout():
		return timedOut
	}
	return notListening
}

// what describes the failure in plain words.
func (e *Error) what() string {
	r := e.reason()
	if r == tooLong {
		if limit, sent := ReportedLimit(e); limit > 0 && sent > 0 {
			return fmt.Sprintf("the conversation is too long: %s tokens, and the model accepts %s", grouped(sent), grouped(limit))
		} else if limit > 0 {
			return fmt.Sprintf("the conversation is too long: the model accepts %s tokens", grouped(limit))
		}
	}
	return reasons[r].what
}

// Hint returns what the user can do about the failure.
func (e *Error) Hint() string { return cmp.Or(e.Advice, reasons[e.reason()].hint) }

// RejectsKey reports whether the API key is missing, invalid or without permission. It is false
// if the account has no credit.
func (e *Error) RejectsKey() bool {
	r := e.reason()
	return r == noKey || r == badAPIKey || r == denied
}

// UnknownModel reports whether a provider does not have the model of a request.
func UnknownModel(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.reason() == unknownModel
}

// Unreachable reports whether no server answered a request.
func Unreachable(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	r := e.reason()
	return r == notListening || r == noNetwork
}

// causeText returns the text of a network error without the parts that only programmers know.
func causeText(err error) string {
	var name *net.DNSError
	var op *net.OpError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &name) && name.Name != "":
		return "the name " + name.Name + " was not found"
	case errors.As(err, &op) && op.Addr != nil && errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused by " + op.Addr.String()
	}
	return err.Error()
}

// delayText returns a delay in seconds, or in minutes and hours if it is longer.
func delayText(d time.Duration) string {
	d = max(d.Round(time.Second), time.Second)
	switch {
	case d < 2*time.Minute:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int((d+time.Minute-1)/time.Minute)) + " min"
	}
	return strconv.Itoa(int((d+time.Hour-1)/time.Hour)) + " h"
}

// grouped returns a number with separators.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Text describes a retry: the failure, its number, and when it happens.
func (r Retrying) Text(now time.Time) string {
	text := r.Err.Error()
	if i := strings.LastIndex(text, "; try again in "); i >= 0 {
		text = text[:i]
	}
	number := "retry " + strconv.Itoa(r.Attempt)
	if r.Retries > 0 {
		number += " of " + strconv.Itoa(r.Retries)
	}
	if r.Delay < time.Second {
		return text + "; " + number + " now"
	}
	return text + "; " + number + " in " + delayText(r.Delay) + ", at " + now.Add(r.Delay).Format(time.TimeOnly)
}
