package journal

// full says that a journal has as many bytes as it may have. Nothing that is added makes
// room: a compaction or a rewind adds bytes too.
type full struct{ error }

// Unwrap returns the error itself.
func (f *full) Unwrap() error { return f.error }

// Hint says what the user can do.
func (f *full) Hint() string {
	return "begin another session (/new, firn new), or raise store.max_bytes"
}
