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

// isolate is what store.mjs keeps: who waits, since when, and how many calls may be under way.
type isolate struct {
	waiting                                  []float64
	underWay, limit, usual, quickest, expiry float64
}

// simulation has registrations without an address arrive at random at a number of isolates, so many
// a second, which call one database as store.mjs does. Those that wait too long are refused.
type simulation struct {
	rate               float64
	isolates           int
	least, shared, old float64 // LEAST, FREE / SHARE and REMEMBERED of store.mjs

	now, calls, busy float64
	took             []float64 // of those that were recorded, milliseconds, sorted
	queue            []event   // the earliest first
}

type event struct {
	at float64
	do func()
}

func (s *simulation) after(wait float64, do func()) {
	i, _ := slices.BinarySearchFunc(s.queue, s.now+wait, func(e event, at float64) int { return cmp.Compare(e.at, at) })
	s.queue = slices.Insert(s.queue, i, event{s.now + wait, do})
}

// learn is learn of store.mjs.
func (s *simulation) learn(i *isolate, began float64) {
	took := max(s.now-began, 1)
	if i.usual == 0 {
		i.usual = took
	}
	i.usual += (took - i.usual) / 8
	if s.now > i.expiry {
		i.limit = max(s.least, math.Floor(i.limit/2))
	}
	if s.now > i.expiry || took <= i.quickest {
		i.quickest, i.expiry = took, s.now+s.old
	}
	queued, many := i.limit*(1-i.quickest/i.usual), math.Log2(i.limit)
	if queued < many/2 && i.underWay >= i.limit {
		i.limit++
	}
	if queued > many && i.limit > s.least {
		i.limit--
	}
}

func (s *simulation) run() {
	r := rand.New(rand.NewPCG(uint64(s.rate), uint64(s.isolates)))
	all := make([]isolate, s.isolates)
	for i := range all {
		all[i] = isolate{limit: s.least, quickest: math.Inf(1)}
	}
	free := 0.0 // when D1 has done all that it has
	var call func(i *isolate)
	call = func(i *isolate) {
		i.waiting = slices.DeleteFunc(i.waiting, func(since float64) bool { return s.now-since > turn.ExecMillis })
		if i.underWay >= i.limit || len(i.waiting) == 0 {
			return
		}
		n := min(len(i.waiting), int(s.shared))
		jobs, began := slices.Clone(i.waiting[:n]), s.now
		i.waiting = i.waiting[n:]
		i.underWay++
		s.calls++
		s.after(network/2, func() {
			work := transaction + perStatement*float64(n)
			free = max(free, s.now) + work
			s.busy += work
			s.after(free-s.now+network/2, func() {
				s.learn(i, began)
				i.underWay--
				for _, since := range jobs {
					if s.now-since <= turn.ExecMillis {
						s.took = append(s.took, s.now-since)
					}
				}
				s.after(max(i.usual/8, 2)*r.Float64(), func() { call(i) }) // they look again by timers
			})
		})
	}
	left := arrivals
	var arrive func()
	arrive = func() {
		i := &all[r.IntN(s.isolates)]
		i.waiting = append(i.waiting, s.now)
		call(i)
		if left--; left > 0 {
			s.after(r.ExpFloat64()*1000/s.rate, arrive)
		}
	}
	s.after(0, arrive)
	for len(s.queue) > 0 {
		next := s.queue[0]
		s.queue, s.now = s.queue[1:], next.at
		next.do()
	}
	slices.Sort(s.took)
}

// rowBytes are the bytes that a registration takes, without and with an address: of 100,000 in the
// schema of both stores.
func rowBytes(b *testing.B) (bytes [2]float64) {
	const rows = 100_000
	fill := []string{fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) SELECT lower(hex(randomblob(16))), '2026-11-20T12:00:00Z',
		'ledger-lark-' || i, 'MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=', lower(hex(randomblob(32))) FROM n`, rows)}
	for i, addresses := range [][]string{nil, {
		"INSERT INTO contacts (record_id, address, created_at) SELECT record_id, 'owner-' || seq || '@example.org', recorded_at FROM registrations",
		"INSERT INTO outbox (record_id, kind, state, created_at, next_try_at, delivered_at) SELECT record_id, 'registration', 'delivered', 1795176000, 1795176000, 1795176060 FROM registrations",
	}} {
		s, err := sqlite.Create(filepath.Join(b.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		empty, _, _ := s.Room()
		for _, statement := range append(fill, addresses...) {
			if _, err := s.Write(b.Context(), turn.Statement{SQL: statement}); err != nil {
				b.Fatal(err)
			}
		}
		read, err := s.Read(b.Context(), turn.Statement{SQL: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"})
		if err != nil {
			b.Fatal(err)
		}
		bytes[i] = (float64(read[0][0][0].(int64)) - float64(empty)) / rows
	}
	return bytes
}

// BenchmarkCapacity makes the tables of OPERATIONS.md: how large a registration is, how long a
// database lasts, and what one takes.
func BenchmarkCapacity(b *testing.B) {
	operations, err := os.ReadFile("../../OPERATIONS.md")
	if err != nil {
		b.Fatal(err)
	}
	holds := func(table string) {
		b.Helper()
		if !strings.Contains(string(operations), table) {
			b.Errorf("OPERATIONS.md lacks\n%s", table)
		}
	}
	for i, bytes := range rowBytes(b) {
		bytes = math.Round(bytes/10) * 10 // as identifiers are random, so is the filling of pages
		rows := d1Bytes / bytes
		holds(fmt.Sprintf("| %s | %.0f | %.0f million | %s | %s | %s |\n", []string{"without an address", "with one"}[i], bytes, rows/1e6,
			span(rows), span(rows/100), span(rows/1000)))
	}
	script, err := os.ReadFile("store.mjs")
	if err != nil {
		b.Fatal(err)
	}
	number := func(name string) float64 {
		found := regexp.MustCompile(`\b` + name + ` = ([\d_]+)[,;]`).FindSubmatch(script)
		if found == nil {
			b.Fatalf("store.mjs has no %s", name)
		}
		n, _ := strconv.ParseFloat(strings.ReplaceAll(string(found[1]), "_", ""), 64)
		return n
	}
	for _, load := range []struct {
		rate     float64
		isolates int
	}{{1, 10}, {100, 100}, {1000, 10}, {1000, 100}, {1000, 1000}, {3000, 100}} {
		s := simulation{
			rate: load.rate, isolates: load.isolates, least: number("LEAST"), shared: math.Floor(number("FREE") / number("SHARE")), old: number("REMEMBERED"),
		}
		s.run()
		at := func(share float64) float64 { return s.took[int(share*float64(len(s.took)-1))] }
		holds(fmt.Sprintf("| %.0f | %d | %.1f | %.0f %% | %.0f ms | %.0f ms | %.1f %% |\n", s.rate, s.isolates,
			float64(arrivals)/s.calls, 100*s.busy/s.now, at(0.5), at(0.99), 100*(1-float64(len(s.took))/arrivals)))
	}
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
