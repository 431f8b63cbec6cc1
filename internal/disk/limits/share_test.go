package limits

import (
	"fmt"
	"syscall"
	"testing"
)

// TestDivideFits checks that the assigned descriptors and the reserve fit into every limit
// from MinDescriptors up, and that more descriptors never give less.
func TestDivideFits(t *testing.T) {
	before := Share{}
	for limit := MinDescriptors; limit <= 1<<17; limit++ {
		s := Divide(limit)
		if s.Connections < 8 || s.Transcripts < 4 {
			t.Fatalf("%d descriptors: %+v is too little to work with", limit, s)
		}
		if used := reserve + 2*s.Connections + 2*s.Transcripts; used > limit {
			t.Fatalf("%d descriptors: %+v needs %d", limit, s, used)
		}
		if s.Connections < before.Connections || s.Transcripts < before.Transcripts {
			t.Fatalf("%d descriptors: %+v is less than %+v", limit, s, before)
		}
		before = s
	}
	for _, limit := range []int{-1, 0, 1, 16, 63} {
		if s := Divide(limit); s.Connections < 1 || s.Transcripts < 1 {
			t.Errorf("%d descriptors: %+v", limit, s)
		}
	}
}

func TestDescriptors(t *testing.T) {
	if n := Descriptors(); n < 1 || n > Unlimited {
		t.Errorf("the limit is %d", n)
	}
}

func TestIsShort(t *testing.T) {
	for err, want := range map[error]bool{
		nil: false, syscall.ENOENT: false, syscall.EMFILE: true, syscall.ENFILE: true,
		fmt.Errorf("open x: %w", syscall.EMFILE): true,
	} {
		if got := IsShort(err); got != want {
			t.Errorf("IsShort(%v) is %v", err, got)
		}
	}
}
