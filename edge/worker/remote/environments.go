package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"anteroom/edge/worker/cloudflare"

	"github.com/BurntSushi/toml"
)

// Environments gives the names of the environments of the wrangler.toml at path whose database was
// made: its id is no placeholder. They are sorted. Where there is no such file, there are none.
func Environments(path string) (names []string, err error) {
	var config struct {
		Environments map[string]wranglerEnvironment `toml:"env"`
	}
	if _, err := toml.DecodeFile(path, &config); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(config.Environments)) {
		for _, d := range config.Environments[name].Databases {
			if d.Binding == cloudflare.DatabaseBinding && d.ID != "" && !strings.HasPrefix(d.ID, cloudflare.PlaceholderID) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
