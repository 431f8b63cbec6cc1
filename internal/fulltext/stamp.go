package fulltext

import "context"

// Stamper is a source with sessions that others change without [Wrap] being
// told: gateways on other machines, or who brings a mirror up to date. Whenever
// that may have happened its stamp is another one; it must be cheap to get.
type Stamper interface {
	Stamp(ctx context.Context) (string, error)
}

// stamp asks the source for its stamp; none if it has no such thing.
func (x *Index) stamp(ctx context.Context) (string, error) {
	if s, ok := x.src.(Stamper); ok {
		return s.Stamp(ctx)
	}
	return "", nil
}

// hasNews reports whether others have changed something since all sessions were
// looked at. If that cannot be told, the next look finds it.
func (x *Index) hasNews(ctx context.Context) bool {
	x.work.mu.Lock()
	known, looked := x.work.stamp, x.work.seen != nil
	x.work.mu.Unlock()
	if !looked {
		return false // all are looked at in any case
	}
	now, err := x.stamp(ctx)
	return err == nil && now != known
}

// Look brings the index up to date if others have changed something.
func (x *Index) Look(ctx context.Context) {
	if x.hasNews(ctx) {
		x.request(func(d *due) { d.census = true }, false)
	}
}
