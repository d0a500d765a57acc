package pages

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// boards are points a week apart.
func boards(numbers ...int) (points []point) {
	from := time.Date(2026, 9, 22, 0, 0, 0, 0, time.UTC)
	for i, n := range numbers {
		points = append(points, point{from.AddDate(0, 0, 7*i).Format(time.DateOnly), n})
	}
	return points
}

func TestChartLine(t *testing.T) {
	many := make([]int, 100)
	for i := range many {
		many[i] = i * i * 1000
	}
	for name, c := range map[string]struct {
		points []point
		path   string // "" if it is too long
	}{
		"one board":             {boards(3), "M0 8"},
		"one board of zero":     {boards(0), "M0 56"},
		"two boards":            {boards(0, 5), "M0 56H280V8"},
		"all zero":              {boards(0, 0, 0), "M0 56H140V56H280V56"},
		"one that falls":        {boards(10, 10, 5), "M0 8H140V8H280V32"},
		"two boards of one day": {[]point{{"2026-11-20", 0}, {"2026-11-20", 1}}, "M0 56H280V8"},
		"boards of some days":   {[]point{{"2026-11-19", 0}, {"2026-11-20", 0}, {"2026-11-20", 1}}, "M0 56H140V56H280V8"},
		"a hundred boards":      {boards(many...), ""},
		"a thousand millions":   {boards(1_000_000_000), "M0 8"},
	} {
		got := chartLine(c.points)
		if c.path != "" && got != c.path {
			t.Errorf("%s: line %s, want %s", name, got, c.path)
		}
		for _, part := range regexp.MustCompile(`[MHV ]([^MHV ]+)`).FindAllStringSubmatch(got, -1) {
			if v, err := strconv.ParseFloat(part[1], 64); err != nil || !(v >= 0 && v <= chartWidth) { // NaN is neither
				t.Errorf("%s: %s is in the line %s", name, part[1], got)
			}
		}
	}
}

func TestCharts(t *testing.T) {
	var b strings.Builder
	if err := charts([]series{{"Agents <verified>", boards(0, 1200)}, {"Charters", boards(7)}}).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`role="img" aria-label="Agents &lt;verified&gt; on 2 boards: from 0 on 2026-09-22 to 1,200 on 2026-09-29."`,
		`<span class="quiet">0 to 1,200</span>`, `viewBox="0 0 280 60"`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %s:\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "<svg"); n != 2 {
		t.Errorf("%d charts", n)
	}
}
