package route

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev"
)

// Queue says what becomes of messages that come while a turn runs.
type Queue struct {
	Mode QueueMode
	// Debounce is how long it must be quiet before waiting messages are
	// answered; nil means a second.
	Debounce *time.Duration
	// Cap is how many may wait; less than one means 20.
	Cap int
	// Drop is what becomes of those that are too many.
	Drop DropPolicy
}

// QueueMode says what a message does to the turn that runs.
type QueueMode string

// The modes. An empty one is QueueCollect.
const (
	QueueSteer     QueueMode = "steer"     // tells the running turn
	QueueFollowup  QueueMode = "followup"  // waits, and has a turn of its own
	QueueCollect   QueueMode = "collect"   // waits, and all that wait have one turn
	QueueInterrupt QueueMode = "interrupt" // stops the turn, and what waits
)

// DropPolicy says which messages are left out when too many wait.
type DropPolicy string

// The policies. An empty one is DropSummarize.
const (
	DropOld       DropPolicy = "old"       // the oldest
	DropNew       DropPolicy = "new"       // the newest is refused
	DropSummarize DropPolicy = "summarize" // the oldest, of which a line is kept
)

const (
	defaultCap      = 20
	defaultDebounce = time.Second
)

// Settle fills in what is not set, so that every field can be used.
func (q Queue) Settle() Queue {
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

// String spells the settings as /queue shows them and [ParseQueue] reads them.
func (q Queue) String() string {
	q = q.Settle()
	return fmt.Sprintf("%s debounce:%s cap:%d drop:%s", q.Mode, *q.Debounce, q.Cap, q.Drop)
}

// ParseQueueMode reads a mode. The older steer-backlog is steer: what a turn
// did not take up waits for the next one anyway.
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

// ParseQueue reads what stands behind /queue and changes q by it: a mode, and
// debounce:, cap: and drop: in any order. "default" gives the zero Queue.
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

// maxDebounce and maxCap are the most that somebody may ask for in a message.
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
			return q, fmt.Errorf("%w queue debounce %q: want a time such as 500ms or 2s, at most %s", firn.ErrInvalid, value, maxDebounce)
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

// Action is what to do with a message.
type Action string

// The actions.
const (
	// ActRun begins a turn with it.
	ActRun Action = "run"
	// ActSteer hands it to the running turn.
	ActSteer Action = "steer"
	// ActWait puts it behind those that wait.
	ActWait Action = "wait"
	// ActInterrupt stops the running turn, forgets what waits, and begins a
	// turn with it.
	ActInterrupt Action = "interrupt"
	// ActRefuse does not take it: too many wait.
	ActRefuse Action = "refuse"
)

// Decision is an action and what goes with it.
type Decision struct {
	Action Action
	// Drop is how many of the oldest that wait leave the queue, and Summarize
	// that a line of each is to be kept for [Collected].
	Drop      int
	Summarize bool
}

// Decide says what to do with a message, given whether a turn runs and how many
// messages wait. It never lets more than Cap wait.
func (q Queue) Decide(running bool, waiting int) Decision {
	q = q.Settle()
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

// Waiting is a message that waits for its turn.
type Waiting struct {
	// Sender is shown if it is set; in a group the model must know who speaks.
	Sender, Text string
}

// Collected joins the messages that waited into one for the model. Dropped are
// those that were left out, of which it gets a line each. A single message
// stays as it is.
func Collected(waited, dropped []Waiting) string {
	if len(waited) == 1 && len(dropped) == 0 && waited[0].Sender == "" {
		return waited[0].Text
	}
	if len(waited)+len(dropped) == 0 {
		return ""
	}
	var b strings.Builder
	if len(waited) > 1 || len(dropped) > 0 {
		b.WriteString("[While you were busy, this came in.]\n")
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

// lineLen bounds what is kept of a message that was left out, in bytes.
const lineLen = 160

// line is a message in one short line.
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

// block is a message as it stands among others, or alone.
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
