package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ServerState is how a server is doing with the streams of the sessions.
type ServerState struct {
	Name string
	// Streams is how many it keeps, Leads how many of them it leads.
	Streams, Leads int
	// Behind is how many messages it lacks; Offline says that the others do not
	// reach it.
	Behind  int64
	Offline bool
}

// Servers tells how the servers are doing, by name, as those tell that lead. A
// server that stands alone leads everything.
func (st *Store) Servers(ctx context.Context) ([]ServerState, error) {
	known := make(map[string]*ServerState)
	server := func(name string) *ServerState {
		if known[name] == nil {
			known[name] = &ServerState{Name: name}
		}
		known[name].Streams++
		return known[name]
	}
	for shard := range st.names.shards {
		var info struct {
			Cluster struct {
				Leader   string `json:"leader"`
				Replicas []struct {
					Name    string `json:"name"`
					Offline bool   `json:"offline"`
					Lag     int64  `json:"lag"`
				} `json:"replicas"`
			} `json:"cluster"`
		}
		if err := st.engine.ask(ctx, "$JS.API.STREAM.INFO."+st.names.stream(shard), struct{}{}, &info); err != nil {
			return nil, fmt.Errorf("ask how the servers are doing: %w", err)
		}
		leader := info.Cluster.Leader
		if leader == "" {
			leader = st.engine.nc.ConnectedServerName()
		}
		server(leader).Leads++
		for _, r := range info.Cluster.Replicas {
			s := server(r.Name)
			s.Behind += r.Lag
			s.Offline = s.Offline || r.Offline
		}
	}
	var all []ServerState
	for _, s := range known {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b ServerState) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
