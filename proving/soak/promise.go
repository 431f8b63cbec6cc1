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

// promise is a scenario of firn's main guarantees: a very large session, a gateway that is
// killed during a tool call and during a compaction while its disk is full, and checks of
// the guarantees afterwards.
type promise struct {
	options
	size    int64
	disk    *disk
	model   *reader
	gateway *gateway
	client  *client.Client
	paper   *textSource

	id firn.ID
	// acknowledged are the acknowledged entries, oldest first.
	acknowledged []firn.EntryID
	// before is the window that undoing the compaction must restore.
	before []window.Item
	// compaction is the compaction to undo.
	compaction firn.EntryID
}

// chapters are the steps of the scenario. Each returns its result, and fails if a guarantee
// does not hold.
var chapters = []struct {
	name string
	do   func(*promise, context.Context) (string, error)
}{
	{"a large session, compacted, with a word in its middle", (*promise).grow},
	{"indexed", (*promise).index},
	{"killed in a tool call on a full disk", (*promise).killInTool},
	{"begun again on the full disk", (*promise).startOnFull},
	{"resumed on the full disk", (*promise).resume},
	{"the word found on the full disk", (*promise).find},
	{"refused what needs room", (*promise).rejectOnFull},
	{"killed in a compaction within a turn, on a full disk", (*promise).killInCompaction},
	{"begun again on the full disk", (*promise).startOnFull},
	{"resumed on the full disk", (*promise).resume},
	{"the word found on the full disk", (*promise).find},
	{"compacted, with room", (*promise).compact},
	{"the compaction undone", (*promise).undo},
	{"went on", (*promise).continueTalk},
	{"verified", (*promise).verify},
}

