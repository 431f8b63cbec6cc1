// Command bench measures firn's performance in one run on one machine, and prints the
// relevant ratios next to their targets. Absolute times depend on the machine; ratios
// mostly do not.
//
// It writes its sessions to a directory below -dir and removes it afterwards, unless -keep
// is set.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	dir := flag.String("dir", os.TempDir(), "where to put the sessions")
	keep := flag.Bool("keep", false, "keep the sessions, in firn-bench below -dir, for the next run with -keep")
	only := flag.String("only", "", "run only the parts whose name contains this")
	big := flag.Int("big", 0, "also resume a session of so many gigabytes")
	sealed := flag.Int("sealed", 0, "also open some of so many sealed sessions on a server, as many as a million")
	check := flag.String("check", "", "hold a few figures against those in this file instead, and fail if one is more than a fifth worse")
	update := flag.Bool("update", false, "with -check: write the figures there")
	peers := flag.String("peers", "", "let firn's neighbours, which npm has installed in this directory, do the same work instead")
	large := flag.Int("large", 200, "with -peers: the size of the large session, in MB")
	many := flag.Int("many", 10_000, "with -peers: how many sessions are listed")
	tries := flag.Int("tries", 3, "with -peers: how often each does its work")
	recall := flag.String("recall", "", "measure the recall of search on the judged conversations in this file instead, with and without each part")
	learn := flag.Bool("learn", false, "with -recall: learn the weights of the parts")
	model := flag.String("model", "", "with -recall: also use the vectors of the Model2Vec model in this directory")
	quick := flag.Bool("quick", false, "with -recall: do not measure without each part")
	child := flag.String("child", "", "used by the program itself")
	flag.Parse()
	if *child != "" {
		if err := runChild(*child, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	b := &bench{big: *big, sealed: *sealed}
	do := func() error { return b.run(*dir, *only, *keep) }
	if *peers != "" {
		do = func() error {
			return b.inTemp(*dir, func() error { return b.peers(*peers, *large, *many, *tries) })
		}
	}
	if *recall != "" {
		do = func() error {
			return b.inTemp(*dir, func() error {
				return recallChats(context.Background(), os.Stdout, b.dir, chatOptions{path: *recall, model: *model, learn: *learn, quick: *quick})
			})
		}
	}
	if *check != "" {
		do = func() error {
			return b.inTemp(*dir, func() error { return b.check(*check, measures(), *update, os.Stdout) })
		}
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench runs the parts in order and collects their rows.
type bench struct {
	dir string
	big int
	// sealed is the number of sessions in the part "resting".
	sealed int
	rows   []row
}

// row is one figure of the report.
type row struct {
	what, got, target string
	met               bool
	hasTarget         bool
}

// inTemp calls fn with a temporary directory, which is removed afterwards.
func (b *bench) inTemp(dir string, fn func() error) error {
	temp, err := os.MkdirTemp(dir, "firn-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	b.dir = temp
	return fn()
}

func (b *bench) run(dir, only string, keep bool) error {
	b.dir = filepath.Join(dir, "firn-bench")
	if !keep {
		return b.inTemp(dir, func() error { return b.parts(only) })
	}
	return b.parts(only)
}

// parts runs the requested parts.
func (b *bench) parts(only string) error {
	parts := []struct {
		name string
		run  func() error
	}{
		{"decode", b.decode}, {"resume", b.resume}, {"append", b.append}, {"durable", b.durable}, {"list", b.list}, {"grep", b.grep}, {"turn", b.turn}, {"files", b.files}, {"gateway", b.gateway}, {"keys", b.keys}, {"cold", b.cold}, {"search", b.search}, {"convert", b.conversions}, {"adopt", b.mirrors}, {"recall", b.recall}, {"hook", b.hook}, {"cluster", b.cluster}, {"resting", b.resting}, {"scale", b.scale}, {"growth", func() error { return measureGrowth(b) }},
	}
	for _, part := range parts {
		if !strings.Contains(part.name, only) {
			continue
		}
		start := time.Now()
		fmt.Fprintf(os.Stderr, "%s ...", part.name)
		if err := part.run(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		fmt.Fprintf(os.Stderr, " %s\n", time.Since(start).Round(time.Millisecond))
	}
	b.print()
	return nil
}

// print prints the figures without a target, and then a table of those with one.
func (b *bench) print() {
	fmt.Println("figures")
	for _, r := range b.rows {
		if !r.hasTarget {
			fmt.Printf("     %-66s %24s\n", r.what, r.got)
		}
	}
	fmt.Printf("\n     %-66s %24s   %s\n", "targets", "result", "target")
	missed := 0
	for _, r := range b.rows {
		if !r.hasTarget {
			continue
		}
		mark := "ok  "
		if !r.met {
			mark = "MISS"
			missed++
		}
		fmt.Printf("%s %-66s %24s   %s\n", mark, r.what, r.got, r.target)
	}
	fmt.Printf("%d of %d figures with a target miss it\n", missed, b.targets())
}

func (b *bench) targets() int {
	n := 0
	for _, r := range b.rows {
		if r.hasTarget {
			n++
		}
	}
	return n
}

// note adds a figure without a target.
func (b *bench) note(what, got string) { b.rows = append(b.rows, row{what: what, got: got}) }

// want adds a figure with a target.
func (b *bench) want(what, got, target string, met bool) {
	b.rows = append(b.rows, row{what: what, got: got, target: target, met: met, hasTarget: true})
}

// home returns a directory for a part of the bench, and reports whether it is new.
func (b *bench) home(name string) (string, bool) {
	home := filepath.Join(b.dir, name)
	_, err := os.Stat(home)
	return home, err != nil
}

// median runs fn n times, after one warm-up, and returns the median duration.
func median(n int, fn func() error) (time.Duration, error) {
	times := make([]time.Duration, 0, n)
	for i := range n + 1 {
		start := time.Now()
		if err := fn(); err != nil {
			return 0, err
		}
		if i > 0 {
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	return times[n/2], nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func times(r float64) string { return fmt.Sprintf("%.2f ×", r) }

func perSecond(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }
