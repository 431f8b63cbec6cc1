package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"
)

// placements caches where the replicas of streams are.
type placements struct {
	mu     sync.Mutex
	placed map[string]placement
}

// placement is where the replicas of a stream are.
type placement struct {
	leader string
	names  []string
	// current are those that have caught up, as far as the leader knows.
	current map[string]bool
	// young says that the stream has just been made.
	young bool
	asked time.Time
}

const (
	// placedFor is how long a placement is believed, placedYoung that of a stream
	// that has just been made.
	placedFor, placedYoung = 10 * time.Second, 500 * time.Millisecond
	// youngFor is for how long after a stream was made its leader is believed alone:
	// servers answer from other replicas only after some seconds, and keep what was
	// written in memory for longer than that.
	youngFor = 5 * time.Second
)

// forget drops the cached placement of a stream.
func (p *placements) forget(stream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.placed, stream)
}

// errUnasked says that too few replicas answered to be sure that something is not
// there.
var errUnasked = errors.New("too few servers answered to be sure that it is not there")

// placement returns where the replicas of a stream are, as its leader said a moment
// ago.
func (e *engine) placement(ctx context.Context, stream string) (placement, error) {
	e.places.mu.Lock()
	p, ok := e.places.placed[stream]
	e.places.mu.Unlock()
	if age := time.Since(p.asked); ok && (age < placedYoung || !p.young && age < placedFor) {
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

// majority is how many replicas must answer to be sure of what is not there.
func (p *placement) majority() int {
	if p.young {
		return 1
	}
	return len(p.names)/2 + 1
}

// info asks the leader of a stream where its replicas are, and for the last
// sequence.
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
	p := placement{leader: info.Cluster.Leader, young: info.Now.Sub(info.Created) < youngFor, asked: time.Now()}
	if p.leader == "" { // it stands alone
		p.leader = e.nc.ConnectedServerName()
	}
	p.names, p.current = append(p.names, p.leader), map[string]bool{p.leader: true}
	for _, r := range info.Cluster.Replicas {
		p.names = append(p.names, r.Name)
		p.current[r.Name] = r.Current && !r.Offline && r.Lag == 0
	}
	return p, info.State.LastSeq, nil
}
