package main

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"firn.dev"
)

// plan is a large installation: independent cells, each with three servers, some gateways
// and its share of the sessions.
type plan struct {
	cells, gateways, shards int
	sessions                float64 // of all cells
	running                 float64 // concurrent turns of all cells
	entries                 float64 // appended per turn
	seconds                 float64 // duration of a turn
}

// Measured constants; the part "cluster" of this program measures them again.
const (
	sealedBytes   = 9.8e3 // per inactive session of 20 entries, on each of three servers
	restingMemory = 4.7e3 // of a server per inactive session, right after they were written
	cellAppends   = 6800  // per second, three servers on one machine, synced
	stallLeast    = 4.5   // seconds without appends after a leader is killed
	stallMost     = 7.4
	rowMemory     = 1461.0 // of a gateway per session in its list
)

// Assumed failures: the days between two failures of a server, and the hours until it is
// back.
const (
	daysBetween = 180.0
	hoursAway   = 2.0
	years       = 200
)

// scale extrapolates the measurements to an installation with 1,000 gateways and 100
// million sessions, and simulates random failures. See docs/cluster.md.
func (b *bench) scale() error {
	p := plan{cells: 50, gateways: 1000, shards: 8, sessions: 100e6, running: 20_000, entries: 6, seconds: 30}
	perCell := p.sessions / float64(p.cells)
	appends := p.running * p.entries / p.seconds
	renewals := p.running / 5
	b.note("scale: sessions, gateways and turns of a cell", fmt.Sprintf("%.0f M, %d, %.0f", perCell/1e6, p.gateways/p.cells, p.running/float64(p.cells)))
	b.note("scale: disk of a server", fmt.Sprintf("%.1f GB", perCell*sealedBytes/1e9))
	b.note("scale: memory of a server, and of a gateway for its list", fmt.Sprintf("%.2f GB, %.2f GB", perCell*restingMemory/1e9, perCell*rowMemory/1e9))
	b.note("scale: appends a second of a cell, with leases, of what it can", fmt.Sprintf("%.0f of %d", (appends+renewals)/float64(p.cells), cellAppends))
	fullest, busiest := p.spread(rand.New(rand.NewPCG(8, 1)))
	b.note("scale: fullest stream, busiest cell, against the mean", fmt.Sprintf("%s, %s", times(fullest), times(busiest)))
	stalls, waited, without := p.fail(rand.New(rand.NewPCG(8, 2)))
	b.note("scale: a year: stalls of a cell, share of appends that wait", fmt.Sprintf("%.0f, 1 in %.0f", stalls, 1/waited))
	b.note("scale: a year: hours in which some cell takes no writes", fmt.Sprintf("%.2f", without))
	return nil
}

// spread assigns sessions to cells and streams by hash, as the store does, and turns to
// sessions with a heavy tail. It returns the ratio of the fullest stream and the busiest
// cell to the mean.
func (p plan) spread(rng *rand.Rand) (fullest, busiest float64) {
	const sample = 2_000_000
	streams := make([]float64, p.cells*p.shards)
	busy := make([]float64, p.cells)
	for range sample {
		var id [16]byte
		for i := range id {
			id[i] = byte(rng.Uint32())
		}
		h := fnv.New32a()
		h.Write([]byte(firn.ID(fmt.Sprintf("%x", id))))
		sum := h.Sum32()
		cell := int(sum/uint32(p.shards)) % p.cells
		streams[cell*p.shards+int(sum%uint32(p.shards))]++
		// Pareto: a few sessions dominate the mean.
		busy[cell] += math.Min(math.Pow(1-rng.Float64(), -1/1.2), 1e4)
	}
	return most(streams), most(busy)
}

// most returns the ratio of the maximum to the mean.
func most(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return slices.Max(values) * float64(len(values)) / sum
}

// fail simulates many years of independent server failures. It returns per year how often
// the streams of a cell stall for an election, the share of appends that wait for one, and
// the hours in which a cell has lost two of three servers.
func (p plan) fail(rng *rand.Rand) (stalls, waited, without float64) {
	const year = 365 * 24.0
	stalled := 0.0
	for range years {
		for range p.cells {
			var away [][2]float64 // from, to: of all three servers
			for range 3 {
				for t := rng.ExpFloat64() * daysBetween * 24; t < year; t += hoursAway + rng.ExpFloat64()*daysBetween*24 {
					away = append(away, [2]float64{t, t + hoursAway})
				}
			}
			slices.SortFunc(away, func(a, b [2]float64) int { return int(math.Copysign(1, a[0]-b[0])) })
			until := 0.0
			for _, a := range away {
				without += math.Max(0, math.Min(until, a[1])-a[0])
				until = math.Max(until, a[1])
				stalls++
				stalled += (stallLeast + rng.Float64()*(stallMost-stallLeast)) / 3 // it leads a third of the streams
			}
		}
	}
	seconds := years * float64(p.cells) * year * 3600
	return stalls / years, stalled / seconds, without / years
}
