// Command names takes the names of functions out of a WebAssembly module: names FILE. It writes the
// module back without its name section, which a module does not need to run. For each function it
// prints a line: the function's index, a space and its name. So "wasm-function[N]" in a log is the
// function on the line that begins with N.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: names FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "names:", err)
		os.Exit(1)
	}
}

func run(file string, out io.Writer) error {
	module, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rest, names, err := splitNames(module)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	w := bufio.NewWriter(out)
	for _, f := range names {
		fmt.Fprintln(w, f.index, f.name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return os.WriteFile(file, rest, 0o666)
}

// function is a function of a module and its name.
type function struct {
	index uint64
	name  string
}

// The parts of a module that are looked at (WebAssembly Core Specification 2.0, sections 5.5.3 and
// 7.4.1).
const (
	header        = "\x00asm\x01\x00\x00\x00"
	customSection = 0
	nameSection   = "name"
	functionNames = 1 // the subsection of function names
)

var errTruncated = errors.New("not a WebAssembly module, or cut off")

// splitNames separates a module from its name section. The names are in the order of the section.
func splitNames(module []byte) (rest []byte, names []function, err error) {
	if len(module) < len(header) || string(module[:len(header)]) != header {
		return nil, nil, errTruncated
	}
	rest = append(rest, header...)
	for at := module[len(header):]; len(at) > 0; {
		whole := at
		id := at[0]
		body, next, err := takeBytes(at[1:])
		if err != nil {
			return nil, nil, err
		}
		at = next
		if id == customSection {
			name, contents, err := takeBytes(body)
			if err != nil {
				return nil, nil, err
			}
			if string(name) == nameSection {
				if names, err = functionNamesIn(contents); err != nil {
					return nil, nil, err
				}
				continue
			}
		}
		rest = append(rest, whole[:len(whole)-len(next)]...)
	}
	return rest, names, nil
}

// functionNamesIn reads the names of functions in a name section.
func functionNamesIn(section []byte) (names []function, err error) {
	for len(section) > 0 {
		id := section[0]
		body, next, err := takeBytes(section[1:])
		if err != nil {
			return nil, err
		}
		section = next
		if id != functionNames {
			continue
		}
		count, body, err := takeNumber(body)
		if err != nil {
			return nil, err
		}
		for range count {
			var f function
			if f.index, body, err = takeNumber(body); err != nil {
				return nil, err
			}
			var name []byte
			if name, body, err = takeBytes(body); err != nil {
				return nil, err
			}
			f.name = string(name)
			names = append(names, f)
		}
	}
	return names, nil
}

// takeBytes takes a length, and as many bytes, from the beginning of b.
func takeBytes(b []byte) (item, rest []byte, err error) {
	n, rest, err := takeNumber(b)
	if err != nil || n > uint64(len(rest)) {
		return nil, nil, errTruncated
	}
	return rest[:n], rest[n:], nil
}

// takeNumber takes an unsigned LEB128 number from the beginning of b.
func takeNumber(b []byte) (n uint64, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, errTruncated
	}
	return n, b[size:], nil
}
