package window

import (
	"encoding/base64"
	"encoding/binary"
)

// The functions of this file read image headers from base64.

// isBase64 reports whether s is padded standard base64.
func isBase64(s string) bool {
	if s == "" || len(s)%4 != 0 {
		return false
	}
	n := len(s)
	for n > len(s)-2 && s[n-1] == '=' {
		n--
	}
	for i := range n {
		if !base64Char[s[i]] {
			return false
		}
	}
	return true
}

var base64Char = func() (table [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		table[c] = true
	}
	return table
}()

// decodePrefix decodes at most the first n bytes of an image.
func decodePrefix(data string, n int) []byte {
	chars := min(len(data), (n+2)/3*4) &^ 3
	raw := make([]byte, base64.StdEncoding.DecodedLen(chars))
	got, _ := base64.StdEncoding.Decode(raw, []byte(data[:chars])) // decodes up to the first invalid character
	return raw[:min(got, n)]
}

// sniff returns the media type of an image according to its first bytes, or an empty string
// if unknown.
func sniff(data string) string {
	b := decodePrefix(data, 12)
	switch {
	case hasPrefix(b, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case hasPrefix(b, "\xff\xd8\xff"):
		return "image/jpeg"
	case hasPrefix(b, "GIF87a"), hasPrefix(b, "GIF89a"):
		return "image/gif"
	case len(b) >= 12 && hasPrefix(b, "RIFF") && hasPrefix(b[8:], "WEBP"):
		return "image/webp"
	}
	return ""
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// imageSize returns width and height in pixels, or zeros if they are not within the first
// 64 KB.
func imageSize(data string) (width, height int) {
	switch sniff(data) {
	case "image/png":
		if b := decodePrefix(data, 24); len(b) == 24 {
			return int(binary.BigEndian.Uint32(b[16:])), int(binary.BigEndian.Uint32(b[20:]))
		}
	case "image/gif":
		if b := decodePrefix(data, 10); len(b) == 10 {
			return int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
		}
	case "image/webp":
		return webpSize(decodePrefix(data, 30))
	case "image/jpeg":
		return jpegSize(decodePrefix(data, 64<<10))
	}
	return 0, 0
}

// webpSize reads the three WebP formats: lossy, lossless and extended.
func webpSize(b []byte) (width, height int) {
	if len(b) < 30 {
		return 0, 0
	}
	switch string(b[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(b[26:])) & 0x3fff, int(binary.LittleEndian.Uint16(b[28:])) & 0x3fff
	case "VP8L":
		bits := binary.LittleEndian.Uint32(b[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8X":
		return 1 + uint24(b[24:]), 1 + uint24(b[27:])
	}
	return 0, 0
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// jpegSize skips the segments of a JPEG up to its frame header.
func jpegSize(b []byte) (width, height int) {
	for i := 2; i+9 <= len(b) && b[i] == 0xff; {
		marker := b[i+1]
		switch {
		case marker == 0xff: // fill byte
			i++
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			return int(binary.BigEndian.Uint16(b[i+7:])), int(binary.BigEndian.Uint16(b[i+5:]))
		default:
			i += 2 + int(binary.BigEndian.Uint16(b[i+2:]))
		}
	}
	return 0, 0
}
