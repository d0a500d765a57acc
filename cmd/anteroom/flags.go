package main

import (
	"anteroom/cmd/anteroom/internal/server"

	"github.com/spf13/pflag"
)

// The folders and files that a command takes if no flag names others.
const (
	contentFolder = "content"
	publicFolder  = "public"
	snapshotFile  = "build/snapshot.txt"
	wranglerFile  = "wrangler.toml"
)

func contentFlag(flags *pflag.FlagSet, folder *string) {
	flags.StringVar(folder, "content", contentFolder, "the content `folder`")
}

func jsonFlag(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print one JSON object")
}

// generatedFlags name what anteroom generate has written.
func generatedFlags(flags *pflag.FlagSet, public, snapshot *string) {
	flags.StringVar(public, "public", publicFolder, "the `folder` of the documents")
	flags.StringVar(snapshot, "snapshot", snapshotFile, "the `file` of the snapshot that was generated with them")
}

// hostFlags say what a host on this machine serves, and where its mail goes.
func hostFlags(flags *pflag.FlagSet, o *server.Options) {
	generatedFlags(flags, &o.Public, &o.Snapshot)
	o.Receipt.AddFlag(flags)
	flags.BoolVar(&o.Unsigned, "unsigned", false, "use no receipt key: receipts are not signed, and say so")
	flags.StringVar(&o.Outbox, "outbox", "", "a `folder` for the mail to the operator, a Maildir (default mail in the data folder)")
	flags.StringVar(&o.SMTP, "smtp", "", "a mail server to send it by, as a `URL` without a password")
	flags.StringVar(&o.SMTPFile, "smtp-file", "", "a `file` that holds that URL in one line, with its password")
}
