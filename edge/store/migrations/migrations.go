// Package migrations holds the database schema, for both hosts: SQL files, applied once each in the
// order of their names. A published file is never changed; a new one is added.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
)

// Table keeps the names of the applied files. It is the table of wrangler, so that its
// "d1 migrations apply" and the native host agree on what is applied.
const Table = "d1_migrations"

// CreateTable makes that table where it is not there yet.
const CreateTable = `CREATE TABLE IF NOT EXISTS ` + Table + ` (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
)`

// Files are the migrations.
//
//go:embed *.sql
var Files embed.FS

// Select gives the names of the applied files, one a row.
const Select = "SELECT name FROM " + Table

// Missing gives the names of the files that a store lacks, in their order, from the rows of Select.
// It returns an error where the store has one that this program does not know.
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
		return nil, fmt.Errorf("it has migration %v, which this program does not know (use the program that wrote it, or a newer one)", name)
	}
	return names, nil
}
