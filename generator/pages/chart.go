package pages

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// series is one number on all boards, oldest first.
type series struct {
	ID     string // of its elements
	Name   string
	Points []point
}

type point struct {
	Date string // 2026-11-20
	N    int
}

// In units of the viewBox.
const (
	chartWidth  = 360
	chartHeight = 96
	chartTop    = 10
	chartFoot   = 24 // below the line of zero, for dates
	chartEdge   = 8  // to the right of the newest point
	letterWidth = 7  // of a tick's label, at most
	mostDots    = 24 // more would run into each other
)

type chartLayout struct {
	Left, Right, Bottom float64
	Path                string // of the line: a number holds until the next board
	Dots                []dot
	Values              []tick // from zero upwards
	Dates               []tick
}

type dot struct{ X, Y float64 }

type tick struct {
	At     float64
	Label  string
	Anchor string
}

func layout(points []point) chartLayout {
	most := 0
	for _, p := range points {
		most = max(most, p.N)
	}
	top := niceAbove(most)
	l := chartLayout{
		Left:   float64(letterWidth*len(thousands(top)) + 8),
		Right:  chartWidth - chartEdge,
		Bottom: chartHeight - chartFoot,
	}
	first, last := day(points[0].Date), day(points[len(points)-1].Date)
	x := func(date string) float64 {
		if first == last {
			return (l.Left + l.Right) / 2
		}
		return tenth(l.Left + (l.Right-l.Left)*float64(day(date)-first)/float64(last-first))
	}
	y := func(n int) float64 { return tenth(l.Bottom - (l.Bottom-chartTop)*float64(n)/float64(top)) }
	var path strings.Builder
	for i, p := range points {
		at := dot{x(p.Date), y(p.N)}
		switch {
		case i == 0:
			fmt.Fprintf(&path, "M%s %s", number(at.X), number(at.Y))
		case p.N == points[i-1].N:
			fmt.Fprintf(&path, "H%s", number(at.X))
		default:
			fmt.Fprintf(&path, "H%sV%s", number(at.X), number(at.Y))
		}
		if len(points) <= mostDots {
			l.Dots = append(l.Dots, at)
		}
	}
	l.Path = path.String()
	l.Values = append(l.Values, tick{l.Bottom, "0", "end"})
	if top%2 == 0 {
		l.Values = append(l.Values, tick{y(top / 2), thousands(top / 2), "end"})
	}
	l.Values = append(l.Values, tick{y(top), thousands(top), "end"})
	if first == last {
		l.Dates = []tick{{x(points[0].Date), points[0].Date, "middle"}}
	} else {
		l.Dates = []tick{{l.Left, points[0].Date, "start"}, {l.Right, points[len(points)-1].Date, "end"}}
	}
	return l
}

// niceAbove returns the least of 1, 2, 4, 5, 10, 20, 40, 50 and so on that is at least n.
func niceAbove(n int) int {
	for scale := 1; ; scale *= 10 {
		for _, step := range []int{1, 2, 4, 5} {
			if step*scale >= n {
				return step * scale
			}
		}
	}
}

func day(date string) int {
	t, _ := time.Parse(time.DateOnly, date) // the loader has read the date
	return int(t.Unix() / (24 * 60 * 60))
}

func tenth(v float64) float64 { return float64(int(v*10+0.5)) / 10 }

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func newest(s series) point { return s.Points[len(s.Points)-1] }

func sentence(s series) string {
	first, last := s.Points[0], newest(s)
	if len(s.Points) == 1 {
		return fmt.Sprintf("One board: %s on %s.", thousands(last.N), last.Date)
	}
	return fmt.Sprintf("%d boards: from %s on %s to %s on %s.", len(s.Points), thousands(first.N),
		first.Date, thousands(last.N), last.Date)
}
