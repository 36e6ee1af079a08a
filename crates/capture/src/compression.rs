//! Captures that are compressed with gzip or Zstandard, recognized by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Bytes read from the source at a time.
const BUFFER_BYTES: usize = 1 << 18;
/// Largest window of a Zstandard frame: what `zstd` writes without `--long`, and its memory here.
const ZSTD_WINDOW_BYTES_MAX: u64 = 8 << 20;

/// Returns the decompressed bytes of `source`, or the bytes themselves if they are not compressed.
pub fn decompressed<'a>(source: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut head = [0; 6];
    let mut source = BufReader::with_capacity(BUFFER_BYTES, source);
    let mut len = 0;
    while len < head.len() {
        match source.read(&mut head[len..]) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let head = head[..len].to_vec();
    let source = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head.clone()).chain(source));
    match head.as_slice() {
        [0x1F, 0x8B, ..] => Ok(Box::new(MultiGzDecoder::new(source))),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Ok(Box::new(ZstdFrames { source: Some(source), frame: None })),
        [0xFD, b'7', b'z', b'X', b'Z', 0] => Err(unsupported("xz", "xz -dc FILE")),
        [b'B', b'Z', b'h', ..] => Err(unsupported("bzip2", "bzip2 -dc FILE")),
        [0x04, 0x22, 0x4D, 0x18, ..] => Err(unsupported("lz4", "lz4 -dc FILE")),
        _ => Ok(Box::new(source)),
    }
}

fn unsupported(format: &str, tool: &str) -> io::Error {
    let why = format!("compressed with {format}; supported: gzip, zstd. Use: {tool} | wiremend capture … -");
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The frames of a Zstandard file, one behind the other.
struct ZstdFrames<R: BufRead> {
    /// The source between two frames.
    source: Option<R>,
    frame: Option<Box<StreamingDecoder<R, FrameDecoder>>>,
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                let count = frame.read(buffer)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
                self.source = self.frame.take().map(|frame| frame.into_inner());
            }
            let Some(source) = &mut self.source else { return Ok(0) };
            if source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            let source = self.source.take().expect("a source lies between two frames");
            self.frame = Some(Box::new(start_frame(source)?));
        }
    }
}

fn start_frame<R: BufRead>(source: R) -> io::Result<StreamingDecoder<R, FrameDecoder>> {
    StreamingDecoder::new_with_max_window_size(source, ZSTD_WINDOW_BYTES_MAX)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("zstd: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        decompressed(bytes)?.read_to_end(&mut all)?;
        Ok(all)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        flate2::read::GzEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut packed).unwrap();
        packed
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn both_formats_and_their_concatenations_decompress() {
        let (a, b) = (vec![7; 300_000], b"end".to_vec());
        let both = [a.clone(), b.clone()].concat();
        assert_eq!(read(&both).unwrap(), both);
        assert_eq!(read(&[gzip(&a), gzip(&b)].concat()).unwrap(), both);
        assert_eq!(read(&[zstd(&a), zstd(&b)].concat()).unwrap(), both);
        assert_eq!(read(&[]).unwrap(), b"");
    }

    #[test]
    fn damaged_and_other_compressions_are_refused() {
        let packed = gzip(&[1; 1000]);
        assert!(read(&packed[..packed.len() - 5]).is_err());
        let packed = zstd(&[1; 1000]);
        assert!(read(&packed[..packed.len() - 2]).is_err());
        let error = read(&[0xFD, b'7', b'z', b'X', b'Z', 0, 9]).unwrap_err().to_string();
        assert!(error.contains("xz -dc"), "{error}");
    }
}
