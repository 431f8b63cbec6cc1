package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/ops/encryption"
	"firn.dev/internal/term/chat"
	"firn.dev/wire"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitAmbiguous   = 4
	exitConflict    = 5
	exitUnreachable = 6
	exitNotAllowed  = 7
	exitIntegrity   = 8
	exitPartial     = 9
	exitInterrupted = 130
)

// usageError means that the arguments are invalid.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

// usage returns a usageError whose hint is the command's help.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...), hint: "run " + cmd.CommandPath() + " --help"}
}

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Errors that only determine the exit code: the result was already printed.
var (
	errIntegrity = errors.New("faults were found")
	errPartial   = errors.New("some items failed")
	errWrong     = errors.New("the settings are invalid")
)

// outcome is the exit code, kind and hint of an error.
type outcome struct {
	kind string
	code int
	hint string
}

// outcomes maps errors to outcomes. The first match counts.
var outcomes = []struct {
	err error
	outcome
}{
	{context.Canceled, outcome{"interrupted", exitInterrupted, "nothing was left half done; run it again"}},
	{context.DeadlineExceeded, outcome{"interrupted", exitInterrupted, "nothing was left half done; run it again"}},
	{firn.ErrNotFound, outcome{"not-found", exitNotFound, "give an id, its first 4 or more characters, or a path; --home sets where to look"}},
	{firn.ErrConflict, outcome{"conflict", exitConflict, "another writer was faster; run it again"}},
	{firn.ErrReplaced, outcome{"conflict", exitConflict, "another program changed the file; check it, then run the command again"}},
	{firn.ErrLocked, outcome{"conflict", exitConflict, "another process is using it; try again later"}},
	{fs.ErrPermission, outcome{"not-allowed", exitNotAllowed, "run firn as the owner of the files"}},
	{firn.ErrUnknownOutcome, outcome{"unknown-outcome", exitFailed, "it may or may not be saved; check with firn tail before running it again"}},
	{firn.ErrUnavailable, outcome{"unavailable", exitUnreachable, "the cluster does not respond; try again later"}},
	{syscall.ENOSPC, outcome{"not-saved", exitFailed, "the disk is full; free some space and run it again. Saved data is safe"}},
	{syscall.EROFS, outcome{"not-saved", exitFailed, "read-only file system: firn ls, cat and search still work; --home chooses another place"}},
	{firn.ErrNotSaved, outcome{"not-saved", exitFailed, "the disk may be full; run firn doctor"}},
	{firn.ErrCorrupt, outcome{"integrity", exitIntegrity, "for details: firn verify"}},
	{firn.ErrInvalid, outcome{"usage", exitUsage, "run firn help"}},
	{firn.ErrTooLarge, outcome{"too-large", exitFailed, ""}},
	{firn.ErrUnsupported, outcome{"unsupported", exitFailed, ""}},
	{fs.ErrNotExist, outcome{"not-found", exitNotFound, "check the spelling; relative paths start at the current directory"}},
	{syscall.ENOTDIR, outcome{"failed", exitFailed, "expected a directory but found a file; --home sets the directory of the sessions"}},
	{syscall.EISDIR, outcome{"failed", exitFailed, "expected a file but found a directory"}},
}

// answers maps kinds of gateway problems to exit codes. The kinds are printed unchanged.
var answers = map[wire.Kind]int{
	wire.Invalid:     exitUsage,
	wire.NotFound:    exitNotFound,
	wire.Ambiguous:   exitAmbiguous,
	wire.Conflict:    exitConflict,
	wire.Locked:      exitConflict,
	wire.Busy:        exitConflict,
	wire.NotAllowed:  exitNotAllowed,
	wire.NoToken:     exitNotAllowed,
	wire.Corrupt:     exitIntegrity,
	wire.TooLarge:    exitFailed,
	wire.Unsupported: exitFailed,
	wire.NotSaved:    exitFailed,
	wire.Unknown:     exitFailed,
	wire.Unavailable: exitUnreachable,
	wire.Upstream:    exitFailed,
	wire.TurnStopped: exitInterrupted,
	wire.Closing:     exitUnreachable,
	wire.Internal:    exitFailed,
}

// classify returns the outcome of an error.
func classify(err error) outcome {
	o := judgeKind(err)
	var h *hinted
	var p *chat.Problem
	switch {
	case errors.As(err, &h):
		o.hint = h.hint
	case failure.Hint(err) != "":
		o.hint = failure.Hint(err)
	case errors.As(err, &p) && p.Hint != "":
		o.hint = p.Hint
	}
	return o
}

// classifyRemote returns the outcome of an error from the gateway, or of a failed
// connection.
func classifyRemote(err error) (outcome, bool) {
	var p *wire.Problem
	if errors.As(err, &p) {
		code, ok := answers[p.Kind]
		if !ok {
			code = exitFailed
		}
		return outcome{string(p.Kind), code, p.Hint}, true
	}
	var lost *client.Unreachable
	if errors.As(err, &lost) {
		return outcome{"unreachable", exitUnreachable, lost.Hint}, true
	}
	return outcome{}, false
}

func judgeKind(err error) outcome {
	var bad *usageError
	if errors.As(err, &bad) {
		return outcome{"usage", exitUsage, bad.hint}
	}
	var many *doctor.Ambiguous
	if errors.As(err, &many) {
		return outcome{"ambiguous", exitAmbiguous, "give more characters of the id"}
	}
	var locked *encryption.Locked
	if errors.As(err, &locked) {
		return outcome{"not-allowed", exitNotAllowed, locked.Hint}
	}
	if errors.Is(err, chat.ErrKeyRejected) {
		return outcome{"not-allowed", exitNotAllowed, ""}
	}
	if o, ok := classifyRemote(err); ok {
		return o
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.outcome
		}
	}
	return outcome{"failed", exitFailed, ""}
}

// end prints an error, unless it was already printed, and returns the exit code.
func (p *program) end(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errIntegrity):
		return exitIntegrity
	case errors.Is(err, errPartial):
		return exitPartial
	case errors.Is(err, errWrong):
		return exitUsage
	case errors.Is(err, syscall.EPIPE): // the reader of the output is gone
		return exitFailed
	}
	return p.printError(err).code
}

// printError prints an error and returns its outcome.
func (p *program) printError(err error) outcome {
	o := classify(err)
	message := messageOf(err, o)
	var locked *encryption.Locked
	if errors.As(err, &locked) { // whatever was tried first
		message = locked.Error()
	}
	if p.json {
		writeJSON(p.stderr, "", map[string]problem{"error": {o.kind, message, o.hint}}) // if this fails, the exit code remains
		return o
	}
	text := fmt.Sprintf("firn: %s\n", message)
	if o.hint != "" {
		text += fmt.Sprintf("hint: %s\n", o.hint)
	}
	fmt.Fprint(p.stderr, wrapText(text, columnsOf(p.stderr)))
	return o
}

// messageOf returns the message of an error. That of an interrupted command is one word,
// whatever was interrupted.
func messageOf(err error, o outcome) string {
	if o.code == exitInterrupted {
		return "interrupted"
	}
	return err.Error()
}

// problem is the JSON form of an error.
type problem struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func writeJSON(w io.Writer, indent string, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(v)
}
