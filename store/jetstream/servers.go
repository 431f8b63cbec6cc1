package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ServerState is the state of a server with respect to the sessions' streams.
type ServerState struct {
	Name string
	// Streams is the number of its replicas, Leads the number of streams that it leads.
	Streams, Leads int
	// Lag is the number of messages that it lacks. Offline reports whether the other
	// servers cannot reach it.
	Lag     int64
	Offline bool
}

// Servers returns the state of the servers, by name, as reported by the leaders. A
// standalone server leads all streams.
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
			s.Lag += r.Lag
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
