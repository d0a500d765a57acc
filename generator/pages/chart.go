package pages

import (
	"fmt"
	"strconv"
	"strings"
)

// series is one number on all boards, oldest first.
type series struct {
	Name   string
	Points []point
}

type point struct {
	Date string // 2026-11-20
	N    int
}

// In units of the viewBox.
const (
	chartWidth  = 280
	chartHeight = 60
	chartTop    = 8
	chartBottom = chartHeight - 4
)

// chartLine returns the path of a series: a number holds until the next board. Boards are equally
// far apart, as several may have one date.
func chartLine(points []point) string {
	most := 1
	for _, p := range points {
		most = max(most, p.N)
	}
	var path strings.Builder
	for i, p := range points {
		x := chartWidth * float64(i) / float64(max(1, len(points)-1))
		y := chartBottom - float64(chartBottom-chartTop)*float64(p.N)/float64(most)
		if i == 0 {
			fmt.Fprintf(&path, "M%s %s", tenth(x), tenth(y))
		} else {
			fmt.Fprintf(&path, "H%sV%s", tenth(x), tenth(y))
		}
	}
	return path.String()
}

func tenth(v float64) string { return strconv.FormatFloat(float64(int(v*10+0.5))/10, 'f', -1, 64) }

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// course returns the first and the last number of a series, with their dates.
func course(points []point) string {
	first, last := points[0], points[len(points)-1]
	return fmt.Sprintf("%s on %s to %s on %s", thousands(first.N), first.Date, thousands(last.N), last.Date)
}
