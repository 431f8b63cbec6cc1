package wire

// Cluster is how things are where several gateways share sessions.
type Cluster struct {
	// Gateways are those that answered just now, this one first.
	Gateways []ClusterGateway `json:"gateways"`
	// Servers are those that keep the sessions, by name.
	Servers []ClusterServer `json:"servers"`
}

// ClusterGateway is one of several gateways.
type ClusterGateway struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	Version string `json:"version,omitempty"`
	// Leads says that this one does what one does for all, such as running jobs.
	Leads bool `json:"leads,omitempty"`
	// Owns is how many sessions it has at the moment, Running how many turns.
	Owns    int `json:"owns"`
	Running int `json:"running"`
}

// ClusterServer is a server that keeps sessions.
type ClusterServer struct {
	Name string `json:"name"`
	// Streams is how many streams it keeps, Leads how many of them it leads.
	Streams int `json:"streams"`
	Leads   int `json:"leads"`
	// Behind is how many messages it lacks of all streams; Offline says that the
	// others do not reach it.
	Behind  int64 `json:"behind"`
	Offline bool  `json:"offline,omitempty"`
}
