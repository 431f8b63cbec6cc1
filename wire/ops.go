package wire

import "time"

// Source is a folder of another tool that is mirrored here, or this home itself.
type Source struct {
	// Name is what filters call it: the name of the tool, and a number behind it
	// if there are several folders.
	Name string `json:"name"`
	Tool string `json:"tool"`
	Dir  string `json:"dir"`
	// Sessions is how many there are, Bytes how large they are together.
	Sessions int   `json:"sessions"`
	Bytes    int64 `json:"bytes"`
	// Checked is when it was looked at last; Taken how many sessions were gone on
	// with here, and are ours now.
	Checked time.Time `json:"checked,omitzero"`
	Taken   int       `json:"taken,omitempty"`
	// Faults are what could not be read, at most ten of them.
	Faults []string `json:"faults,omitempty"`
	// Limits are what the tool's format cannot say, for the way back.
	Limits []string `json:"limits,omitempty"`
}

// Ops is how the gateway and what it keeps are doing.
type Ops struct {
	Status Status `json:"status"`
	Ready  bool   `json:"ready"`
	// Why says why it is not ready.
	Why string `json:"why,omitempty"`
	// Append and Sync are how long appends, and the syncs to the disk within
	// them, have taken since the gateway began.
	Append  Latency    `json:"append"`
	Sync    Latency    `json:"sync"`
	Storage Storage    `json:"storage"`
	Index   IndexState `json:"index"`
	// Verified is the latest check of all sessions; nil if there was none since
	// the gateway began.
	Verified *Verified `json:"verified,omitempty"`
	// Memory is what the process has of the system, in bytes, and Own how much of it
	// firn itself holds: the rest is the program and the engine of the index, with its
	// caches. Files is how many descriptors are open, Goroutines how many there are.
	Memory     int64 `json:"memory"`
	Own        int64 `json:"own"`
	Files      int   `json:"files"`
	Goroutines int   `json:"goroutines"`
	// Cluster is told where several gateways share sessions; ClusterFault is why
	// it could not be found out.
	Cluster      *Cluster `json:"cluster,omitempty"`
	ClusterFault string   `json:"clusterFault,omitempty"`
}

// Latency is how long something takes, in milliseconds.
type Latency struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Storage is what is kept, in bytes.
type Storage struct {
	Sessions int64 `json:"sessions"`
	Index    int64 `json:"index"`
	Memory   int64 `json:"memory"`
	Bin      int64 `json:"bin"`
	Free     int64 `json:"free"`
	Total    int64 `json:"total"`
}

// Verified is what a check of all sessions found.
type Verified struct {
	Begun time.Time `json:"begun"`
	// Done is zero while it is under way.
	Done     time.Time `json:"done,omitzero"`
	Sessions int       `json:"sessions"`
	Of       int       `json:"of"`
	// Entries and Bytes count what was read.
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
	// Error says why it was broken off.
	Error string `json:"error,omitempty"`
	// Faults are the sessions that are not in order, and what is wrong; at most
	// a hundred of them.
	Faults []VerifyFault `json:"faults,omitempty"`
}

// VerifyFault is something that is wrong with a session.
type VerifyFault struct {
	Session string `json:"session"`
	What    string `json:"what"`
}
