//go:build full

package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// litestream is the program that make gate builds from build/replica.
func litestream(t *testing.T) string {
	t.Helper()
	path, _ := filepath.Abs("../out/gate/litestream")
	if built := os.Getenv("ANTEROOM_LITESTREAM"); built != "" {
		path = built
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v (build/test.sh builds it)", err)
	}
	return path
}

// operate runs a command of the program, and gives its output.
func operate(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(program(), args...).Output()
	if err != nil {
		said := ""
		if exit, is := err.(*exec.ExitError); is {
			said = string(exit.Stderr)
		}
		t.Fatalf("anteroom %s: %v: %s%s", strings.Join(args, " "), err, out, said)
	}
	return string(out)
}

// write is a registration that was answered.
type written struct {
	id string
	at time.Time
}

// load registers agents by some callers at once until stop is closed. Every answer is a 200.
func load(t *testing.T, base string, stop chan struct{}) (answered func() []written) {
	t.Helper()
	// Together some 400 writes a second. Without a pause they are 3,000, and Litestream falls behind.
	const callers, pause = 8, 20 * time.Millisecond
	var all sync.WaitGroup
	var mu sync.Mutex
	var list []written
	for caller := range callers {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				body := fmt.Sprintf(`{"agent_name":"lark %d-%d","owner_email":"lark%d.%d@owl.example"}`, caller, n, caller, n)
				answer, err := http.Post(base+"/api/waitlist", "application/json", strings.NewReader(body))
				if err != nil {
					return // it was killed
				}
				var made struct {
					ID string `json:"record_id"`
				}
				err = json.NewDecoder(answer.Body).Decode(&made)
				answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					t.Errorf("a write is answered %d", answer.StatusCode)
					return
				}
				if err != nil {
					return
				}
				mu.Lock()
				list = append(list, written{made.ID, time.Now()})
				mu.Unlock()
				time.Sleep(pause)
			}
		})
	}
	return func() []written {
		all.Wait()
		return list
	}
}

// replicate begins Litestream with litestream.yml, and a folder as the replica.
func replicate(t *testing.T, dir, data, replica, socket string) *exec.Cmd {
	t.Helper()
	conf := text(t, "litestream.yml")
	conf = changed(t, conf[:strings.Index(conf, "      # Another machine")], "/run/anteroom-replica/litestream.sock", socket,
		"/var/lib/anteroom/anteroom.db", filepath.Join(data, "anteroom.db"))
	conf += "      type: file\n      path: " + replica + "\n"
	copier := exec.Command(litestream(t), "replicate", "-config", write(t, dir, "litestream.yml", conf))
	begin(t, copier).until(t, `(snapshot complete)`)
	return copier
}

// The disk dies under load: what Litestream has copied elsewhere becomes the store again, and takes
// writes. What was lost is printed.
func TestReplication(t *testing.T) {
	t.Parallel()
	const trials = 5
	worst, lost, total := time.Duration(0), 0, 0
	for range trials {
		dir := t.TempDir()
		data, replica, socket := filepath.Join(dir, "data"), filepath.Join(dir, "replica"), filepath.Join(dir, "socket")
		h := start(t, data, "ANTEROOM_WRITE_LIMIT=0", "ANTEROOM_REPLICA="+socket)
		copier := replicate(t, dir, data, replica, socket)

		stop := make(chan struct{})
		answered := load(t, "http://"+h.address, stop)
		time.Sleep(time.Second)
		operate(t, "backup", "--data", data, filepath.Join(dir, "copy.db"))
		if doctor, _ := exec.Command(program(), "doctor", "--data", data, "--replica", socket).CombinedOutput(); !strings.Contains(string(doctor), "ok      replica: Litestream has replicated") {
			t.Errorf("%s", doctor)
		}
		time.Sleep(500 * time.Millisecond)
		killed := time.Now()
		h.Process.Signal(syscall.SIGKILL)
		copier.Process.Signal(syscall.SIGKILL)
		close(stop)
		writes := answered()
		h.Wait()
		copier.Wait()
		if err := os.RemoveAll(data); err != nil {
			t.Fatal(err)
		}

		restored := filepath.Join(dir, "restored.db")
		if out, err := exec.Command(litestream(t), "restore", "-o", restored, "file://"+replica).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		operate(t, "restore", restored, "--data", data)
		there := operate(t, "records", "list", "registrations", "--json", "--data", data)
		total += len(writes)
		for _, w := range writes {
			if !strings.Contains(there, w.id) {
				lost++
				worst = max(worst, killed.Sub(w.at))
			}
		}
		again := start(t, data, "ANTEROOM_WRITE_LIMIT=0")
		register(t, http.DefaultClient, "http://"+again.address)
		again.Process.Signal(os.Interrupt)
		again.Wait()
	}
	t.Logf("of %d answered writes %d were lost, the oldest of them %v before the disk died", total, lost, worst.Round(time.Millisecond))
	if lost == total {
		t.Error("everything was lost")
	}
}
