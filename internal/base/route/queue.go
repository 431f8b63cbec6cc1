package route

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev"
)

// Queue configures the handling of messages that arrive while a turn runs.
type Queue struct {
	Mode QueueMode
	// Debounce is how long no message must have arrived before queued messages are
	// answered; nil means a second.
	Debounce *time.Duration
	// Cap is the maximum number of queued messages; less than one means 20.
	Cap int
	// Drop is the policy for messages beyond Cap.
	Drop DropPolicy
}

// QueueMode is the effect of a message on the running turn.
type QueueMode string

// The modes. An empty one means QueueCollect.
const (
	QueueSteer     QueueMode = "steer"     // is added to the running turn
	QueueFollowup  QueueMode = "followup"  // is queued and gets its own turn
	QueueCollect   QueueMode = "collect"   // is queued; all queued messages share one turn
	QueueInterrupt QueueMode = "interrupt" // stops the turn and clears the queue
)

// DropPolicy is the policy for messages beyond the capacity of the queue.
type DropPolicy string

// The policies. An empty one means DropSummarize.
const (
	DropOld       DropPolicy = "old"       // drops the oldest
	DropNew       DropPolicy = "new"       // rejects the newest
	DropSummarize DropPolicy = "summarize" // drops the oldest and keeps a line of it
)

const (
	defaultCap      = 20
	defaultDebounce = time.Second
)

// WithDefaults fills in unset fields.
func (q Queue) WithDefaults() Queue {
	if q.Mode == "" {
		q.Mode = QueueCollect
	}
	if q.Debounce == nil {
		q.Debounce = new(defaultDebounce)
	}
	if q.Cap < 1 {
		q.Cap = defaultCap
	}
	if q.Drop == "" {
		q.Drop = DropSummarize
	}
	return q
}

// String formats the settings as /queue shows them and [ParseQueue] parses them.
func (q Queue) String() string {
	q = q.WithDefaults()
	return fmt.Sprintf("%s debounce:%s cap:%d drop:%s", q.Mode, *q.Debounce, q.Cap, q.Drop)
}

// ParseQueueMode parses a mode. The older steer-backlog means steer: messages that a turn
// did not handle are queued for the next one anyway.
func ParseQueueMode(s string) (QueueMode, error) {
	switch m := strings.ToLower(strings.TrimSpace(s)); m {
	case "steer", "followup", "collect", "interrupt":
		return QueueMode(m), nil
	case "steer-backlog", "steer+backlog":
		return QueueSteer, nil
	case "follow-up":
		return QueueFollowup, nil
	}
	return "", fmt.Errorf("%w queue mode %q: want steer, followup, collect or interrupt", firn.ErrInvalid, s)
}

// ParseQueue parses the arguments of /queue and applies them to q: a mode, and debounce:,
// cap: and drop: in any order. "default" returns the zero Queue.
func ParseQueue(args string, q Queue) (Queue, error) {
	for _, word := range strings.Fields(strings.ToLower(args)) {
		name, value, option := strings.Cut(word, ":")
		var err error
		switch {
		case word == "default" || word == "reset":
			q = Queue{}
		case option:
			q, err = q.with(name, value)
		default:
			q.Mode, err = ParseQueueMode(word)
		}
		if err != nil {
			return Queue{}, err
		}
	}
	return q, nil
}

// maxDebounce and maxCap are the maximum values that can be set in a message.
const (
	maxDebounce = 10 * time.Minute
	maxCap      = 10000
)

