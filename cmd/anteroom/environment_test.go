package main

import (
	"errors"
	"io"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"

	"github.com/spf13/pflag"
)

// A variable means one thing: flags of the same name that it sets are of one type and of one kind
// of value.
func TestVariablesMeanOneThing(t *testing.T) {
	type meaning struct{ value, kind, command string }
	meanings := map[string]meaning{}
	for cmd := range cli.Commands(rootCommand(cli.New(nil, io.Discard, io.Discard))) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := cli.Variable(f)
			if name == "" {
				return
			}
			value, _ := pflag.UnquoteUsage(f)
			now := meaning{value, f.Value.Type(), cmd.CommandPath()}
			before, known := meanings[name]
			if known && (before.value != now.value || before.kind != now.kind) {
				t.Errorf("%s is a %s (%s) to %s and a %s (%s) to %s: rename one flag, or list it as one of the command line alone",
					name, before.value, before.kind, before.command, now.value, now.kind, now.command)
			}
			meanings[name] = now
		})
	}
	if len(meanings) < 15 {
		t.Errorf("%d variables: are the flags found?", len(meanings))
	}
}

// A flag that a variable has set is told from one of the command line, which wins.
func TestOnCommandLine(t *testing.T) {
	t.Setenv("ANTEROOM_SMTP", "smtps://variable")
	t.Setenv("ANTEROOM_OUTBOX", "variable")
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	smtp, outbox := flags.String("smtp", "", ""), flags.String("outbox", "", "")
	flags.String("data", "", "")
	if err := errors.Join(flags.Parse([]string{"--outbox=flag"}), cli.FromEnvironment(flags), cli.FromEnvironment(flags)); err != nil {
		t.Fatal(err)
	}
	if *smtp != "smtps://variable" || *outbox != "flag" {
		t.Errorf("values %q, %q", *smtp, *outbox)
	}
	for name, want := range map[string]bool{"smtp": false, "outbox": true, "data": false} {
		if got := cli.OnCommandLine(flags, name); got != want {
			t.Errorf("--%s on the command line: %t", name, got)
		}
	}
}
