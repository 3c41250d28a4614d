package picture

import (
	"bytes"
	"encoding/binary"
)

// orientation returns the EXIF orientation of a file, 1 if it has none.
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

// pngExif returns the content of the chunk eXIf.
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

// webpExif returns the content of the chunk EXIF.
func webpExif(data []byte) []byte {
	for at := 12; at+8 <= len(data); {
		length := binary.LittleEndian.Uint32(data[at+4:])
		if uint64(length) > uint64(len(data)-at-8) {
			return nil
		}
		if string(data[at:at+4]) == "EXIF" {
			return bytes.TrimPrefix(data[at+8:][:length], exifHeader)
		}
		at += 8 + int(length) + int(length&1)
	}
	return nil
}

// tiffOrientation returns tag 0x0112, 1 where there is none or it has no meaning.
func tiffOrientation(data []byte) int {
	if v := tiffTag(data, 0x0112); v >= 1 && v <= 8 {
		return v
	}
	return 1
}

// faxInverted reports a TIFF file with the compression of faxes whose black runs are white: the decoder takes all of them for black.
func faxInverted(data []byte) bool {
	const compression, photometric, blackIsZero = 0x0103, 0x0106, 1
	fax := tiffTag(data, compression)
	return fax >= 2 && fax <= 4 && tiffTag(data, photometric) == blackIsZero
}

// tiffTag returns a 16-bit number of the first directory, -1 where there is none.
func tiffTag(data []byte, tag uint16) int {
	if len(data) < 8 {
		return -1
	}
	order := binary.ByteOrder(binary.LittleEndian)
	switch string(data[:4]) {
	case "II*\x00":
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return -1
	}
	at := uint64(order.Uint32(data[4:]))
	if at+2 > uint64(len(data)) {
		return -1
	}
	entries := data[at+2:]
	for range order.Uint16(data[at:]) {
		if len(entries) < 12 {
			return -1
		}
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == 3 { // the type of 16 bits
			return int(order.Uint16(entries[8:]))
		}
		entries = entries[12:]
	}
	return -1
}
