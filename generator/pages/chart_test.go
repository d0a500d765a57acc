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

func TestChart(t *testing.T) {
	many := make([]int, 100)
	for i := range many {
		many[i] = i * i * 1000
	}
	for name, c := range map[string]struct {
		points []point
		path   string // "" where it is too long
		dots   int
		values string
		dates  string
	}{
		"one board":             {boards(3), "M183.5 25.5", 1, "0 2 4", "2026-09-22"},
		"one board of zero":     {boards(0), "M183.5 72", 1, "0 1", "2026-09-22"},
		"two boards":            {boards(0, 5), "M15 72H352V10", 2, "0 5", "2026-09-22 2026-09-29"},
		"all zero":              {boards(0, 0, 0), "M15 72H183.5H352", 3, "0 1", "2026-09-22 2026-10-06"},
		"one that falls":        {boards(10, 10, 5), "M22 10H187H352V41", 3, "0 5 10", "2026-09-22 2026-10-06"},
		"two boards of one day": {[]point{{"2026-11-20", 0}, {"2026-11-20", 1}}, "M183.5 72H183.5V10", 2, "0 1", "2026-11-20"},
		"boards of some days":   {[]point{{"2026-11-19", 0}, {"2026-11-20", 0}, {"2026-11-20", 1}}, "M15 72H352H352V10", 3, "0 1", "2026-11-19 2026-11-20"},
		"a great number":        {boards(0, 123456), "M57 72H352V33.7", 2, "0 100,000 200,000", "2026-09-22 2026-09-29"},
		"a hundred boards":      {boards(many...), "", 0, "0 5,000,000 10,000,000", "2026-09-22 2028-08-15"},
		"a thousand millions":   {boards(1_000_000_000), "M225.5 10", 1, "0 500,000,000 1,000,000,000", "2026-09-22"},
	} {
		l := layout(c.points)
		if c.path != "" && l.Path != c.path {
			t.Errorf("%s: line %s, want %s", name, l.Path, c.path)
		}
		if len(l.Dots) != c.dots {
			t.Errorf("%s: %d dots, want %d", name, len(l.Dots), c.dots)
		}
		labels := func(ticks []tick) string {
			var all []string
			for _, tick := range ticks {
				all = append(all, tick.Label)
			}
			return strings.Join(all, " ")
		}
		if got := labels(l.Values); got != c.values {
			t.Errorf("%s: values %s, want %s", name, got, c.values)
		}
		if got := labels(l.Dates); got != c.dates {
			t.Errorf("%s: dates %s, want %s", name, got, c.dates)
		}
		for _, part := range regexp.MustCompile(`[MHV ]([^MHV ]+)`).FindAllStringSubmatch(l.Path, -1) {
			if v, err := strconv.ParseFloat(part[1], 64); err != nil || !(v >= 0 && v <= chartWidth) { // NaN is neither
				t.Errorf("%s: %s is in the line %s", name, part[1], l.Path)
			}
		}
		for _, v := range l.Values {
			if wide := l.Left - 6 - float64(len(v.Label)*letterWidth); wide < 0 || v.At < chartTop || v.At > l.Bottom {
				t.Errorf("%s: the label %s is outside", name, v.Label)
			}
		}
	}
}

func TestCharts(t *testing.T) {
	var b strings.Builder
	all := []series{{"chart-a", "Agents <verified>", boards(0, 1200)}, {"chart-b", "Charters", boards(7)}}
	if err := charts(all).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`role="img" aria-labelledby="chart-a-title chart-a-desc"`, `<title id="chart-a-title">Agents &lt;verified&gt;</title>`,
		`<desc id="chart-a-desc">2 boards: from 0 on 2026-09-22 to 1,200 on 2026-09-29.</desc>`, `<desc id="chart-b-desc">One board: 7 on 2026-09-22.</desc>`,
		`<strong>1,200</strong>`, `viewBox="0 0 360 96"`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %s:\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "<svg"); n != len(all) {
		t.Errorf("%d charts", n)
	}
}
