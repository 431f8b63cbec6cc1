package journal

// fullError is returned when a journal has reached its maximum size. No append can make
// room: compactions and rewinds add bytes too.
type fullError struct{ error }

// Unwrap returns the wrapped error.
func (f *fullError) Unwrap() error { return f.error }

// Hint returns advice for the user.
func (f *fullError) Hint() string {
	return "start another session (/new, firn new), or raise store.max_bytes"
}
