"""The state of a stream: rows or slices, watermark, codec, fingerprint. README.md documents the byte layout."""
