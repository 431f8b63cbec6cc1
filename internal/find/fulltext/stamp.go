package fulltext

import "context"

// Stamper is implemented by sources whose sessions can change without going through [Wrap],
// for example by gateways on other machines or by syncing a mirror. The stamp changes
// whenever that may have happened, and must be cheap to compute.
type Stamper interface {
	Stamp(ctx context.Context) (string, error)
}

// stamp returns the stamp of the source, or "" if the source has none.
func (x *Index) stamp(ctx context.Context) (string, error) {
	if s, ok := x.src.(Stamper); ok {
		return s.Stamp(ctx)
	}
	return "", nil
}

// hasNews reports whether sessions changed outside this process since the last census. If
// the stamp cannot be read, it returns false; the next census finds the changes.
func (x *Index) hasNews(ctx context.Context) bool {
	x.work.mu.Lock()
	known, looked := x.work.stamp, x.work.seen != nil
	x.work.mu.Unlock()
	if !looked {
		return false // a census is due in any case
	}
	now, err := x.stamp(ctx)
	return err == nil && now != known
}

// Update updates the index if sessions changed outside this process.
func (x *Index) Update(ctx context.Context) {
	if x.hasNews(ctx) {
		x.request(func(d *due) { d.census = true }, false)
	}
}
