//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fault is a fault to inject. do returns an error if that failed.
type fault struct {
	name string
	do   func(*soak) error
	// ends is true if the fault ends the process. Such faults are left out in the second
	// half, so that one process runs for long.
	ends bool
	// needs is its requirement, needsDisk or needsClock; empty if there is none.
	needs string
}

const (
	needsDisk  = "disk"
	needsClock = "clock"
)

// faults are all faults.
var faults = []fault{
	{name: "killed in the middle of a turn", do: (*soak).killInTurn, ends: true},
	{name: "disk full", do: (*soak).fullDisk, needs: needsDisk},
	{name: "disk slow", do: (*soak).slowDisk, needs: needsDisk},
	{name: "clock forward", do: (*soak).clockForward, needs: needsClock},
	{name: "clock back", do: (*soak).clockBack, needs: needsClock},
	{name: "indexes damaged while it runs", do: (*soak).corruptIndexes},
	{name: "killed, indexes damaged", do: (*soak).corruptStopped, ends: true},
	{name: "killed while the disk is full", do: (*soak).killOnFull, ends: true, needs: needsDisk},
	{name: "killed while the disk is slow", do: (*soak).killOnSlow, ends: true, needs: needsDisk},
	{name: "connections that hang", do: (*soak).hungConnections},
	{name: "readers that do not read", do: (*soak).deafReaders},
	{name: "restarted with few descriptors", do: (*soak).lowDescriptors, ends: true, needs: needsClock},
	{name: "restarted in peace", do: (*soak).restart, ends: true},
}

// possible returns the faults that can be tried here, and records the others.
func (s *soak) possible() (out []fault) {
	for _, f := range faults {
		why := map[string]string{needsDisk: s.disk.notMounted, needsClock: canWarp}[f.needs]
		if why == "" {
			out = append(out, f)
			continue
		}
		s.untried = append(s.untried, fmt.Sprintf("%s: %s", f.name, why))
		if s.Strict {
			s.ledger.complain("%s cannot be tried: %s", f.name, why)
		}
	}
	return out
}

// runFaults injects every fault once, and then random ones until the time is up. It audits
// the files after each.
func (s *soak) runFaults(ctx context.Context) {
	all := s.possible()
	s.chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, f := range all {
		if s.ledger.failed() || ctx.Err() != nil {
			return
		}
		s.runFault(ctx, f)
	}
	for time.Since(s.began) < s.For && !s.ledger.failed() && ctx.Err() == nil {
		if !s.secondHalf && time.Since(s.began) > s.For/2 {
			s.secondHalf = true
			s.samples.mark()
			s.logf("the second half: the gateway is not ended any more")
		}
		f := all[s.chance.IntN(len(all))]
		if s.secondHalf && f.ends {
			continue
		}
		s.runFault(ctx, f)
	}
	if s.For > 0 {
		s.rest(ctx, s.Pause)
	}
}

// rest waits for about d.
func (s *soak) rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(time.Duration(float64(d) * (0.5 + s.chance.Float64()))):
	case <-ctx.Done():
	}
}

// runFault injects a fault, waits until clients make progress again, and audits the files.
func (s *soak) runFault(ctx context.Context, f fault) {
	s.rest(ctx, s.Pause)
	s.await(s.Between / 2)
	start := time.Now()
	s.ledger.fault(f.name)
	if err := f.do(s); err != nil {
		s.ledger.complain("%s: %v", f.name, err)
		return
	}
	s.ready()
	s.await(s.Between)
	back := time.Since(start)
	wrong, err := s.auditor.audit(ctx, s.ledger.snapshot(), false)
	if err != nil && ctx.Err() == nil {
		s.ledger.complain("look at the sessions after %q: %v", f.name, err)
	}
	for _, w := range wrong {
		s.ledger.complain("after %q: %s", f.name, w)
	}
	s.logf("%-32s %6.1f s until all continued; %d acknowledged, %d wrong", f.name, back.Seconds(), s.ledger.acks.Load(), len(wrong))
}

