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

// Unreachable is the error if no gateway responded: there is none, the connection broke, or
// another server responded.
type Unreachable struct {
	// Address is the address of the gateway.
	Address string
	// Doing is the request: a method and a path.
	Doing string
	// Err is the cause.
	Err error
	// Hint suggests a fix.
	Hint string
}

// Error names the request, the address and the cause.
func (u *Unreachable) Error() string {
	return fmt.Sprintf("cannot reach the gateway at %s (%s): %v", u.Address, u.Doing, u.Err)
}

// Unwrap returns the error of the connection.
func (u *Unreachable) Unwrap() error { return u.Err }

// The hints of an Unreachable.
const (
	hintStart = "run firn serve to start one, or omit --gateway to work without one"
	hintRetry = "the gateway may have restarted; try again, or run firn status"
	hintOther = "another program seems to respond; check the address and any proxy"
)

// unreachable returns the error for a connection that failed or broke.
func (c *conn) unreachable(doing string, err error) *Unreachable {
	// A url.Error repeats the method and the address in its own format.
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
		u.Err = fmt.Errorf("the connection broke before the response arrived: %w", err)
	}
	return u
}

// dialError returns a clearer error for the two usual cases.
func dialError(op *net.OpError) error {
	switch {
	case errors.Is(op, os.ErrNotExist):
		return fmt.Errorf("no gateway is running: %w", op.Err)
	case errors.Is(op, syscall.ECONNREFUSED):
		return &refused{op.Err}
	}
	return op
}

// refused is the error of a connection that was refused, without the names of system calls.
type refused struct{ error }

func (r *refused) Error() string { return "connection refused" }

// Unwrap returns the error of the system.
func (r *refused) Unwrap() error { return r.error }

// notGateway returns the error for a response that is not from a gateway.
func (c *conn) notGateway(doing, what string) *Unreachable {
	return &Unreachable{Address: c.address, Doing: doing, Err: errors.New(what), Hint: hintOther}
}
