//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"
	"firn.dev/window/windowtest"
	"firn.dev/wire"
)

// promise is what firn is for, as one story: a very large session, a gateway that
// is killed in the middle of a tool call and of a compaction while its disk is full,
// and all that is promised of it afterwards.
type promise struct {
	options
	size    int64
	disk    *disk
	model   *reader
	gateway *gateway
	client  *client.Client
	paper   *paper

	id firn.ID
	// told are entries that were acknowledged, oldest first.
	told []firn.EntryID
	// before is the window that a compaction is to give back when it is undone.
	before []window.Item
	// compaction is the one that will be undone.
	compaction firn.EntryID
}

// chapters is the story. Each says what came of it, and fails if what is promised
// does not hold.
var chapters = []struct {
	name string
	do   func(*promise, context.Context) (string, error)
}{
	{"a large session, compacted, with a word in its middle", (*promise).grow},
	{"indexed", (*promise).index},
	{"killed in a tool call on a full disk", (*promise).killInTool},
	{"begun again on the full disk", (*promise).begunFull},
	{"resumed on the full disk", (*promise).resume},
	{"the word found on the full disk", (*promise).find},
	{"refused what needs room", (*promise).refused},
	{"killed in a compaction within a turn, on a full disk", (*promise).killInCompaction},
	{"begun again on the full disk", (*promise).begunFull},
	{"resumed on the full disk", (*promise).resume},
	{"the word found on the full disk", (*promise).find},
	{"compacted, with room", (*promise).compact},
	{"the compaction undone", (*promise).undo},
	{"went on", (*promise).goOn},
	{"verified", (*promise).verify},
}

