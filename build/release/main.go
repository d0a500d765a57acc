// Command release packs the programs of a release: release STAGE OUT VERSION TIME.
//
// STAGE holds programs/OS_ARCH/ with a program for each system, common/ with what every archive
// holds besides it, and modules, a list of modules and their folders. OUT gets an archive for each
// system, beside it what the program is made of (CycloneDX 1.6), and SHA256SUMS. An archive holds
// the licences of the modules that are in its program, as most of them demand. TIME is that of the
// commit, in seconds since 1970, and the time of everything inside. The same input gives the same
// bytes.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/worker/bundle"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: release STAGE OUT VERSION TIME")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(stage, out, version, seconds string) error {
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("TIME %q: %w", seconds, err)
	}
	at := time.Unix(unix, 0).UTC()
	common, err := readTree(filepath.Join(stage, "common"))
	if err != nil {
		return err
	}
	systems, err := os.ReadDir(filepath.Join(stage, "programs"))
	if err != nil {
		return err
	}
	folders, err := readModules(filepath.Join(stage, "modules"))
	if err != nil {
		return err
	}
	made := map[string][]byte{}
	for _, system := range systems {
		folder := filepath.Join(stage, "programs", system.Name())
		programs, err := readTree(folder)
		if err != nil {
			return err
		}
		name := "anteroom_" + version + "_" + system.Name()
		files := maps.Clone(common)
		for program, f := range programs {
			f.program = true
			files[program] = f
			info, err := buildinfo.ReadFile(filepath.Join(folder, program))
			if err != nil {
				return fmt.Errorf("read %s: %w", program, err)
			}
			if made[name+".cdx.json"], err = bill(info, version, at); err != nil {
				return fmt.Errorf("list what %s is made of: %w", program, err)
			}
			text, err := licences(info, folders)
			if err != nil {
				return fmt.Errorf("collect the licences of %s: %w", program, err)
			}
			files["LICENSES.txt"] = file{data: text}
		}
		pack, suffix := tarball, ".tar.gz"
		if strings.HasPrefix(system.Name(), "windows_") {
			pack, suffix = zipFile, ".zip"
		}
		if made[name+suffix], err = pack(name, files, at); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(made)) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(made[name]), name)
	}
	made["SHA256SUMS"] = []byte(sums.String())
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for name, data := range made {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// file is a file of an archive.
type file struct {
	data    []byte
	program bool // whether it can be run
}

// mode is the permission of a file. Those of the files it was made of depend on who made them.
func (f file) mode() fs.FileMode {
	if f.program {
		return 0o755
	}
	return 0o644
}

// readTree reads all files of a folder, by their paths in it.
func readTree(folder string) (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		files[name] = file{data: data}
		return err
	})
	return files, err
}

// tarball packs files into a folder of a tar archive.
func tarball(folder string, files map[string]file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		header := &tar.Header{
			Format: tar.FormatUSTAR, Name: path.Join(folder, name), Mode: int64(f.mode()), Size: int64(len(f.data)), ModTime: at,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), zipped.Close())
	return b.Bytes(), err
}

// zipFile packs files into a folder of a zip archive.
func zipFile(folder string, files map[string]file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		header := &zip.FileHeader{Name: path.Join(folder, name), Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode())
		entry, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// The names that the list of modules has for what is no module of the program itself.
const (
	standardLibrary = "std"
	edgeCompiler    = "tinygo" // its runtime is in edge.wasm
)

// readModules reads a list of modules, a line for each: its path, a space and its folder.
func readModules(name string) (map[string]string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(text)) {
		module, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		folders[module] = folder
	}
	return folders, nil
}

var (
	licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)
	readmeName  = regexp.MustCompile(`(?i)^readme(\..*)?$`) // a module may name its licence there alone
)

// licences are the licences of all that is in a program, one after the other. What has none is an
// error.
func licences(info *buildinfo.BuildInfo, folders map[string]string) ([]byte, error) {
	var b bytes.Buffer
	add := func(name, version string) error {
		entries, err := os.ReadDir(folders[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, wanted := range []*regexp.Regexp{licenceName, readmeName} {
			found := 0
			for _, entry := range entries {
				if entry.IsDir() || !wanted.MatchString(entry.Name()) {
					continue
				}
				text, err := os.ReadFile(filepath.Join(folders[name], entry.Name()))
				if err != nil {
					return err
				}
				found++
				fmt.Fprintf(&b, "==== %s %s: %s ====\n\n%s\n\n", name, version, entry.Name(), bytes.TrimSpace(text))
			}
			if found > 0 {
				return nil
			}
		}
		return fmt.Errorf("%s has no licence in %s", name, folders[name])
	}
	if err := add(standardLibrary, info.GoVersion); err != nil {
		return nil, err
	}
	if _, carried := bundle.Files(); carried {
		if err := add(edgeCompiler, strings.TrimPrefix(bundle.Toolchain(), edgeCompiler+" ")); err != nil {
			return nil, err
		}
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		if err := add(module.Path, module.Version); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// bill lists the modules that a program was built from, and the edge core in it, as a bill of
// materials. It has no serial number, which would be another each time.
func bill(info *buildinfo.BuildInfo, version string, at time.Time) ([]byte, error) {
	bom := cdx.NewBOM()
	self := cdx.Component{
		BOMRef: "anteroom", Type: cdx.ComponentTypeApplication, Name: info.Main.Path, Version: version,
		PackageURL: packageURL(info.Main.Path, version),
	}
	bom.Metadata = &cdx.Metadata{Timestamp: at.Format(time.RFC3339), Component: &self}
	components := []cdx.Component{{
		BOMRef: standardLibrary, Type: cdx.ComponentTypeLibrary, Name: standardLibrary, Version: info.GoVersion, PackageURL: packageURL(standardLibrary, strings.TrimPrefix(info.GoVersion, "go")),
	}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:"))
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("the module %s has the hash %q", module.Path, module.Sum)
		}
		url := packageURL(module.Path, module.Version)
		components = append(components, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: url,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}},
		})
	}
	if files, carried := bundle.Files(); carried {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			sum := sha256.Sum256(files[name])
			c := cdx.Component{
				BOMRef: name, Type: cdx.ComponentTypeFile, Name: name,
				Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
			}
			if path.Ext(name) == ".wasm" {
				c.Description = "compiled by " + bundle.Toolchain()
			}
			components = append(components, c)
		}
	}
	var below []string
	for _, c := range components {
		below = append(below, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &below}}
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// packageURL is the package URL of a Go module (purl, type golang). In a version + is written as
// %2B.
func packageURL(module, version string) string {
	return "pkg:golang/" + module + "@" + strings.ReplaceAll(version, "+", "%2B")
}
