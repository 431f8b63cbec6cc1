package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/provider"
)

// read yields the events of a stream, and Done when the stream signals its end. A stream
// that ends without that signal was truncated.
func read(r io.Reader, info provider.Info) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		a := answer{info: info}
		for line, err := range sse.Read(r) {
			if err != nil {
				yield(nil, a.readError(err))
				return
			}
			event, err := a.handleEvent(line.Data)
			if err != nil {
				yield(nil, err)
				return
			}
			if event != nil && !yield(event, nil) {
				return
			}
			if a.stopped {
				yield(a.done())
				return
			}
		}
		yield(nil, a.malformedError("the stream ended before the answer did"))
	}
}

// handleEvent handles one event of the stream and returns the resulting event, or nil if
// there is none. Unknown event types are ignored, because the API reserves the right to add
// more.
func (a *answer) handleEvent(data []byte) (provider.Event, error) {
	var event provider.Event
	var err error
	switch kindOf(data) {
	case "message_start":
		err = a.messageStart(data)
	case "content_block_start":
		event, err = a.blockStart(data)
	case "content_block_delta":
		event, err = a.blockDelta(data)
	case "content_block_stop":
		event, err = a.blockStop(data)
	case "message_delta":
		err = a.messageDelta(data)
	case "error":
		err = a.streamError(data)
	case "message_stop":
		a.stopped = true
		fallthrough
	default:
		if !json.Valid(data) {
			err = a.malformedError("an event is not JSON")
		}
	}
	return event, err
}

func (a *answer) messageStart(data []byte) error {
	var event struct {
		Message struct {
			Usage usage `json:"usage"`
		} `json:"message"`
	}
	if err := a.decode(data, &event); err != nil {
		return err
	}
	a.began = true
	a.usage.merge(event.Message.Usage)
	return nil
}

func (a *answer) messageDelta(data []byte) error {
	var event struct {
		Delta struct {
			StopReason  *string `json:"stop_reason"`
			StopDetails *struct {
				Explanation string `json:"explanation"`
			} `json:"stop_details"`
		} `json:"delta"`
		Usage usage `json:"usage"`
	}
	if err := a.decode(data, &event); err != nil {
		return err
	}
	if event.Delta.StopReason != nil {
		a.reason = *event.Delta.StopReason
	}
	if event.Delta.StopDetails != nil {
		a.explanation = event.Delta.StopDetails.Explanation
	}
	a.usage.merge(event.Usage)
	return nil
}

// streamError converts an error event. The HTTP status has already been sent as 200 by
// then.
func (a *answer) streamError(data []byte) error {
	failure := provider.StreamError(a.info.Provider, a.info.Name, data)
	failure.Status, failure.Partial = http.StatusOK, a.began
	return failure
}

func (a *answer) decode(data []byte, event any) error {
	if err := json.Unmarshal(data, event); err != nil {
		return a.malformedError("malformed event: %w", err)
	}
	return nil
}

// malformedError returns a temporary error for a truncated or malformed stream. It does not
// quote the data, which may be a proxy's error page that includes our own headers.
func (a *answer) malformedError(format string, args ...any) error {
	return &provider.Error{
		Kind: provider.Temporary, Provider: a.info.Provider, Model: a.info.Name, Partial: true,
		Err: fmt.Errorf(format, args...),
	}
}

// readError returns the error for a failed read. Errors of the endpoint are returned
// unchanged.
func (a *answer) readError(err error) error {
	if errors.Is(err, firn.ErrTooLarge) {
		return a.malformedError("read the answer: %w", err)
	}
	return err
}
