// Package migrations holds the database schema, for both hosts: SQL files, applied once each in the
// order of their names. A published file is never changed; a new one is added.
package migrations

import "embed"

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
