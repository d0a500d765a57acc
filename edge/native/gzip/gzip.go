// Package gzip compresses answers for callers that accept gzip (RFC 9110, section 8.4).
//
// The gzip form of an answer has an entity tag of its own, as strong tags must differ where the
// bytes do (section 8.8.3).
package gzip

import (
	"bytes"
	"compress/gzip"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// MinSize is how many bytes an answer has at least that is worth compressing: a shorter one fits
// into one packet either way.
const MinSize = 1<<10 + 1

// Name is the name of the coding in header fields.
const Name = "gzip"

// writers compress at the fastest level. Answers of some kilobytes are then a twentieth larger than
// at the default level, in half the time.
var writers = sync.Pool{New: func() any { return newWriter(gzip.BestSpeed) }}

func newWriter(level int) *gzip.Writer {
	w, err := gzip.NewWriterLevel(nil, level)
	if err != nil {
		panic(err) // the level is a constant of the package
	}
	return w
}

// Compress gives the gzip form of an answer.
func Compress(body []byte) []byte {
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	return compress(w, body)
}

// CompressBest gives the smallest gzip form of what is sent often.
func CompressBest(body []byte) []byte { return compress(newWriter(gzip.BestCompression), body) }

func compress(w *gzip.Writer, body []byte) []byte {
	b := bytes.NewBuffer(make([]byte, 0, len(body)/2))
	w.Reset(b)
	w.Write(body) // into memory: neither fails
	w.Close()
	return b.Bytes()
}

// weights matches the parameter of an element with a weight.
var weights = regexp.MustCompile(`^[ \t]*[Qq]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)[ \t]*$`)

// Accepted reports whether the lines of an Accept-Encoding field prefer gzip to what is not
// compressed (RFC 9110, section 12.5.3). An element with a faulty weight counts for nothing.
func Accepted(lines []string) bool {
	const unnamed = -1.0
	zipped, plain, other := unnamed, unnamed, unnamed
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			name, parameters, has := strings.Cut(item, ";")
			weight := 1.0
			if has {
				match := weights.FindStringSubmatch(parameters)
				if match == nil {
					continue
				}
				weight, _ = strconv.ParseFloat(match[1], 64)
			}
			switch strings.ToLower(strings.Trim(name, " \t")) {
			case Name, "x-gzip": // the same by section 8.4.1.3
				zipped = max(zipped, weight)
			case "identity":
				plain = weight
			case "*":
				other = weight
			}
		}
	}
	if zipped == unnamed {
		zipped = other
	}
	return zipped > 0 && zipped >= plain
}

const mark = "-" + Name + `"` // how a tag of a gzip form ends

// Tag gives the entity tag of the gzip form of what has the given tag.
func Tag(etag string) string { return strings.TrimSuffix(etag, `"`) + mark }

// Untagged gives an If-None-Match field in which the tags of gzip forms are those of what was
// compressed.
func Untagged(field string) string { return strings.ReplaceAll(field, mark, `"`) }
