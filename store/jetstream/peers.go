package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"
)

// placements caches the locations of the streams' replicas.
type placements struct {
	mu     sync.Mutex
	placed map[string]placement
}

// placement is the location of the replicas of a stream.
type placement struct {
	leader string
	names  []string
	// current are the replicas that have caught up, as far as the leader knows.
	current map[string]bool
	// isNew reports whether the stream was created recently.
	isNew bool
	asked time.Time
}

const (
	// placedFor is how long a placement is cached, placedNew that of a new stream.
	placedFor, placedNew = 10 * time.Second, 500 * time.Millisecond
	// newFor is how long after the creation of a stream its leader is trusted alone: other
	// replicas respond only after some seconds, and servers keep written messages in memory
	// for longer than that.
	newFor = 5 * time.Second
)

// forget drops the cached placement of a stream.
func (p *placements) forget(stream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.placed, stream)
}

// errUnasked means that too few replicas responded to treat a message as missing.
var errUnasked = errors.New("too few servers responded to be sure that it does not exist")

// placement returns the location of the replicas of a stream, as its leader reported
// recently.
func (e *engine) placement(ctx context.Context, stream string) (placement, error) {
	e.places.mu.Lock()
	p, ok := e.places.placed[stream]
	e.places.mu.Unlock()
	if age := time.Since(p.asked); ok && (age < placedNew || !p.isNew && age < placedFor) {
		return p, nil
	}
	fresh, _, err := e.info(ctx, stream)
	if err != nil {
		return p, err
	}
	e.places.mu.Lock()
	defer e.places.mu.Unlock()
	e.places.placed[stream] = fresh
	return fresh, nil
}

// majority returns the number of replicas that must respond before a message is treated as
// missing.
func (p *placement) majority() int {
	if p.isNew {
		return 1
	}
	return len(p.names)/2 + 1
}

// info asks the leader of a stream for the location of its replicas and the last sequence.
func (e *engine) info(ctx context.Context, stream string) (placement, uint64, error) {
	var info struct {
		Error   *apiError `json:"error"`
		Created time.Time `json:"created"`
		Now     time.Time `json:"ts"`
		State   struct {
			LastSeq uint64 `json:"last_seq"`
		} `json:"state"`
		Cluster struct {
			Leader   string `json:"leader"`
			Replicas []struct {
				Name    string `json:"name"`
				Current bool   `json:"current"`
				Offline bool   `json:"offline"`
				Lag     uint64 `json:"lag"`
			} `json:"replicas"`
		} `json:"cluster"`
	}
	if err := e.ask(ctx, "$JS.API.STREAM.INFO."+stream, struct{}{}, &info); err != nil {
		return placement{}, 0, err
	}
	if info.Error != nil {
		return placement{}, 0, info.Error
	}
	p := placement{leader: info.Cluster.Leader, isNew: info.Now.Sub(info.Created) < newFor, asked: time.Now()}
	if p.leader == "" { // a standalone server
		p.leader = e.nc.ConnectedServerName()
	}
	p.names, p.current = append(p.names, p.leader), map[string]bool{p.leader: true}
	for _, r := range info.Cluster.Replicas {
		p.names = append(p.names, r.Name)
		p.current[r.Name] = r.Current && !r.Offline && r.Lag == 0
	}
	return p, info.State.LastSeq, nil
}
