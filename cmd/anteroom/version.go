package main

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/snapshot"
	"anteroom/edge/worker/bundle"

	"github.com/spf13/cobra"
)

func versionCommand(t *cli.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "version",
		RunE: func(*cobra.Command, []string) error {
			p := thisProgram()
			if files, carried := bundle.Files(); carried && t.JSON {
				p.Edge = &core{bundle.Toolchain(), fmt.Sprintf("%x", sha256.Sum256(files[bundle.Wasm]))}
			}
			return t.Answer(p, func() { t.Printf("%s", p) })
		},
	}
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}

// program identifies a build of this program.
type program struct {
	Version    string  `json:"version"`
	Commit     *string `json:"commit"`      // null if it was built outside a repository
	CommitTime *string `json:"commit_time"` // RFC 3339, UTC
	Modified   *bool   `json:"modified"`    // whether files differed from the commit
	Go         string  `json:"go"`
	OS         string  `json:"os"`
	Arch       string  `json:"arch"`
	Snapshot   string  `json:"snapshot_format"`
	Edge       *core   `json:"edge"` // null if the program carries none
}

// core is the edge core that a released program carries.
type core struct {
	Toolchain string `json:"toolchain"`
	SHA256    string `json:"sha256"`
}

// Set by build/release.sh, instead of Go's own information about the repository.
var stampedVersion, stampedCommit, stampedTime, stampedModified string

func thisProgram() *program {
	p := &program{
		Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Snapshot: snapshot.Format,
	}
	stamps := map[string]string{"vcs.revision": stampedCommit, "vcs.time": stampedTime, "vcs.modified": stampedModified}
	if stampedVersion != "" {
		p.Version = stampedVersion
	} else if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			p.Version = info.Main.Version
		}
		for _, setting := range info.Settings {
			stamps[setting.Key] = setting.Value
		}
	}
	p.Commit, p.CommitTime = orNull(stamps["vcs.revision"]), orNull(stamps["vcs.time"])
	if modified, err := strconv.ParseBool(stamps["vcs.modified"]); err == nil {
		p.Modified = &modified
	}
	return p
}

// String returns the identification in one line.
func (p *program) String() string {
	line := "anteroom " + p.Version
	if p.Commit != nil {
		line += " " + *p.Commit
	}
	if p.Modified != nil && *p.Modified {
		line += " modified"
	}
	return fmt.Sprintf("%s %s %s/%s %s", line, p.Go, p.OS, p.Arch, p.Snapshot)
}
