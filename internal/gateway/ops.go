package gateway

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"

	"firn.dev/wire"
)

// Ops returns the state of the gateway and its storage, except readiness and disk latency,
// which the server adds.
func (g *sessionReader) Ops(ctx context.Context) (wire.Ops, error) {
	var out wire.Ops
	var err error
	if out.Status, err = g.Status(ctx); err != nil {
		return out, err
	}
	if g.Keeping != nil {
		if out.Storage, err = g.Keeping(ctx); err != nil {
			return out, err
		}
	}
	counted, _, err := g.counted(ctx)
	if err != nil {
		return out, err
	}
	for _, n := range counted {
		out.Storage.Sessions += n.bytes
	}
	if out.Index, err = g.IndexState(ctx); err != nil && wire.KindOf(err) != wire.Unsupported {
		return out, err
	}
	out.Verified = g.maintainer.verified()
	out.Memory, out.Own, out.Files, out.Goroutines = memoryInUse(), memoryOfOurs(), openFiles(), runtime.NumGoroutine()
	if g.Peers != nil {
		roll, err := g.Peers.Roll(ctx)
		if err != nil { // an outage must not hide the other figures
			out.ClusterFault = err.Error()
		} else {
			out.Cluster = &roll
		}
	}
	return out, nil
}

// memoryInUse returns the resident memory of the process in bytes, or the memory of the Go
// runtime where the system does not report it.
func memoryInUse() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return memoryOfOurs()
	}
	var size, resident int64 // in pages
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return memoryOfOurs()
	}
	return resident * int64(os.Getpagesize())
}

// memoryOfOurs returns the memory that the Go runtime holds, in bytes.
func memoryOfOurs() int64 {
	both := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(both)
	for _, one := range both {
		if one.Value.Kind() != metrics.KindUint64 {
			return 0
		}
	}
	return int64(both[0].Value.Uint64() - both[1].Value.Uint64())
}

// openFiles returns the number of open file descriptors; zero where the system does not
// report it.
func openFiles() int {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		names = nil
	}
	dir.Close()                 // opened for reading only
	return max(len(names)-1, 0) // without the descriptor used for counting
}
