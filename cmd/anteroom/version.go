package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/snapshot"

	"github.com/spf13/cobra"
)

func versionCommand(t *cli.Terminal) *cobra.Command {
	return &cobra.Command{
		Use: "version",
		RunE: func(*cobra.Command, []string) error {
			t.Printf("%s", thisProgram())
			return nil
		},
	}
}

type program struct {
	version, commit string // "" if it was built outside a repository
	modified        bool   // files differed from the commit
}

// Set by build/release.sh, instead of Go's own information about the repository.
var stampedVersion, stampedCommit, stampedModified string

func thisProgram() *program {
	p := &program{version: "unknown", commit: stampedCommit, modified: stampedModified == "true"}
	if stampedVersion != "" {
		p.version = stampedVersion
	} else if info, ok := debug.ReadBuildInfo(); ok {
		p.version = cmp.Or(info.Main.Version, p.version)
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				p.commit = setting.Value
			case "vcs.modified":
				p.modified = setting.Value == "true"
			}
		}
	}
	return p
}

func (p *program) String() string {
	line := "anteroom " + p.version
	if p.commit != "" {
		line += " " + p.commit
	}
	if p.modified {
		line += " modified"
	}
	return fmt.Sprintf("%s %s %s/%s %s", line, runtime.Version(), runtime.GOOS, runtime.GOARCH, snapshot.Format)
}
