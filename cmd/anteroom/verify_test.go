package main

import (
	"context"
	"log/slog"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"

	"github.com/rogpeppe/go-internal/testscript"
)

// sqlCommand FILE STATEMENT… runs statements of SQL on a database, which it makes if it is
// missing.
func sqlCommand(ts *testscript.TestScript, neg bool, args []string) {
	store, err := sqlite.Create(ts.MkAbs(args[0]), slog.New(slog.DiscardHandler))
	ts.Check(err)
	for _, statement := range args[1:] {
		_, err := store.Write(context.Background(), turn.Statement{SQL: statement})
		ts.Check(err)
	}
	ts.Check(store.Close())
}

// lockedContent FOLDER PROGRAM ARGUMENT… runs a program while another verification is under way.
func lockedContent(ts *testscript.TestScript, neg bool, args []string) {
	held, err := disk.LockFolder(ts.MkAbs(args[0]))
	ts.Check(err)
	defer held.Close()
	if err := ts.Exec(args[1], args[2:]...); (err != nil) != neg {
		ts.Fatalf("it ended with %v", err)
	}
}