// keepPromise tells the story of a session of so many bytes, chapter by chapter, on a disk
// that it unmounts.
func keepPromise(ctx context.Context, o options, size int64, d *disk) (err error) {
	p := &promise{options: o, size: size, disk: d, paper: newPaper(), id: firn.NewID()}
	defer func() { err = errors.Join(err, d.close()) }()
	if d.whyNot != "" {
		return fmt.Errorf("there is no disk that could be full: %s", d.whyNot)
	}
	if p.model, err = newReader(); err != nil {
		return err
	}
	defer p.model.server.Close()
	if p.gateway, err = newGateway(o, filepath.Join(p.disk.dir, "home"), p.model.settings()); err != nil {
		return err
	}
	defer p.gateway.log.Close()
	defer p.gateway.end()
	if err := os.WriteFile(filepath.Join(p.gateway.home, "big.txt"), []byte(strings.Repeat("a line of a file that fills the window\n", bigLines)), 0o600); err != nil {
		return err
	}
	for _, c := range chapters {
		begun := time.Now()
		result, err := c.do(p, ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(o.Log, "%8s  %s: %s\n", time.Since(begun).Round(time.Millisecond), c.name, result)
	}
	return nil
}

// grow writes the session, as the library does, and does not wait for the disk.
func (p *promise) grow(ctx context.Context) (string, error) {
	st, err := filestore.Open(p.gateway.home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return "", err
	}
	total, entries := int64(0), 0
	for hidden := false; total < p.size; {
		turn, size := p.paper.turn(entries)
		if !hidden && total >= p.size/2 {
			turn, hidden = append(turn, firn.UserText("Remember the "+hiddenWord+".")), true
		}
		if _, err := st.Append(ctx, p.id, store.Any, turn...); err != nil {
			return "", errors.Join(err, st.Close())
		}
		entries += len(turn)
		total += size
	}
	kept := firn.NewEntry(firn.UserText("Where were we?").Body)
	end := []firn.Entry{kept, firn.NewEntry(&firn.Compaction{Summary: "Files were read, many of them.", FirstKept: kept.ID, TokensBefore: total / 4})}
	end = append(end, p.paper.tail()...)
	if _, err = st.Append(ctx, p.id, store.Any, end...); err != nil {
		return "", errors.Join(err, st.Close())
	}
	return fmt.Sprintf("%d MB, %d entries", total/1e6, entries+len(end)), st.Close()
}

// index starts the gateway and waits until it knows every word.
func (p *promise) index(ctx context.Context) (string, error) {
	if err := p.begin(); err != nil {
		return "", err
	}
	for {
		found, err := p.look(ctx)
		if err != nil {
			return "", err
		}
		if found == 1 {
			return "the word is found", nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// begin starts the gateway.
func (p *promise) begin() (err error) {
	if err = p.gateway.start(); err == nil && p.client == nil {
		p.client, err = client.New(client.Options{Address: "unix:" + p.gateway.socket})
	}
	return err
}

// look tells in how many entries the hidden word is found.
func (p *promise) look(ctx context.Context) (int, error) {
	found, err := p.client.Search(ctx, wire.SearchQuery{Query: hiddenWord})
	return len(found.Items), err
}

// killInTool says something that makes the agent run a program, fills the disk while
// that runs, and kills the gateway.
func (p *promise) killInTool(ctx context.Context) (string, error) {
	return p.killAt(ctx, askSlow, func(e wire.Event) bool { return e.Name == wire.ToolStarted })
}

// killInCompaction says something that makes the agent read a file for which the window has
// no room, fills the disk while the summary is written, and kills the gateway.
func (p *promise) killInCompaction(ctx context.Context) (string, error) {
	if err := errors.Join(p.disk.empty(), p.quiet(ctx)); err != nil {
		return "", err
	}
	p.model.stall.Store(true)
	defer p.model.stall.Store(false)
	result, err := p.killAt(ctx, askBig, func(e wire.Event) bool { return e.Name == wire.CompactionStarted })
	if err == nil && !p.model.summing() {
		err = errors.New("the model had not begun to write the summary")
	}
	return result, err
}

// killAt has a turn until something happens, waits for the model if that stalls, fills the
// disk and kills the gateway.
func (p *promise) killAt(ctx context.Context, text string, now func(wire.Event) bool) (string, error) {
	killed := false
	for e, err := range p.client.StreamTurn(ctx, p.id, wire.Turn{Text: text}) {
		if err != nil {
			if killed {
				return fmt.Sprintf("%d entries were acknowledged", len(p.told)), nil
			}
			return "", err
		}
		if e.Name == wire.TurnStarted {
			if err := p.note(e); err != nil {
				return "", err
			}
		}
		if killed || !now(e) {
			continue
		}
		p.model.awaitSumming(ctx)
		if err := errors.Join(p.disk.fill(), p.gateway.kill()); err != nil {
			return "", err
		}
		killed = true
	}
	return "", errors.New("the turn ended by itself")
}

// begunFull starts the gateway on a disk that has no room at all.
func (p *promise) begunFull(context.Context) (string, error) {
	file, err := os.OpenFile(filepath.Join(p.disk.dir, "one-more"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.Write(make([]byte, 1<<16))
		err = errors.Join(err, file.Close())
	}
	if err == nil {
		return "", errors.New("the disk has room")
	}
	return "it listens", p.begin()
}

// resume reads what a model would be sent, as the library does, and lets it be judged as
// providers do: every profile, and all that was acknowledged is there.
func (p *promise) resume(ctx context.Context) (string, error) {
	begun := time.Now()
	path, err := p.live(ctx)
	if err != nil {
		return "", err
	}
	w := window.Build(path, window.Options{Profile: window.Anthropic()})
	took := time.Since(begun)
	for _, profile := range window.Profiles() {
		if err := windowtest.Check(profile, window.Build(path, window.Options{Profile: profile})); err != nil {
			return "", fmt.Errorf("a provider would refuse it: %w", err)
		}
	}
	p.before = w.Items
	if err := p.lost(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d messages in %.1f ms, accepted by %d providers' rules, %d repairs", len(w.Items), float64(took.Microseconds())/1000, len(window.Profiles()), len(w.Repairs)), nil
}

// live reads what is live of the session, as the library does.
func (p *promise) live(ctx context.Context) (window.Path, error) {
	st, err := filestore.Open(p.gateway.home, filestore.Options{ReadOnly: true})
	if err != nil {
		return window.Path{}, err
	}
	path, err := window.Collect(st.ReadBack(ctx, p.id, store.End))
	return path, errors.Join(err, st.Close())
}

// lost fails if an entry that was acknowledged is not in the file, once, in its order. All of
// them are near its end.
func (p *promise) lost(ctx context.Context) error {
	st, err := filestore.Open(p.gateway.home, filestore.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer st.Close()
	var there []firn.EntryID
	n := 0
	for rec, err := range st.ReadBack(ctx, p.id, store.End) {
		if err != nil {
			return err
		}
		if slices.Contains(p.told, rec.Glance.ID) {
			there = append(there, rec.Glance.ID)
		}
		if n++; n == 500 {
			break
		}
	}
	if slices.Reverse(there); !slices.Equal(there, p.told) {
		return fmt.Errorf("%v were acknowledged, and %v are there", p.told, there)
	}
	return nil
}

func (p *promise) find(ctx context.Context) (string, error) {
	begun := time.Now()
	found, err := p.look(ctx)
	if err != nil || found != 1 {
		return "", errors.Join(err, fmt.Errorf("it is found %d times", found))
	}
	return fmt.Sprintf("in %.1f ms", float64(time.Since(begun).Microseconds())/1000), nil
}

// refused says more than what is left of the last block of a file: it is refused with a
// reason, and nothing of it is there.
func (p *promise) refused(ctx context.Context) (string, error) {
	const text = "This has no room. "
	if err := p.disk.fill(); err != nil { // indexes may have given some back
		return "", err
	}
	_, refusal := p.client.Turn(ctx, p.id, wire.Turn{Text: strings.Repeat(text, 10_000)})
	if refusal == nil {
		return "", errors.New("it was acknowledged, and there is no room for it")
	}
	path, err := p.live(ctx)
	for _, e := range path.Entries {
		if m, ok := e.Body.(*firn.Message); ok && strings.HasPrefix(m.Text(), text) {
			return "", fmt.Errorf("entry %s is there, which was refused: %w", e.ID, refusal)
		}
	}
	if err != nil {
		return "", err
	}
	return refusal.Error(), nil
}

// note takes down the message that a turn began with: it is acknowledged.
func (p *promise) note(e wire.Event) error {
	var a wire.Answer
	if err := json.Unmarshal(e.Data, &a); err != nil || a.Message == "" {
		return errors.Join(err, errors.New("a turn began, and it is not said with what"))
	}
	p.told = append(p.told, a.Message)
	return nil
}

// compact makes room on the disk, lets the turn that was interrupted go on, and sums the
// session up.
func (p *promise) compact(ctx context.Context) (string, error) {
	if err := errors.Join(p.disk.empty(), p.quiet(ctx)); err != nil {
		return "", err
	}
	if _, err := p.resume(ctx); err != nil {
		return "", err
	}
	made, err := p.client.Compact(ctx, p.id, wire.Compact{KeepRecent: 500})
	if err != nil {
		return "", err
	}
	p.compaction = made.Compaction.ID
	w, err := p.client.Window(ctx, p.id, "")
	if err != nil || w.Count >= len(p.before) {
		return "", errors.Join(err, fmt.Errorf("%d messages before, %d after", len(p.before), w.Count))
	}
	return fmt.Sprintf("%d messages became %d", len(p.before), w.Count), nil
}

// quiet waits until the turn that was interrupted is answered, and none runs. One that had
// no room to go on by itself is asked to.
func (p *promise) quiet(ctx context.Context) error {
	for try := 0; ; try++ {
		st, err := p.client.Status(ctx)
		if err != nil {
			return err
		}
		path, err := p.live(ctx)
		if err != nil {
			return err
		}
		if st.Running == 0 && st.Queued == 0 {
			if answered(path) {
				return nil
			}
			if _, err := p.client.Turn(ctx, p.id, wire.Turn{}); err != nil && try > 100 {
				return err
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answered reports whether the last message is an answer that ended.
func answered(path window.Path) bool {
	for _, e := range slices.Backward(path.Entries) {
		if m, ok := e.Body.(*firn.Message); ok {
			return m.Role == firn.RoleAssistant && m.StopReason == firn.StopEnd
		}
	}
	return false
}

// undo takes the compaction back: the model is sent what it was sent before.
func (p *promise) undo(ctx context.Context) (string, error) {
	before := p.before
	if _, err := p.client.Undo(ctx, p.id, p.compaction); err != nil {
		return "", err
	}
	result, err := p.resume(ctx)
	if err == nil && !reflect.DeepEqual(before, p.before) {
		err = fmt.Errorf("%d messages were sent before it, and %d others after it was undone", len(before), len(p.before))
	}
	return result, err
}

// goOn says one thing more, and is answered.
func (p *promise) goOn(ctx context.Context) (string, error) {
	answer, err := p.client.Turn(ctx, p.id, wire.Turn{Text: "Are you still there?"})
	if err != nil {
		return "", err
	}
	p.told = append(p.told, answer.Message, answer.Entry)
	if result, err := p.resume(ctx); err != nil {
		return result, err
	}
	return "“" + answer.Text + "”", nil
}

// verify lets firn read every byte of it, and look at the whole home.
func (p *promise) verify(context.Context) (string, error) {
	l, _ := p.gateway.now()
	peak, err := l.memory("VmHWM:")
	if err := errors.Join(err, p.gateway.stop()); err != nil {
		return "", err
	}
	for _, args := range [][]string{{"verify"}, {"doctor"}} {
		if out, err := p.gateway.commandAlone(args...); err != nil {
			return "", fmt.Errorf("firn %s: %w: %.2000s", args[0], err, out)
		}
	}
	return fmt.Sprintf("nothing is damaged; the last gateway had %.0f MB at most", peak), nil
}