// with sets one option.
func (q Queue) with(name, value string) (Queue, error) {
	switch name {
	case "debounce":
		d, err := time.ParseDuration(value)
		if ms, bare := strconv.Atoi(value); bare == nil {
			d, err = time.Duration(min(max(ms, -1), int(maxDebounce/time.Millisecond)+1))*time.Millisecond, nil
		}
		if err != nil || d < 0 || d > maxDebounce {
			return q, fmt.Errorf("%w queue debounce %q: want a duration such as 500ms or 2s, at most %s", firn.ErrInvalid, value, maxDebounce)
		}
		q.Debounce = &d
	case "cap":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxCap {
			return q, fmt.Errorf("%w queue cap %q: want a number from 1 to %d", firn.ErrInvalid, value, maxCap)
		}
		q.Cap = n
	case "drop":
		switch p := DropPolicy(value); p {
		case DropOld, DropNew, DropSummarize:
			q.Drop = p
		default:
			return q, fmt.Errorf("%w queue drop %q: want old, new or summarize", firn.ErrInvalid, value)
		}
	default:
		return q, fmt.Errorf("%w queue option %q: want debounce, cap or drop", firn.ErrInvalid, name)
	}
	return q, nil
}

// Action is the handling of a message.
type Action string

// The actions.
const (
	// ActRun starts a turn with it.
	ActRun Action = "run"
	// ActSteer adds it to the running turn.
	ActSteer Action = "steer"
	// ActWait appends it to the queue.
	ActWait Action = "wait"
	// ActInterrupt stops the running turn, clears the queue and starts a turn with it.
	ActInterrupt Action = "interrupt"
	// ActRefuse rejects it because the queue is full.
	ActRefuse Action = "refuse"
)

// Decision is an action with its parameters.
type Decision struct {
	Action Action
	// Drop is the number of oldest messages to remove from the queue; Summarize means that
	// a line of each is kept for [Collected].
	Drop      int
	Summarize bool
}

// Decide returns the handling of a message, given whether a turn is running and the length
// of the queue. The queue never exceeds Cap.
func (q Queue) Decide(running bool, waiting int) Decision {
	q = q.WithDefaults()
	switch {
	case q.Mode == QueueInterrupt && (running || waiting > 0):
		return Decision{Action: ActInterrupt, Drop: max(waiting, 0)}
	case q.Mode == QueueSteer && running:
		return Decision{Action: ActSteer}
	case !running && waiting <= 0:
		return Decision{Action: ActRun}
	}
	over := waiting + 1 - q.Cap
	if over <= 0 {
		return Decision{Action: ActWait}
	}
	if q.Drop == DropNew {
		return Decision{Action: ActRefuse}
	}
	return Decision{Action: ActWait, Drop: over, Summarize: q.Drop == DropSummarize}
}

// Waiting is a queued message.
type Waiting struct {
	// Sender is shown if set; in a group the model must know the author.
	Sender, Text string
}

// Collected joins queued messages into one for the model. Each dropped message is
// represented by one line. A single message is returned unchanged.
func Collected(waited, dropped []Waiting) string {
	if len(waited) == 1 && len(dropped) == 0 && waited[0].Sender == "" {
		return waited[0].Text
	}
	if len(waited)+len(dropped) == 0 {
		return ""
	}
	var b strings.Builder
	if len(waited) > 1 || len(dropped) > 0 {
		b.WriteString("[Messages received while you were busy:]\n")
	}
	for _, w := range dropped {
		fmt.Fprintf(&b, "\n[left out] %s", w.line())
	}
	if len(dropped) > 0 {
		b.WriteByte('\n')
	}
	for i, w := range waited {
		if len(waited)+len(dropped) > 1 {
			fmt.Fprintf(&b, "\n[message %d of %d]", i+1, len(waited))
		}
		b.WriteString(w.block(len(waited)+len(dropped) > 1))
	}
	return strings.TrimSpace(b.String())
}

// lineLen is the maximum length in bytes of a dropped message's line.
const lineLen = 160

// line returns a message as one short line.
func (w Waiting) line() string {
	text := strings.Join(strings.Fields(w.Text), " ")
	if len(text) > lineLen {
		text = firn.CutText(text, lineLen) + "…"
	}
	if w.Sender != "" {
		return w.Sender + ": " + text
	}
	return text
}

// block returns a message for display among others, or alone.
func (w Waiting) block(among bool) string {
	text := w.Text
	if w.Sender != "" {
		text = w.Sender + ": " + text
	}
	if among {
		return "\n" + text + "\n"
	}
	return text
}