// keepPromise runs the scenario with a session of size bytes, on a disk that it unmounts.
func keepPromise(ctx context.Context, o options, size int64, d *disk) (err error) {
	p := &promise{options: o, size: size, disk: d, paper: newTextSource(), id: firn.NewID()}
	defer func() { err = errors.Join(err, d.close()) }()
	if d.notMounted != "" {
		return fmt.Errorf("no disk can be filled: %s", d.notMounted)
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

// grow writes the session with the library, without sync.
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

// index starts the gateway and waits until everything is indexed.
func (p *promise) index(ctx context.Context) (string, error) {
	if err := p.startGateway(); err != nil {
		return "", err
	}
	for {
		found, err := p.countHits(ctx)
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

// startGateway starts the gateway.
func (p *promise) startGateway() (err error) {
	if err = p.gateway.start(); err == nil && p.client == nil {
		p.client, err = client.New(client.Options{Address: "unix:" + p.gateway.socket})
	}
	return err
}

// countHits returns the number of entries in which the hidden word is found.
func (p *promise) countHits(ctx context.Context) (int, error) {
	found, err := p.client.Search(ctx, wire.SearchQuery{Query: hiddenWord})
	return len(found.Items), err
}

// killInTool sends a message that makes the agent run a program, fills the disk meanwhile,
// and kills the gateway.
func (p *promise) killInTool(ctx context.Context) (string, error) {
	return p.killAt(ctx, askSlow, func(e wire.Event) bool { return e.Name == wire.ToolStarted })
}

// killInCompaction sends a message that makes the agent read a file that does not fit in
// the window, fills the disk while the summary is written, and kills the gateway.
func (p *promise) killInCompaction(ctx context.Context) (string, error) {
	if err := errors.Join(p.disk.empty(), p.awaitIdle(ctx)); err != nil {
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

// killAt runs a turn until now returns true, waits for the model if it stalls, fills the
// disk and kills the gateway.
func (p *promise) killAt(ctx context.Context, text string, now func(wire.Event) bool) (string, error) {
	killed := false
	for e, err := range p.client.StreamTurn(ctx, p.id, wire.Turn{Text: text}) {
		if err != nil {
			if killed {
				return fmt.Sprintf("%d entries were acknowledged", len(p.acknowledged)), nil
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

// startOnFull starts the gateway on a full disk.
func (p *promise) startOnFull(context.Context) (string, error) {
	file, err := os.OpenFile(filepath.Join(p.disk.dir, "one-more"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.Write(make([]byte, 1<<16))
		err = errors.Join(err, file.Close())
	}
	if err == nil {
		return "", errors.New("the disk has room")
	}
	return "it listens", p.startGateway()
}

// resume builds the window with the library. It checks that the window is valid for every
// provider profile and contains all acknowledged entries.
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
	if err := p.checkAcknowledged(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d messages in %.1f ms, accepted by %d providers' rules, %d repairs", len(w.Items), float64(took.Microseconds())/1000, len(window.Profiles()), len(w.Repairs)), nil
}

// live reads the live part of the session with the library.
func (p *promise) live(ctx context.Context) (window.Path, error) {
	st, err := filestore.Open(p.gateway.home, filestore.Options{ReadOnly: true})
	if err != nil {
		return window.Path{}, err
	}
	path, err := window.Collect(st.ReadBack(ctx, p.id, store.End))
	return path, errors.Join(err, st.Close())
}

// checkAcknowledged fails if an acknowledged entry is not in the file exactly once and in
// order. All of them are near its end.
func (p *promise) checkAcknowledged(ctx context.Context) error {
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
		if slices.Contains(p.acknowledged, rec.Glance.ID) {
			there = append(there, rec.Glance.ID)
		}
		if n++; n == 500 {
			break
		}
	}
	if slices.Reverse(there); !slices.Equal(there, p.acknowledged) {
		return fmt.Errorf("%v were acknowledged, but %v exist", p.acknowledged, there)
	}
	return nil
}

func (p *promise) find(ctx context.Context) (string, error) {
	begun := time.Now()
	found, err := p.countHits(ctx)
	if err != nil || found != 1 {
		return "", errors.Join(err, fmt.Errorf("it is found %d times", found))
	}
	return fmt.Sprintf("in %.1f ms", float64(time.Since(begun).Microseconds())/1000), nil
}

// rejectOnFull sends a message that is larger than the rest of the last block of the file.
// It must be rejected with a reason, and leave nothing behind.
func (p *promise) rejectOnFull(ctx context.Context) (string, error) {
	const text = "This has no room. "
	if err := p.disk.fill(); err != nil { // indexes may have freed some space
		return "", err
	}
	_, refusal := p.client.Turn(ctx, p.id, wire.Turn{Text: strings.Repeat(text, 10_000)})
	if refusal == nil {
		return "", errors.New("it was acknowledged, and there is no room for it")
	}
	path, err := p.live(ctx)
	for _, e := range path.Entries {
		if m, ok := e.Body.(*firn.Message); ok && strings.HasPrefix(m.Text(), text) {
			return "", fmt.Errorf("entry %s exists although it was rejected: %w", e.ID, refusal)
		}
	}
	if err != nil {
		return "", err
	}
	return refusal.Error(), nil
}

// note records the acknowledged first message of a turn.
func (p *promise) note(e wire.Event) error {
	var a wire.Answer
	if err := json.Unmarshal(e.Data, &a); err != nil || a.Message == "" {
		return errors.Join(err, errors.New("the started turn has no message ID"))
	}
	p.acknowledged = append(p.acknowledged, a.Message)
	return nil
}

// compact frees space on the disk, lets the interrupted turn continue, and compacts the
// session.
func (p *promise) compact(ctx context.Context) (string, error) {
	if err := errors.Join(p.disk.empty(), p.awaitIdle(ctx)); err != nil {
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

// awaitIdle waits until the interrupted turn is answered and none runs. A turn that could
// not continue by itself is retried.
func (p *promise) awaitIdle(ctx context.Context) error {
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

// answered reports whether the last message is a complete answer.
func answered(path window.Path) bool {
	for _, e := range slices.Backward(path.Entries) {
		if m, ok := e.Body.(*firn.Message); ok {
			return m.Role == firn.RoleAssistant && m.StopReason == firn.StopEnd
		}
	}
	return false
}

// undo undoes the compaction and checks that the window is the same as before.
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

// continueTalk sends another message and checks the answer.
func (p *promise) continueTalk(ctx context.Context) (string, error) {
	answer, err := p.client.Turn(ctx, p.id, wire.Turn{Text: "Are you still there?"})
	if err != nil {
		return "", err
	}
	p.acknowledged = append(p.acknowledged, answer.Message, answer.Entry)
	if result, err := p.resume(ctx); err != nil {
		return result, err
	}
	return "“" + answer.Text + "”", nil
}

// verify runs firn verify and firn doctor.
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
