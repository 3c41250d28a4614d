package picture

import (
	"bytes"
	"encoding/binary"
)

// orientation returns the EXIF orientation of a file, or 1 if it has none.
func orientation(format string, data []byte) int {
	switch format {
	case "jpeg":
		return tiffOrientation(jpegExif(data))
	case "png":
		return tiffOrientation(pngExif(data))
	case "webp":
		return tiffOrientation(webpExif(data))
	case "tiff":
		return tiffOrientation(data)
	}
	return 1
}

// exifHeader precedes the TIFF structure in JPEG files, and in WebP files of some writers.
var exifHeader = []byte("Exif\x00\x00")

// jpegExif returns the TIFF structure of the first EXIF segment before the pixels.
func jpegExif(data []byte) []byte {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker, length := data[at+1], int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xff { // padding
			at++
			continue
		}
		if marker == 0xda || length < 2 || at+2+length > len(data) {
			return nil
		}
		if segment := data[at+4 : at+2+length]; marker == 0xe1 && bytes.HasPrefix(segment, exifHeader) {
			return segment[len(exifHeader):]
		}
		at += 2 + length
	}
	return nil
}

func pngExif(data []byte) []byte {
	for at := 8; at+12 <= len(data); {
		length := binary.BigEndian.Uint32(data[at:])
		if uint64(length) > uint64(len(data)-at-12) {
			return nil
		}
		if string(data[at+4:at+8]) == "eXIf" {
			return data[at+8:][:length]
		}
		at += 12 + int(length)
	}
	return nil
}

func webpExif(data []byte) []byte {
	for id, body := range webpChunks(data) {
		if id == "EXIF" {
			return bytes.TrimPrefix(body, exifHeader)
		}
	}
	return nil
}

// tiffOrientation returns the orientation, or 1 if it is missing or invalid.
func tiffOrientation(data []byte) int {
	if v := readDirectory(data).first(tagOrientation, 1); v >= 1 && v <= 8 {
		return int(v)
	}
	return 1
}

// faxInverted reports whether a TIFF file has fax compression and inverted colours, which the decoder ignores.
func faxInverted(data []byte) bool {
	d := readDirectory(data)
	fax := d.first(tagCompression, 1)
	return fax >= 2 && fax <= 4 && d.first(tagPhotometric, 0) == tiffBlackIsZero
}
