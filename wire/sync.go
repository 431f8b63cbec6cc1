package wire

// SyncFile is a file of a sync that a gateway keeps for other machines.
type SyncFile struct {
	// Name is its name, such as pieces/ab/ab12…. It contains the hash of its content.
	Name string `json:"name"`
	// Bytes is its size.
	Bytes int64 `json:"bytes"`
}
