// Package metrics collects the metrics of a gateway in the Prometheus format.
//
// A [Registry] holds counters, gauges and histograms and writes them in the text format. A
// [Set] has the metrics of a gateway, with wrappers that measure a store, a model or a file
// system. Metrics contain only names and numbers, never the text of a conversation.
//
// The package writes the format itself, which takes a page of code. The official library
// has nine dependencies and uses global variables.
package metrics

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry holds metrics. Its methods are safe for concurrent use. The zero value is empty
// and ready to use.
type Registry struct {
	mu       sync.Mutex
	families []*family
}

// maxSeries is the maximum number of label combinations of one metric. Further ones are
// counted under "other", so that a client cannot exhaust memory by inventing names.
const maxSeries = 1000

// other replaces the label values beyond maxSeries.
const other = "other"

// family is a metric with all its series.
type family struct {
	name, help, kind string
	labels           []string
	// bounds are the upper bounds of a histogram's buckets, ascending.
	bounds []float64
	// ask returns the value of a gauge that is computed on demand.
	ask func() float64

	mu     sync.RWMutex
	series map[string]*series
}

// series is one combination of label values.
type series struct {
	values []string
	// bits is the value, or the sum of a histogram, as float64 bits.
	bits atomic.Uint64
	// buckets counts observations by bucket; the last one is for values above all bounds.
	buckets []atomic.Uint64
}

// Counter is a value that only increases.
type Counter struct{ f *family }

// Gauge is a value that can increase and decrease.
type Gauge struct{ f *family }

// Histogram counts observed values in buckets.
type Histogram struct{ f *family }

// Counter registers a counter with labels.
func (r *Registry) Counter(name, help string, labels ...string) Counter {
	return Counter{r.add(&family{name: name, help: help, kind: "counter", labels: labels})}
}

// Gauge registers a gauge with labels.
func (r *Registry) Gauge(name, help string, labels ...string) Gauge {
	return Gauge{r.add(&family{name: name, help: help, kind: "gauge", labels: labels})}
}

// GaugeFunc registers a gauge whose value is computed when metrics are written. The function may
// be called from any goroutine and must not block.
func (r *Registry) GaugeFunc(name, help string, value func() float64) {
	r.add(&family{name: name, help: help, kind: "gauge", ask: value})
}

// Histogram registers a histogram with the upper bounds of its buckets and labels.
func (r *Registry) Histogram(name, help string, bounds []float64, labels ...string) Histogram {
	return Histogram{r.add(&family{name: name, help: help, kind: "histogram", labels: labels, bounds: slices.Sorted(slices.Values(bounds))})}
}

// add registers a family, replacing one of the same name.
func (r *Registry) add(f *family) *family {
	f.series = make(map[string]*series)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.families = slices.DeleteFunc(r.families, func(g *family) bool { return g.name == f.name })
	at, _ := slices.BinarySearchFunc(r.families, f.name, func(g *family, name string) int { return strings.Compare(g.name, name) })
	r.families = slices.Insert(r.families, at, f)
	return f
}

// Add adds n to the counter. Negative values are ignored.
func (c Counter) Add(n float64, values ...string) {
	if c.f != nil && n > 0 {
		c.f.at(values).add(n)
	}
}

// Value returns the value of the counter.
func (c Counter) Value(values ...string) float64 { return c.f.at(values).value() }

// Add adds n to the gauge.
func (g Gauge) Add(n float64, values ...string) {
	if g.f != nil {
		g.f.at(values).add(n)
	}
}

// Set sets the gauge.
func (g Gauge) Set(n float64, values ...string) {
	if g.f != nil {
		g.f.at(values).bits.Store(math.Float64bits(n))
	}
}

// Value returns the value of the gauge.
func (g Gauge) Value(values ...string) float64 { return g.f.at(values).value() }

// Observe records a value.
func (h Histogram) Observe(n float64, values ...string) {
	if h.f == nil || math.IsNaN(n) {
		return
	}
	s := h.f.at(values)
	i, _ := slices.BinarySearch(h.f.bounds, n)
	s.buckets[i].Add(1)
	s.add(n)
}

// Count returns the number of observations.
func (h Histogram) Count(values ...string) uint64 {
	var n uint64
	s := h.f.at(values)
	for i := range s.buckets {
		n += s.buckets[i].Load()
	}
	return n
}

