package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
)

// Limits of assets, of the free plan: a file of more bytes, or more files, are refused.
const (
	mostAssets   = 20_000
	largestAsset = 25 << 20
)

// hashDigits is how many hexadecimal digits the API takes as the hash of an asset.
const hashDigits = 32

// newAsset makes an asset of a document. Its hash is also of what it is served as: assets are kept
// by their hashes together with their media types, and the same bytes may be published twice. An
// asset does not hold the bytes of a document that is made.
func newAsset(d *Document) Asset {
	text, hash := d.Content(), sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n%s", d.MediaType, path.Ext(d.Path), text)
	return Asset{
		Path: d.Path, MediaType: d.MediaType, Size: len(text), Hash: hex.EncodeToString(hash.Sum(nil))[:hashDigits], document: d, sum: hexSum(text),
	}
}
