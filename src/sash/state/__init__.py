"""The state of a stream: rows, slices or prefixes, watermark, codec, fingerprint. README.md documents the byte layout."""