// at returns the series for label values, creating it if necessary. Missing values are
// empty; extra ones are ignored.
func (f *family) at(values []string) *series {
	key := strings.Join(values, "\xff")
	f.mu.RLock()
	s := f.series[key]
	f.mu.RUnlock()
	if s != nil {
		return s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.series[key]; s != nil {
		return s
	}
	if len(f.series) >= maxSeries && len(f.labels) > 0 {
		values = slices.Repeat([]string{other}, len(f.labels))
		key = strings.Join(values, "\xff")
		if s := f.series[key]; s != nil {
			return s
		}
	}
	s = &series{values: make([]string, len(f.labels))}
	copy(s.values, values)
	for i, v := range s.values {
		s.values[i] = strings.Clone(v)
	}
	if f.kind == "histogram" {
		s.buckets = make([]atomic.Uint64, len(f.bounds)+1)
	}
	f.series[key] = s
	return s
}

func (s *series) value() float64 { return math.Float64frombits(s.bits.Load()) }

func (s *series) add(n float64) {
	for {
		old := s.bits.Load()
		if s.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+n)) {
			return
		}
	}
}

// Append appends all metrics to b in the Prometheus text format, version 0.0.4, sorted by
// name and then by labels.
func (r *Registry) Append(b []byte) []byte {
	r.mu.Lock()
	families := slices.Clone(r.families)
	r.mu.Unlock()
	for _, f := range families {
		b = f.append(b)
	}
	return b
}

func (f *family) append(b []byte) []byte {
	if f.ask != nil {
		return appendSample(f.head(b), f.name, "", nil, nil, "", f.ask())
	}
	f.mu.RLock()
	all := make([]*series, 0, len(f.series))
	for _, s := range f.series {
		all = append(all, s)
	}
	f.mu.RUnlock()
	if len(all) == 0 {
		if len(f.labels) > 0 {
			return b
		}
		all = append(all, f.at(nil)) // a metric without labels is zero before its first use
	}
	slices.SortFunc(all, func(x, y *series) int { return slices.Compare(x.values, y.values) })
	b = f.head(b)
	for _, s := range all {
		if f.kind == "histogram" {
			b = f.appendHistogram(b, s)
			continue
		}
		b = appendSample(b, f.name, "", f.labels, s.values, "", s.value())
	}
	return b
}

// head appends the HELP and TYPE lines.
func (f *family) head(b []byte) []byte {
	b = append(b, "# HELP "...)
	b = append(b, f.name...)
	b = append(b, ' ')
	b = append(b, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.help)...)
	b = append(b, "\n# TYPE "...)
	b = append(b, f.name...)
	b = append(b, ' ')
	b = append(b, f.kind...)
	return append(b, '\n')
}

// appendHistogram appends the cumulative buckets. The count is the last of them, so that
// the two agree during concurrent observations.
func (f *family) appendHistogram(b []byte, s *series) []byte {
	var n uint64
	for i := range s.buckets {
		n += s.buckets[i].Load()
		bound := "+Inf"
		if i < len(f.bounds) {
			bound = strconv.FormatFloat(f.bounds[i], 'g', -1, 64)
		}
		b = appendSample(b, f.name, "_bucket", f.labels, s.values, bound, float64(n))
	}
	b = appendSample(b, f.name, "_sum", f.labels, s.values, "", s.value())
	return appendSample(b, f.name, "_count", f.labels, s.values, "", float64(n))
}

// appendSample appends one line; le is the bound of a bucket, or empty.
func appendSample(b []byte, name, suffix string, labels, values []string, le string, value float64) []byte {
	b = append(append(b, name...), suffix...)
	sep := byte('{')
	for i, label := range labels {
		b = append(append(b, sep), label...)
		b = appendLabelValue(append(b, '='), values[i])
		sep = ','
	}
	if le != "" {
		b = append(append(b, sep), "le="...)
		b = appendLabelValue(b, le)
		sep = ','
	}
	if sep == ',' {
		b = append(b, '}')
	}
	b = append(b, ' ')
	b = appendNumber(b, value)
	return append(b, '\n')
}

// appendLabelValue quotes a value; the format requires UTF-8.
func appendLabelValue(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range strings.ToValidUTF8(s, "\uFFFD") {
		switch c {
		case '\\', '"':
			b = append(b, '\\', byte(c))
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}

func appendNumber(b []byte, n float64) []byte {
	switch {
	case math.IsInf(n, 1):
		return append(b, "+Inf"...)
	case math.IsInf(n, -1):
		return append(b, "-Inf"...)
	case math.IsNaN(n):
		return append(b, "NaN"...)
	case n == math.Trunc(n) && math.Abs(n) < 1e15:
		return strconv.AppendInt(b, int64(n), 10)
	}
	return strconv.AppendFloat(b, n, 'g', -1, 64)
}
