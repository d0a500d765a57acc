package disk

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// LockHolders names the processes that have locked a byte from first to last of the file at path,
// such as "litestream (process 17)". It returns nil on other systems than Linux.
func LockHolders(path string, first, last int64) (holders []string) {
	info, err := os.Stat(path)
	locks, readErr := os.ReadFile("/proc/locks")
	if err != nil || readErr != nil {
		return nil
	}
	inode := fmt.Sprintf(":%d", info.Sys().(*syscall.Stat_t).Ino)
	for line := range strings.Lines(string(locks)) {
		// 1: POSIX  ADVISORY  READ 17 fe:01:1835013 123 123 (proc_locks(5))
		fields := strings.Fields(line)
		if len(fields) != 8 || !strings.HasSuffix(fields[5], inode) {
			continue
		}
		from, _ := strconv.ParseInt(fields[6], 10, 64)
		to, err := strconv.ParseInt(fields[7], 10, 64)
		if err == nil && to < first || from > last {
			continue // a lock to the end of the file has EOF there
		}
		holder := "process " + fields[4]
		name, _ := os.ReadFile("/proc/" + fields[4] + "/comm")
		if name := strings.TrimSpace(string(name)); name != "" {
			holder = fmt.Sprintf("%s (%s)", name, holder)
		}
		if !slices.Contains(holders, holder) {
			holders = append(holders, holder)
		}
	}
	return holders
}
