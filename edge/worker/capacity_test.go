package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
)

// What one D1 database does, as the model of this file has it. The sizes are documented; the times
// of the network and of a transaction are assumed, and real ones vary.
const (
	d1Bytes      = 10_000_000_000 // of a database on the paid plan
	network      = 20.0           // milliseconds to D1 and back
	transaction  = 1.0            // milliseconds that D1 takes for one
	perStatement = 0.1            // milliseconds that D1 takes for each of its statements
	arrivals     = 30_000         // registrations in a simulation
)

// grouping are the numbers of store.mjs.
type grouping struct {
	least, shared float64 // calls that may always be under way, and statements in one
	remembered    float64 // milliseconds for which the quickest call counts
}

func readGrouping(tb testing.TB) grouping {
	tb.Helper()
	text, err := os.ReadFile("store.mjs")
	if err != nil {
		tb.Fatal(err)
	}
	number := func(name string) float64 {
		found := regexp.MustCompile(`\b` + name + ` = ([\d_]+)[,;]`).FindSubmatch(text)
		if found == nil {
			tb.Fatalf("store.mjs has no %s", name)
		}
		n, _ := strconv.ParseFloat(strings.ReplaceAll(string(found[1]), "_", ""), 64)
		return n
	}
	return grouping{number("LEAST"), math.Floor(number("FREE") / number("SHARE")), number("REMEMBERED")}
}

// isolate is what store.mjs keeps: who waits, since when, and how many calls may be under way.
type isolate struct {
	waiting                                  []float64
	underWay, limit, usual, quickest, expiry float64
}

// learn is learn of store.mjs.
func (i *isolate) learn(g grouping, now, began float64) {
	took := max(now-began, 1)
	if i.usual == 0 {
		i.usual = took
	}
	i.usual += (took - i.usual) / 8
	if now > i.expiry {
		i.limit = max(g.least, math.Floor(i.limit/2))
	}
	if now > i.expiry || took <= i.quickest {
		i.quickest, i.expiry = took, now+g.remembered
	}
	queued, many := i.limit*(1-i.quickest/i.usual), math.Log2(i.limit)
	if queued < many/2 && i.underWay >= i.limit {
		i.limit++
	}
	if queued > many && i.limit > g.least {
		i.limit--
	}
}

// outcome is what became of the registrations of a simulation.
type outcome struct {
	calls, busy, last float64
	took              []float64 // of those that were recorded, milliseconds, sorted
}

// simulate has registrations without an address arrive at random at a number of isolates, so many a
// second, which call one database as store.mjs does. Those that wait too long are refused.
func simulate(g grouping, rate float64, isolates int) (o outcome) {
	r := rand.New(rand.NewPCG(uint64(rate), uint64(isolates)))
	all := make([]isolate, isolates)
	for i := range all {
		all[i] = isolate{limit: g.least, quickest: math.Inf(1)}
	}
	var now, free float64 // free: when D1 has done all that it has
	type event struct {
		at float64
		do func()
	}
	var queue []event // the earliest first
	after := func(wait float64, do func()) {
		i, _ := slices.BinarySearchFunc(queue, now+wait, func(e event, at float64) int { return cmp.Compare(e.at, at) })
		queue = slices.Insert(queue, i, event{now + wait, do})
	}
	var call func(i *isolate)
	call = func(i *isolate) {
		i.waiting = slices.DeleteFunc(i.waiting, func(since float64) bool { return now-since > turn.ExecMillis })
		if i.underWay >= i.limit || len(i.waiting) == 0 {
			return
		}
		n := min(len(i.waiting), int(g.shared))
		jobs, began := slices.Clone(i.waiting[:n]), now
		i.waiting = i.waiting[n:]
		i.underWay++
		o.calls++
		after(network/2, func() {
			work := transaction + perStatement*float64(n)
			free = max(free, now) + work
			o.busy += work
			after(free-now+network/2, func() {
				i.learn(g, now, began)
				i.underWay--
				for _, since := range jobs {
					if now-since <= turn.ExecMillis {
						o.took = append(o.took, now-since)
					}
				}
				after(max(i.usual/8, 2)*r.Float64(), func() { call(i) }) // they look again by timers
			})
		})
	}
	var arrive func()
	left := arrivals
	arrive = func() {
		i := &all[r.IntN(isolates)]
		i.waiting = append(i.waiting, now)
		call(i)
		if left--; left > 0 {
			after(r.ExpFloat64()*1000/rate, arrive)
		}
	}
	after(0, arrive)
	for len(queue) > 0 {
		next := queue[0]
		queue, now = queue[1:], next.at
		next.do()
	}
	o.last = now
	slices.Sort(o.took)
	return o
}

