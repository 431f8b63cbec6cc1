package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider/scripted"
	"firn.dev/store/filestore"
)

// turn measures firn's overhead per turn, with a model that answers immediately, on a short
// and on a long history.
func (b *bench) turn() error {
	home, fresh := b.home("turn")
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	var medians []time.Duration
	for _, s := range []struct {
		id   firn.ID
		size int64
	}{{"t2", 2e6}, {"t200", 200e6}} {
		if fresh {
			if err := grow(context.Background(), st, s.id, s.size, true); err != nil {
				return err
			}
		}
		took, err := turns(st, s.id)
		if err != nil {
			return err
		}
		slices.Sort(took)
		p50, p99 := took[len(took)/2], took[len(took)*99/100]
		medians = append(medians, p50)
		what := fmt.Sprintf("turn on %d MB, compacted: all but the model, durable, p99", s.size/1e6)
		b.note(what[:len(what)-3]+"p50", ms(p50))
		b.want(what, ms(p99), "≤ 2 ms", p99 <= 2*time.Millisecond)
	}
	r := ratio(medians[1], medians[0])
	b.want("turn on 200 MB against 2 MB with the same live tail", times(r), "≤ 2 ×", r <= 2)
	return nil
}

// turns runs turns and returns their durations without the first few.
func turns(st *filestore.Store, id firn.ID) ([]time.Duration, error) {
	const warm, runs = 20, 200
	a := instantAgent(st)
	defer a.Close()
	took := make([]time.Duration, 0, runs)
	for i := range warm + runs {
		start := time.Now()
		if err := turnOnce(a, id); err != nil {
			return nil, err
		}
		if i >= warm {
			took = append(took, time.Since(start))
		}
	}
	return took, nil
}

// instantAgent returns an agent whose model answers immediately.
func instantAgent(st *filestore.Store) *agent.Agent {
	info := scripted.Info()
	info.Window = 1_000_000
	return &agent.Agent{
		Store: st, Model: scripted.New(info, scripted.Forever(scripted.Reply("Fine."))),
		Compaction: compact.Settings{Mode: compact.Off}, NoTitles: true,
	}
}

func turnOnce(a *agent.Agent, id firn.ID) error {
	for _, err := range a.Run(context.Background(), id, agent.TextInput("How are you?")) {
		if err != nil {
			return err
		}
	}
	return nil
}
