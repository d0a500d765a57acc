package deploy

import "path"

// Limits of assets, of the free plan: a file of more bytes, or more files, are refused.
const (
	mostAssets   = 20_000
	largestAsset = 25 << 20
)

// hashDigits is how many hexadecimal digits the API takes as the hash of an asset.
const hashDigits = 32

// newAsset makes an asset of a document. Its hash is also of what it is served as: assets are kept
// by their hashes together with their media types, and the same bytes may be published twice.
func newAsset(d Document) Asset {
	text := append([]byte(d.MediaType+"\n"+path.Ext(d.Path)+"\n"), d.Bytes...)
	return Asset{Path: d.Path, MediaType: d.MediaType, Size: len(d.Bytes), Hash: hexSum(text)[:hashDigits], Bytes: d.Bytes}
}