func (o outcome) at(share float64) float64 { return o.took[int(share*float64(len(o.took)-1))] }

// loads are the cases of the table: registrations a second, and the isolates that they reach.
var loads = []struct {
	rate     float64
	isolates int
}{{1, 10}, {100, 100}, {1000, 10}, {1000, 100}, {1000, 1000}, {3000, 100}}

// rowBytes are the bytes that a registration takes, without and with an address: of 100,000 in the
// schema of both stores.
func rowBytes(t *testing.T) (bytes [2]float64) {
	const rows = 100_000
	for i, addresses := range []string{"", `
INSERT INTO contacts (record_id, address, created_at) SELECT record_id, 'owner-' || seq || '@example.org', recorded_at FROM registrations;
INSERT INTO outbox (record_id, kind, state, created_at, next_try_at, delivered_at) SELECT record_id, 'registration', 'delivered', 1795176000, 1795176000, 1795176060 FROM registrations;`} {
		s, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		size := func() float64 {
			read, err := s.Read(t.Context(), turn.Statement{SQL: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"})
			if err != nil {
				t.Fatal(err)
			}
			return float64(read[0][0][0].(int64))
		}
		empty := size()
		fill := fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256)
SELECT lower(hex(randomblob(16))), '2026-11-20T12:00:00Z', 'ledger-lark-' || i, 'MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=', lower(hex(randomblob(32))) FROM n;`, rows)
		for statement := range strings.SplitSeq(strings.TrimSuffix(fill+addresses, ";"), ";") {
			if _, err := s.Write(t.Context(), turn.Statement{SQL: statement}); err != nil {
				t.Fatal(err)
			}
		}
		bytes[i] = (size() - empty) / rows
	}
	return bytes
}

// TestCapacity holds the tables of OPERATIONS.md: how large a registration is, how long a database
// lasts, and what one takes.
func TestCapacity(t *testing.T) {
	text, err := os.ReadFile("../../OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	var sizes, times strings.Builder
	for i, bytes := range rowBytes(t) {
		bytes = math.Round(bytes/10) * 10 // as identifiers are random, so is the filling of pages
		rows := d1Bytes / bytes
		fmt.Fprintf(&sizes, "| %s | %.0f | %.0f million | %s | %s | %s |\n", []string{"without an address", "with one"}[i], bytes, rows/1e6,
			span(rows), span(rows/100), span(rows/1000))
	}
	for _, l := range loads {
		times.WriteString(simulate(readGrouping(t), l.rate, l.isolates).row(l.rate, l.isolates))
	}
	for _, table := range []string{sizes.String(), times.String()} {
		if !strings.Contains(string(text), table) {
			t.Errorf("OPERATIONS.md lacks\n%s", table)
		}
	}
}

// row is an outcome in the table of OPERATIONS.md.
func (o outcome) row(rate float64, isolates int) string {
	return fmt.Sprintf("| %.0f | %d | %.1f | %.0f %% | %.0f ms | %.0f ms | %.1f %% |\n", rate, isolates,
		float64(arrivals)/o.calls, 100*o.busy/o.last, o.at(0.5), o.at(0.99), 100*(1-float64(len(o.took))/arrivals))
}

// span is a time of so many seconds in words.
func span(seconds float64) string {
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"years", 365 * 86400}, {"months", 365 * 86400 / 12}, {"days", 86400}} {
		if seconds >= 2*unit.seconds {
			return strconv.FormatFloat(seconds/unit.seconds, 'g', 2, 64) + " " + unit.name
		}
	}
	return strconv.FormatFloat(seconds/3600, 'g', 2, 64) + " hours"
}

// BenchmarkCapacity is the simulation, with what TestCapacity makes tables of.
func BenchmarkCapacity(b *testing.B) {
	g := readGrouping(b)
	for _, l := range loads {
		b.Run(fmt.Sprintf("%.0f a second, %d isolates", l.rate, l.isolates), func(b *testing.B) {
			var o outcome
			for b.Loop() {
				o = simulate(g, l.rate, l.isolates)
			}
			b.ReportMetric(arrivals/o.calls, "registrations/call")
			b.ReportMetric(o.at(0.5), "ms-median")
			b.ReportMetric(o.at(0.99), "ms-99%")
		})
	}
}
