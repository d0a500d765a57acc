package main

import (
	"fmt"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native/disk"

	"github.com/spf13/pflag"
)

// The folders and files that a command takes if no flag names others.
const (
	contentFolder = "content"
	publicFolder  = "public"
	snapshotFile  = "build/snapshot.txt"
	wranglerFile  = "wrangler.toml"
)

// defaultAddress is where serve listens if no flag says.
const defaultAddress = "127.0.0.1:8080"

func contentFlag(flags *pflag.FlagSet, folder *string) {
	flags.StringVar(folder, "content", contentFolder, "the content `folder`")
}

func jsonFlag(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print one JSON object")
}

// orNull is a text in JSON: null instead of "".
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func generatedFlags(flags *pflag.FlagSet, public, snapshot *string) {
	flags.StringVar(public, "public", publicFolder, "the `folder` of the documents")
	flags.StringVar(snapshot, "snapshot", snapshotFile, "the `file` of the snapshot that was generated with them")
}

func wranglerFlags(flags *pflag.FlagSet, environment, wrangler *string) {
	flags.StringVar(environment, "env", cloudflare.Production, "the `environment` of wrangler.toml")
	flags.StringVar(wrangler, "wrangler", wranglerFile, "the `file` that says what the service is called on Cloudflare")
}

func refusePublic(what, place string, published ...string) error {
	for _, folder := range published {
		if disk.Inside(folder, place) {
			return cli.Usage(fmt.Errorf("%s %s is inside %s, where everybody could read it", what, place, folder))
		}
	}
	return nil
}

func hostFlags(flags *pflag.FlagSet, o *server.Options) {
	generatedFlags(flags, &o.Public, &o.Snapshot)
	o.Receipt.AddFlag(flags)
	flags.BoolVar(&o.Unsigned, "unsigned", false, "use no receipt key: receipts are not signed, and say so")
	flags.StringVar(&o.Outbox, "outbox", "", "a `folder` for the mail to the operator, a Maildir (default mail in the data folder)")
	flags.StringVar(&o.SMTP, "smtp", "", "a mail server to send it by, as a `URL` without a password")
	flags.StringVar(&o.SMTPFile, "smtp-file", "", "a `file` that holds that URL in one line, with its password")
}