// ready waits until the gateway reports that it is ready.
func (s *soak) ready() {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		status, body, err := s.request(context.Background(), http.MethodGet, "/readyz", "", nil)
		if err == nil && status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			s.ledger.complain("the gateway does not become ready: %d %s %v", status, body, err)
			return
		}
	}
}

// inTurn waits until an answer is being streamed.
func (s *soak) inTurn() {
	select {
	case <-s.model.spoke: // from before
	default:
	}
	select {
	case <-s.model.spoke:
	case <-time.After(patience):
		s.ledger.complain("the model is no longer called")
	}
}

func (s *soak) killInTurn() error {
	s.inTurn()
	return errors.Join(s.gateway.kill(), s.gateway.start())
}

func (s *soak) restart() error {
	return errors.Join(s.gateway.stop(), s.gateway.start())
}

func (s *soak) fullDisk() error {
	err := s.disk.fill()
	s.rest(context.Background(), min(s.Pause, 6*time.Second))
	return errors.Join(err, s.disk.empty())
}

// slowDisk stalls the disk repeatedly.
func (s *soak) slowDisk() error {
	for range max(3, int(min(s.Pause, 10*time.Second)/time.Second)) {
		if err := s.disk.freeze(); err != nil {
			return err
		}
		time.Sleep(time.Duration(100+s.chance.IntN(700)) * time.Millisecond)
		if err := s.disk.thaw(); err != nil {
			return err
		}
		time.Sleep(time.Duration(50+s.chance.IntN(200)) * time.Millisecond)
	}
	return nil
}

func (s *soak) killOnFull() error {
	err := s.disk.fill()
	s.rest(context.Background(), min(s.Pause, 2*time.Second))
	return errors.Join(err, s.gateway.kill(), s.disk.empty(), s.gateway.start())
}

// killOnSlow kills the gateway while it waits for the disk; it dies when the disk responds.
func (s *soak) killOnSlow() error {
	if err := s.disk.freeze(); err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	killed := make(chan error, 1)
	go func() { killed <- s.gateway.kill() }()
	time.Sleep(200 * time.Millisecond)
	return errors.Join(s.disk.thaw(), <-killed, s.gateway.start())
}

func (s *soak) clockForward() error { return s.jump(1) }
func (s *soak) clockBack() error    { return s.jump(-1) }

// jump shifts the gateway's clock by a minute to three days, and back after a while.
func (s *soak) jump(sign time.Duration) error {
	by := []time.Duration{time.Minute, time.Hour, 5 * time.Hour, 26 * time.Hour, 72 * time.Hour}[s.chance.IntN(5)]
	err := errors.Join(s.gateway.setClock(sign*by), s.checkClock(sign*by))
	s.await(s.Between)
	s.rest(context.Background(), min(s.Pause, 5*time.Second))
	return errors.Join(err, s.gateway.setClock(0))
}

// checkClock checks that the gateway uses the shifted time, by the dates of its responses.
func (s *soak) checkClock(shift time.Duration) error {
	resp, err := s.http.Get(s.gateway.address() + "/healthz")
	if err != nil {
		return err
	}
	resp.Body.Close()
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return err
	}
	if off := time.Until(date) - shift; off.Abs() > 20*time.Second {
		return fmt.Errorf("the clock of the gateway was set by %v, and it is %v off", shift, off)
	}
	return nil
}

func (s *soak) corruptStopped() error {
	return errors.Join(s.gateway.kill(), s.corruptIndexes(), s.gateway.start())
}

// corruptIndexes overwrites bytes of derived files.
func (s *soak) corruptIndexes() error {
	files, err := filepath.Glob(filepath.Join(s.gateway.home, "index", "*"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "lock") {
			continue
		}
		if err := s.overwrite(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	// The corruption is noticed on use.
	_, _ = s.gateway.command("search", "harbour", "--json")
	return nil
}

// overwrite writes random bytes at a random position of a file.
func (s *soak) overwrite(name string) error {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	noise := make([]byte, min(info.Size(), 512))
	for i := range noise {
		noise[i] = byte(s.chance.Uint32())
	}
	for range 4 {
		if _, err := file.WriteAt(noise, s.chance.Int64N(info.Size()-int64(len(noise))+1)); err != nil {
			return err
		}
	}
	return nil
}
