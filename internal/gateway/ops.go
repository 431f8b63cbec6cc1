package gateway

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"

	"firn.dev/wire"
)

// Ops tells how the gateway and what it keeps are doing, but for what only who
// serves it knows: whether it is ready, and how quick the disk is.
func (g *Gateway) Ops(ctx context.Context) (wire.Ops, error) {
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
	out.Verified = g.checks.state()
	out.Memory, out.Own, out.Files, out.Goroutines = memoryInUse(), memoryOfOurs(), openFiles(), runtime.NumGoroutine()
	if g.Peers != nil {
		roll, err := g.Peers.Roll(ctx)
		if err != nil { // when servers are down is when one wants to see the rest
			out.ClusterFault = err.Error()
		} else {
			out.Cluster = &roll
		}
	}
	return out, nil
}

// memoryInUse is what the process has of the system, in bytes; where the system does
// not tell, what firn itself holds.
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

// memoryOfOurs is what the runtime has of the system and did not give back, in bytes.
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

// openFiles is how many descriptors are open; zero where the system does not
// tell.
func openFiles() int {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		names = nil
	}
	dir.Close()                 // only read
	return max(len(names)-1, 0) // without the one that was opened to count them
}
