package model2vec

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// withHeader returns a file with a header.
func withHeader(header string, data int) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), make([]byte, data)...)
}

// TestWrongTensors checks the errors of headers.
func TestWrongTensors(t *testing.T) {
	for header, want := range map[string]string{
		`[]`: "not a JSON object",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`: `"a" occurs twice`,
		`{"a":{"dtype":"F9","shape":[1],"data_offsets":[0,4]}}`:                                                       `unknown type "F9"`,
		`{"a":{"dtype":"F32","shape":[1]}}`:                                                                           "no data_offsets",
		`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`:                                                      "do not hold 2 numbers",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`:                                                     "bytes 8 to 12",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`:                                                     "bytes -4 to 0",
		`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`:                                  "not possible",
		`{"a":{"dtype":"I8","shape":[16777216,16777216,16777216],"data_offsets":[0,0]}}`:                              "not possible",
		`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`:                                                     "not possible",
		`{"a":{"dtype":"F32","shape":"x","data_offsets":[0,4]}}`:                                                      "cannot unmarshal",
		`{"a":`: "EOF",
		`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`: "its header describes 66 bytes, and it has 70",
		`{}`: "its header describes 10 bytes, and it has 18",
	} {
		file := withHeader(header, 8)
		if _, err := readTensors(bytes.NewReader(file), int64(len(file))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", header, err, want)
		}
	}
	for _, file := range [][]byte{nil, []byte("short"), binary.LittleEndian.AppendUint64(nil, math.MaxUint64), binary.LittleEndian.AppendUint64(nil, maxHeader+1), binary.LittleEndian.AppendUint64(nil, 100)} {
		if _, err := readTensors(bytes.NewReader(file), int64(len(file))); err == nil {
			t.Errorf("%q is accepted", file)
		}
	}
}

// TestHalfFloat checks numbers of 16 bits.
func TestHalfFloat(t *testing.T) {
	for b, want := range map[uint16]float64{0: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 0x7bff: 65504, 1: math.Ldexp(1, -24), 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1)} {
		if got := halfFloat(b); got != want {
			t.Errorf("%#x is %v, want %v", b, got, want)
		}
	}
	if !math.IsNaN(halfFloat(0x7e00)) {
		t.Error("0x7e00 is a number")
	}
}

// FuzzTensors checks that every tensor of an accepted header is inside the file.
func FuzzTensors(f *testing.F) {
	f.Add(withHeader(`{"__metadata__":{"a":"b"},"embeddings":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}`, 8))
	f.Add(withHeader(`{"weights":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"mapping":{"dtype":"I32","shape":[],"data_offsets":[4,8]}}`, 8))
	f.Add(withHeader(`{"a":{"dtype":"I8","shape":[0,9223372036854775807],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		var all map[string]tensor
		var err error
		wantAllocated(t, 1<<20+200*len(data), func() { all, err = readTensors(bytes.NewReader(data), int64(len(data))) })
		if err != nil {
			return
		}
		for name, one := range all {
			n, err := one.count()
			if err != nil {
				t.Fatal(err)
			}
			wantAllocated(t, 1<<20+16*len(data), func() {
				if _, err := one.readNumbers(bytes.NewReader(data), 0, int(n)); err != nil {
					t.Errorf("tensor %q of %d numbers: %v", name, n, err)
				}
			})
		}
	})
}
