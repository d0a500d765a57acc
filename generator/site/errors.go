package site

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"anteroom/edge/input"
)

type Error struct {
	File string // relative to the content folder; "." for the folder itself
	place
	What string
	Hint string
}

// place is a line and a column in characters, each from 1. The zero place is the whole file.
type place struct{ Line, Column int }

// String returns "file:line:column: what (hint)", without unknown parts.
func (f Error) String() string {
	text := f.File
	if f.Line > 0 {
		text += fmt.Sprintf(":%d:%d", f.Line, f.Column)
	}
	text += ": " + f.What
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

// Errors holds all faults of a content folder, by file and position. It is the error of Load,
// CheckLinks, CheckEndpoints and Site.Expand.
type Errors []Error

func (f Errors) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].String()
	}
	return strings.Join(lines, "\n")
}

func (f Errors) sort() {
	slices.SortStableFunc(f, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

func (f Errors) err() error {
	if len(f) == 0 {
		return nil
	}
	f.sort()
	return f
}

func placeOf(text []byte, offset int) place {
	before := text[:min(max(offset, 0), len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return place{bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1}
}

// closest finds the name that was meant as an input does.
func closest(name string, known []string) string {
	for edits := range input.Far {
		for _, k := range known {
			if edits < len(k) && input.Within(name, k, edits) {
				return k
			}
		}
	}
	return ""
}

func didYouMean(name string, known []string) string {
	if best := closest(name, known); best != "" {
		return "did you mean " + best + "?"
	}
	switch n := len(known); {
	case n == 0:
		return "remove it"
	case n > 100:
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}
