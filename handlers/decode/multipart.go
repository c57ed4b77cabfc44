package decode

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"
)

// maxPartHeader bounds the header of one part, in bytes. Browsers send one or
// two short lines.
const maxPartHeader = 8 << 10

// decodeMultipart takes the fields of multipart/form-data (RFC 7578). Files are
// refused. Names are taken literally: browsers write a quote as %22, but so
// would a name that holds %22, and two names must not become one.
func decodeMultipart(c *collector, body []byte, boundary string) error {
	if boundary == "" {
		return malformed("The Content-Type of the form has no boundary; please let the browser or the HTTP library set it.")
	}
	// Text before the first boundary or after the last would be skipped in
	// silence by the reader, and without the last one the body was cut off.
	delimiter, last := []byte("--"+boundary), []byte("--"+boundary+"--")
	trimmed := bytes.Trim(body, "\r\n")
	if !bytes.HasPrefix(trimmed, delimiter) || bytes.Index(trimmed, last) != len(trimmed)-len(last) {
		return malformed("The form data is cut off or does not match its boundary; please send it again.")
	}
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		// Raw, because NextPart would decode quoted-printable on the way.
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return malformed("The form data is malformed; please send it again.")
		}
		if err := addPart(c, part); err != nil {
			return err
		}
	}
}

func addPart(c *collector, part *multipart.Part) error {
	disposition, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name, named := params["name"]
	if err != nil || disposition != "form-data" || !named {
		return malformed("A part of the form data has no field name; please send fields only.")
	}
	if err := checkPart(part, name); err != nil {
		return err
	}
	value, err := io.ReadAll(part)
	if err != nil {
		return malformed("The form data is cut off in the field %s; please send it again.", shown(name))
	}
	if file, isFile := params["filename"]; isFile {
		// A file input that was left empty is sent as an unnamed, empty file.
		if file == "" && len(value) == 0 {
			return nil
		}
		return malformed("Files are not taken, and the field %s holds one; please send the enquiry without it.", shown(name))
	}
	return c.add(name, string(value))
}

// checkPart refuses headers that would change what the bytes mean.
func checkPart(part *multipart.Part, name string) error {
	size := 0
	for key, values := range part.Header {
		size += len(key) + len(strings.Join(values, ""))
	}
	if size > maxPartHeader || len(part.Header["Content-Disposition"]) > 1 {
		return malformed("The header of the field %s is too long or repeated; please send fields only.", shown(name))
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "7bit", "8bit", "binary":
	default:
		return malformed("The field %s has a transfer encoding; please send its text as it is.", shown(name))
	}
	return checkPartType(part.Header.Get("Content-Type"), name)
}

func checkPartType(contentType, name string) error {
	if contentType == "" {
		return nil
	}
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return malformed("The field %s has a malformed Content-Type; please send it without one.", shown(name))
	}
	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "us-ascii":
		return nil
	}
	return malformed("The field %s is not UTF-8; please send it as UTF-8.", shown(name))
}
