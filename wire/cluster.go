package wire

// Cluster is the state of a cluster of gateways that share sessions.
type Cluster struct {
	// Gateways are those that responded just now, this one first.
	Gateways []ClusterGateway `json:"gateways"`
	// Servers are the storage servers, by name.
	Servers []ClusterServer `json:"servers"`
}

// ClusterGateway is one of several gateways.
type ClusterGateway struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	Version string `json:"version,omitempty"`
	// Leads means that this gateway runs the tasks that only one may run, such as jobs.
	Leads bool `json:"leads,omitempty"`
	// Owns is the number of sessions it currently owns, Running the number of turns.
	Owns    int `json:"owns"`
	Running int `json:"running"`
}

// ClusterServer is a storage server.
type ClusterServer struct {
	Name string `json:"name"`
	// Streams is the number of its streams, Leads the number of streams it leads.
	Streams int `json:"streams"`
	Leads   int `json:"leads"`
	// Lag is the number of messages it lacks in all streams; Offline means that the
	// others cannot reach it.
	Lag     int64 `json:"behind"`
	Offline bool  `json:"offline,omitempty"`
}
