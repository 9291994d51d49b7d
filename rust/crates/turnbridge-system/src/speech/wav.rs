//! Parses WAV files and joins them to one. It supports only the format of the engines: uncompressed
//! samples.

use anyhow::{Context, Result, ensure};

#[derive(Debug, PartialEq)]
pub struct Wav {
    /// The first 16 bytes of the `fmt ` chunk, which fully describe plain samples.
    format: [u8; 16],
    samples: Vec<u8>,
}

impl Wav {
    pub fn parse(bytes: &[u8]) -> Result<Wav> {
        ensure!(bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE"), "no WAV file");
        let mut format = None;
        let mut rest = &bytes[12..];
        while let Some((header, body)) = rest.split_first_chunk::<8>() {
            let [a, b, c, d] = [header[4], header[5], header[6], header[7]];
            // In a pipe, a chunk may claim to be longer than it is.
            let length = usize::try_from(u32::from_le_bytes([a, b, c, d]))?.min(body.len());
            match &header[..4] {
                b"fmt " => format = body[..length].first_chunk::<16>().copied(),
                b"data" => {
                    let format = format.context("a WAV file without a format")?;
                    return Ok(Wav { format, samples: body[..length].to_vec() });
                }
                _ => {}
            }
            // Chunks begin at even places.
            rest = &body[(length + length % 2).min(body.len())..];
        }
        anyhow::bail!("a WAV file without samples")
    }

    pub fn append(&mut self, next: &Wav) -> Result<()> {
        ensure!(self.format == next.format, "the voices differ in their sample format");
        self.samples.extend_from_slice(&next.samples);
        Ok(())
    }

    pub fn seconds(&self) -> f64 {
        let [_, _, _, _, _, _, _, _, a, b, c, d, ..] = self.format;
        let bytes_per_second = u32::from_le_bytes([a, b, c, d]).max(1);
        self.samples.len() as f64 / f64::from(bytes_per_second)
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let length =
            u32::try_from(self.samples.len()).ok().filter(|length| *length < u32::MAX - 64);
        let length = length.context("the sound is longer than a WAV file can be")?;
        let padding = length % 2;
        let mut bytes = Vec::with_capacity(self.samples.len() + 45);
        bytes.extend_from_slice(b"RIFF");
        bytes.extend_from_slice(&(36 + length + padding).to_le_bytes());
        bytes.extend_from_slice(b"WAVEfmt ");
        bytes.extend_from_slice(&16_u32.to_le_bytes());
        bytes.extend_from_slice(&self.format);
        bytes.extend_from_slice(b"data");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&self.samples);
        bytes.resize(bytes.len() + usize::from(padding == 1), 0);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: [u8; 16] = [1, 0, 1, 0, 0x22, 0x56, 0, 0, 0x44, 0xac, 0, 0, 2, 0, 16, 0];

    #[test]
    fn what_is_written_is_read_again() {
        let mut wav = Wav { format: FORMAT, samples: vec![1, 2, 3, 4] };
        wav.append(&Wav { format: FORMAT, samples: vec![5, 6] }).unwrap();
        let bytes = wav.to_bytes().unwrap();
        assert_eq!(bytes.len(), 44 + 6);
        assert_eq!(bytes[4..8], 42_u32.to_le_bytes());
        assert_eq!(Wav::parse(&bytes).unwrap(), wav);
        assert_eq!(Wav { format: FORMAT, samples: vec![0; 22_050] }.seconds(), 0.5);
    }

    #[test]
    fn other_chunks_and_unknown_lengths_are_read() {
        let mut bytes = b"RIFF\xff\xff\xff\xffWAVEfmt \x12\0\0\0".to_vec();
        bytes.extend_from_slice(&FORMAT);
        bytes.extend_from_slice(b"\0\0FLLR\x03\0\0\0xyz\0data\xff\xff\xff\x7f\x01\x02");
        assert_eq!(Wav::parse(&bytes).unwrap(), Wav { format: FORMAT, samples: vec![1, 2] });
    }

    #[test]
    fn what_is_no_sound_is_refused() {
        for bytes in [&b""[..], b"RIFF", b"RIFF\0\0\0\0WAVE", b"RIFF\0\0\0\0WAVEdata\0\0\0\0"] {
            assert!(Wav::parse(bytes).is_err(), "{bytes:?}");
        }
        let mut wav = Wav { format: FORMAT, samples: Vec::new() };
        assert!(wav.append(&Wav { format: [0; 16], samples: Vec::new() }).is_err());
    }
}
