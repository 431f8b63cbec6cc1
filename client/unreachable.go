package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
)

// Unreachable says that no gateway answered: there is none, the connection
// broke, or what answered is something else.
type Unreachable struct {
	// Address is where the gateway was looked for.
	Address string
	// Doing is what was asked of it: a method and a path.
	Doing string
	// Err is what went wrong.
	Err error
	// Hint says what to do about it.
	Hint string
}

// Error says what was asked, where, and what came of it.
func (u *Unreachable) Error() string {
	return fmt.Sprintf("ask the gateway at %s (%s): %v", u.Address, u.Doing, u.Err)
}

// Unwrap gives the error of the connection.
func (u *Unreachable) Unwrap() error { return u.Err }

// The hints of an Unreachable.
const (
	hintStart = "start one with `firn serve`, or leave out --gateway to work without one"
	hintRetry = "the gateway may have been restarted: try again, and see `firn status`"
	hintOther = "something else seems to answer there: check the address, and any proxy in between"
)

// unreachable tells of a connection that could not be made or broke.
func (c *Client) unreachable(doing string, err error) *Unreachable {
	// An url.Error repeats the method and the address in its own way.
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	u := &Unreachable{Address: c.address, Doing: doing, Err: err, Hint: hintRetry}
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		u.Hint = hintStart
		u.Err = dialError(op)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		u.Err = fmt.Errorf("the connection broke before the answer was there: %w", err)
	}
	return u
}

// dialError puts the two usual cases into words.
func dialError(op *net.OpError) error {
	switch {
	case errors.Is(op, os.ErrNotExist):
		return fmt.Errorf("no gateway is running there: %w", op.Err)
	case errors.Is(op, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens there: %w", op.Err)
	}
	return op
}

// stranger tells of an answer that is not a gateway's.
func (c *Client) stranger(doing, what string) *Unreachable {
	return &Unreachable{Address: c.address, Doing: doing, Err: errors.New(what), Hint: hintOther}
}
