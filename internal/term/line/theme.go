package line

import (
	"strconv"
	"strings"
	"time"
)

// Background is the brightness of a terminal's background.
type Background int

// The backgrounds.
const (
	Unknown Background = iota
	Dark
	Light
)

// askBackground asks for the background color, and then for the device attributes, which
// every terminal answers: after that answer there will be none about the color.
const askBackground = osc + "11;?" + st + "\x1b[c"

// queryWait is how long after the question Close waits for its answer, which would
// otherwise become input of the next program.
const queryWait = 300 * time.Millisecond

// query is the question for the background color.
type query struct {
	sent time.Time
	// answered is closed when the terminal has answered everything; nil if it was not asked.
	answered chan struct{}
	found    Background
}

// ask sends the question. The answer arrives among the keys, so that nothing waits for it.
func (t *Terminal) ask() {
	if !t.o.Extended {
		return
	}
	t.query = query{sent: time.Now(), answered: make(chan struct{})}
	t.painter.write(askBackground)
}

// reply handles an answer of the terminal.
func (t *Terminal) reply(text string) {
	if color, ok := strings.CutPrefix(text, "11;"); ok {
		t.query.found = backgroundOf(color)
		if t.query.found != Unknown && !t.o.FixedColors {
			t.painter.palette.Light = t.query.found == Light
		}
		return
	}
	if t.query.answered == nil || !strings.HasSuffix(text, "c") {
		return
	}
	select {
	case <-t.query.answered:
	default:
		close(t.query.answered)
	}
}

// awaitReply waits for an answer that may still arrive.
func (t *Terminal) awaitReply() {
	t.mu.Lock()
	q := t.query
	t.mu.Unlock()
	if q.answered == nil {
		return
	}
	timer := time.NewTimer(max(queryWait-time.Since(q.sent), 0))
	defer timer.Stop()
	select {
	case <-q.answered:
	case <-timer.C:
	}
}

// Background returns the background as reported by the terminal, or Unknown.
func (t *Terminal) Background() Background {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.query.found
}

// backgroundOf returns the brightness of a color such as rgb:ffff/ffff/ffff.
func backgroundOf(color string) Background {
	values, ok := strings.CutPrefix(color, "rgb:")
	if alpha, isAlpha := strings.CutPrefix(color, "rgba:"); isAlpha {
		values, ok = alpha, true
	}
	parts := strings.Split(values, "/")
	if !ok || len(parts) < 3 {
		return Unknown
	}
	weights, sum := []float64{0.299, 0.587, 0.114}, 0.0
	for i, weight := range weights {
		n, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil {
			return Unknown
		}
		sum += weight * float64(n) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	if sum > 0.5 {
		return Light
	}
	return Dark
}

// BackgroundOf returns the background in a value of the variable COLORFGBG, such as 15;0.
func BackgroundOf(colors string) Background {
	n, err := strconv.Atoi(colors[strings.LastIndexByte(colors, ';')+1:])
	switch {
	case err != nil, n < 0, n > 15:
		return Unknown
	case n == 7, n > 8:
		return Light
	}
	return Dark
}
