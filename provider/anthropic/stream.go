package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"firn"
	"firn/internal/sse"
	"firn/provider"
)

// read yields what a stream says, and Done when the stream says that it is
// whole. A stream that ends without saying so was cut off.
func read(r io.Reader, info provider.Info) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		a := answer{info: info}
		for line, err := range sse.Read(r) {
			if err != nil {
				yield(nil, a.lost(err))
				return
			}
			event, err := a.take(line.Data)
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
		yield(nil, a.fault("the stream ended before the answer did"))
	}
}

// take takes one event of the stream and returns what it says to those who
// follow, nil if that is nothing. Kinds of events that are not known are
// passed over: the API promises that there will be more.
func (a *answer) take(data []byte) (provider.Event, error) {
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
		err = a.refused(data)
	case "message_stop":
		a.stopped = true
		fallthrough
	default:
		if !json.Valid(data) {
			err = a.fault("an event is not JSON")
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

// refused makes an error of an event that says there is one. The status was a
// good one by then.
func (a *answer) refused(data []byte) error {
	failure := provider.StreamComplaint(a.info.Provider, a.info.Name, data)
	failure.Status, failure.Began = http.StatusOK, a.began
	return failure
}

func (a *answer) decode(data []byte, event any) error {
	if err := json.Unmarshal(data, event); err != nil {
		return a.fault("an event is not what it should be: %w", err)
	}
	return nil
}

// fault is the error for a stream that was cut off or makes no sense. To ask
// again may help. It does not repeat what came: that may be a page of somebody
// in between, with our own headers in it.
func (a *answer) fault(format string, args ...any) error {
	return &provider.Error{
		Kind: provider.Temporary, Provider: a.info.Provider, Model: a.info.Name, Began: true,
		Err: fmt.Errorf(format, args...),
	}
}

// lost is the error for a stream that could not be read on. Those of the
// endpoint say all there is to say.
func (a *answer) lost(err error) error {
	if errors.Is(err, firn.ErrTooLarge) {
		return a.fault("read the answer: %w", err)
	}
	return err
}
