package model2vec

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Limits of a file of tensors. Those of published models are far below.
const (
	maxHeader  = 1 << 20
	maxTensors = 1000
	maxRows    = 1 << 24
	maxColumns = 1 << 14
)

// errTensors is the error of a file that is not in the format safetensors.
var errTensors = errors.New("not a safetensors file")

// tensor is the place and the shape of numbers in a file.
type tensor struct {
	DType   string    `json:"dtype"`
	Shape   []int64   `json:"shape"`
	Offsets *[2]int64 `json:"data_offsets"`

	// start is the offset in the file.
	start int64
}

// widths are the sizes in bytes of the types of numbers.
var widths = map[string]int64{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I8": 1, "I16": 2, "I32": 4, "I64": 8, "U8": 1, "U16": 2, "U32": 4, "U64": 8, "BOOL": 1}

// readTensors reads the header of a file of tensors: the length of the header, a JSON object
// with a member for each tensor, and then the numbers. size is that of the file.
func readTensors(r io.ReaderAt, size int64) (map[string]tensor, error) {
	var length [8]byte
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, fmt.Errorf("%w: it has %d bytes", errTensors, size)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("%w: its header would be %d bytes long", errTensors, n)
	}
	header := make([]byte, n)
	if _, err := r.ReadAt(header, 8); err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	all, end := make(map[string]tensor), 8+int64(n)
	err := eachMember(header, func(name string, value json.RawMessage) error {
		if name == "__metadata__" {
			return nil
		}
		var t tensor
		if err := json.Unmarshal(value, &t); err != nil {
			return fmt.Errorf("%w: tensor %.60q: %w", errTensors, name, err)
		}
		if len(all) == maxTensors {
			return fmt.Errorf("%w: it has more than %d tensors", errTensors, maxTensors)
		}
		t.start = 8 + int64(n)
		if err := t.place(size); err != nil {
			return fmt.Errorf("%w: tensor %.60q: %w", errTensors, name, err)
		}
		all[name], end = t, max(end, 8+int64(n)+t.Offsets[1])
		return nil
	})
	if err == nil && end != size {
		err = fmt.Errorf("%w: its header describes %d bytes, and it has %d", errTensors, end, size)
	}
	return all, err
}

// eachMember calls f with the members of a JSON object. It fails if a name occurs twice.
func eachMember(data []byte, f func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return errors.New("not a JSON object")
	}
	seen := make(map[string]bool)
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if seen[name] {
			return fmt.Errorf("the name %.60q occurs twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// place checks the offsets of a tensor against its shape and the size of the file, and makes
// start absolute.
func (t *tensor) place(size int64) error {
	width, ok := widths[t.DType]
	if !ok {
		return fmt.Errorf("unknown type %.20q", t.DType)
	}
	if t.Offsets == nil {
		return errors.New("it has no data_offsets")
	}
	n, err := t.count()
	if err != nil {
		return err
	}
	from, to := t.Offsets[0], t.Offsets[1]
	if from < 0 || to < from || to > size-t.start || to-from != n*width {
		return fmt.Errorf("bytes %d to %d do not hold %d numbers of type %s", from, to, n, t.DType)
	}
	t.start += from
	return nil
}

// count returns the number of numbers of a tensor.
func (t *tensor) count() (int64, error) {
	n := int64(1)
	for _, size := range t.Shape {
		if size >= 0 && size <= maxRows {
			n *= size
		}
		if size < 0 || size > maxRows || n > maxRows*maxColumns {
			return 0, fmt.Errorf("its shape %v is not possible", t.Shape[:min(len(t.Shape), 8)])
		}
	}
	return n, nil
}

// rows returns the number of rows and columns of a table of vectors.
func (t *tensor) rows() (rows, columns int, err error) {
	switch t.DType {
	case "F64", "F32", "F16", "BF16", "I8":
	default:
		return 0, 0, fmt.Errorf("vectors of type %s are not supported", t.DType)
	}
	if len(t.Shape) != 2 || t.Shape[0] < 1 || t.Shape[1] < 1 || t.Shape[1] > maxColumns {
		return 0, 0, fmt.Errorf("its shape %v is not that of a table of vectors", t.Shape[:min(len(t.Shape), 8)])
	}
	return int(t.Shape[0]), int(t.Shape[1]), nil
}

// readNumbers reads n numbers of a tensor from index first.
func (t *tensor) readNumbers(r io.ReaderAt, first, n int) ([]float64, error) {
	if n == 0 {
		return nil, nil
	}
	width := widths[t.DType]
	data := make([]byte, int64(n)*width)
	if _, err := r.ReadAt(data, t.start+int64(first)*width); err != nil {
		return nil, err
	}
	numbers := make([]float64, n)
	for i := range numbers {
		numbers[i] = number(t.DType, data[int64(i)*width:])
	}
	return numbers, nil
}

// number decodes the number at the beginning of data.
func number(dtype string, data []byte) float64 {
	switch dtype {
	case "F64":
		return math.Float64frombits(binary.LittleEndian.Uint64(data))
	case "F32":
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
	case "F16":
		return halfFloat(binary.LittleEndian.Uint16(data))
	case "BF16":
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(data)) << 16))
	case "I8":
		return float64(int8(data[0]))
	case "I32":
		return float64(int32(binary.LittleEndian.Uint32(data)))
	case "I64":
		return float64(int64(binary.LittleEndian.Uint64(data)))
	}
	return math.NaN()
}

// halfFloat decodes a number of 16 bits: a sign, an exponent of 5 bits, and a fraction of 10.
func halfFloat(b uint16) float64 {
	sign := 1.0
	if b>>15 == 1 {
		sign = -1
	}
	exponent, fraction := int(b>>10&0x1f), float64(b&0x3ff)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 0x1f:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
