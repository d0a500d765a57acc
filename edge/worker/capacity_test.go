package main

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
)

// rowBytes are the bytes that a registration takes, without and with an address: of 100,000 in the
// schema of both stores.
func rowBytes(b *testing.B) (bytes [2]float64) {
	const rows = 100_000
	fill := []string{fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO registrations (record_id, recorded_at, counted_by, agent_name, pubkey, payload_sha256) SELECT lower(hex(randomblob(16))), '2026-11-20T12:00:00Z', '2026-12-20',
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
			if _, err := s.Write(b.Context(), turn.SQL(statement)); err != nil {
				b.Fatal(err)
			}
		}
		read, err := s.Read(b.Context(), turn.SQL("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
		if err != nil {
			b.Fatal(err)
		}
		bytes[i] = (float64(read[0][0][0].(int64)) - float64(empty)) / rows
	}
	return bytes
}

// BenchmarkCapacity makes the table of ARCHITECTURE.md: how large a registration is, and how many a
// database of D1 takes.
func BenchmarkCapacity(b *testing.B) {
	const d1Bytes = 10_000_000_000 // on the paid plan
	architecture, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		b.Fatal(err)
	}
	for i, bytes := range rowBytes(b) {
		bytes = math.Round(bytes/10) * 10 // as identifiers are random, so is the filling of pages
		row := fmt.Sprintf("| %s | %.0f | %.0f million | ", []string{"without an address", "with one"}[i], bytes, d1Bytes/bytes/1e6)
		if !strings.Contains(string(architecture), row) {
			b.Errorf("ARCHITECTURE.md lacks\n%s", row)
		}
	}
}
