// Package migrations holds the database schema of both hosts: SQL files, applied once each in the
// order of their names. A published file is never changed.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
)

// Magic begins the file of every SQLite database (sqlite.org/fileformat2.html, section 1.3.1).
const Magic = "SQLite format 3\x00"

// Table has the names of the applied files. It is wrangler's table, so that "d1 migrations apply"
// and the native host agree.
const Table = "d1_migrations"

// CreateTable makes Table if it is missing.
const CreateTable = `CREATE TABLE IF NOT EXISTS ` + Table + ` (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`

// Files are the migrations.
//
//go:embed *.sql
var Files embed.FS

// Select returns the names of the applied files, one a row.
const Select = "SELECT name FROM " + Table

// Missing returns the names of the files that a store lacks, in order, from the rows of Select, or
// an error if a newer program has migrated the store.
func Missing(applied [][]any) (names []string, err error) {
	known := map[any]bool{}
	files, err := fs.Glob(Files, "*.sql") // sorted
	if err != nil {
		return nil, err
	}
	for _, row := range applied {
		known[row[0]] = true
	}
	for _, name := range files {
		if !known[name] {
			names = append(names, name)
		}
		delete(known, name)
	}
	for name := range known {
		return nil, fmt.Errorf("unknown migration %v (use the program that applied it, or a newer one)", name)
	}
	return names, nil
}
