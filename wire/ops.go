package wire

import "time"

// Source is a mirrored folder of another tool, or this home itself.
type Source struct {
	// Name is the name for filters: the name of the tool, followed by a number if there are
	// several folders.
	Name string `json:"name"`
	Tool string `json:"tool"`
	Dir  string `json:"dir"`
	// Sessions is the number of sessions, Bytes their total size.
	Sessions int   `json:"sessions"`
	Bytes    int64 `json:"bytes"`
	// Checked is when it was last checked; Taken is the number of its sessions that were
	// continued here and now belong to firn.
	Checked time.Time `json:"checked,omitzero"`
	Taken   int       `json:"taken,omitempty"`
	// Faults are read errors, at most ten.
	Faults []string `json:"faults,omitempty"`
	// Limits lists features that the tool's format cannot represent, for exports.
	Limits []string `json:"limits,omitempty"`
}

// Ops is the operational state of the gateway and its storage.
type Ops struct {
	Status Status `json:"status"`
	Ready  bool   `json:"ready"`
	// Why is the reason why the gateway is not ready.
	Why string `json:"why,omitempty"`
	// Append and Sync are the latencies of appends, and of the disk syncs within them,
	// since the gateway started.
	Append  Latency    `json:"append"`
	Sync    Latency    `json:"sync"`
	Storage Storage    `json:"storage"`
	Index   IndexState `json:"index"`
	// Verified is the latest check of all sessions; nil if there was none since the gateway
	// started.
	Verified *Verified `json:"verified,omitempty"`
	// Memory is the memory of the process in bytes; Own is the part held by firn itself.
	// The rest is the program and the index engine with its caches. Files is the number of
	// open descriptors, Goroutines the number of goroutines.
	Memory     int64 `json:"memory"`
	Own        int64 `json:"own"`
	Files      int   `json:"files"`
	Goroutines int   `json:"goroutines"`
	// Cluster is set if several gateways share sessions; ClusterFault is the error if it could
	// not be determined.
	Cluster      *Cluster `json:"cluster,omitempty"`
	ClusterFault string   `json:"clusterFault,omitempty"`
}

// Latency is a latency in milliseconds.
type Latency struct {
	Count int64   `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Storage is the size of stored data in bytes.
type Storage struct {
	Sessions int64 `json:"sessions"`
	Index    int64 `json:"index"`
	Memory   int64 `json:"memory"`
	// Files is the size of the contents of files that tools changed.
	Files int64 `json:"files"`
	Bin   int64 `json:"bin"`
	Free  int64 `json:"free"`
	Total int64 `json:"total"`
}

// Verified is the result of a check of all sessions.
type Verified struct {
	Begun time.Time `json:"begun"`
	// Done is zero while the check is running.
	Done     time.Time `json:"done,omitzero"`
	Sessions int       `json:"sessions"`
	Of       int       `json:"of"`
	// Entries and Bytes count the data read.
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
	// Error is the reason why the check was aborted.
	Error string `json:"error,omitempty"`
	// Faults are the damaged sessions, at most a hundred.
	Faults []VerifyFault `json:"faults,omitempty"`
}

// VerifyFault is a fault of a session.
type VerifyFault struct {
	Session string `json:"session"`
	What    string `json:"what"`
}
