//! Reading a safetensors file one tensor at a time.
//!
//! A model's weights are a third of the memory the server may take (F-10). Read whole, the file would be in memory
//! twice while it is loaded, and the allocator would keep the second copy's pages.

use std::fmt::Write;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use safetensors::tensor::Metadata;
use sha2::{Digest, Sha256};

use super::super::ConnectError;

/// A header longer than this is no header.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// How much is read at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// An open safetensors file.
pub struct Tensors {
    path: PathBuf,
    file: BufReader<File>,
    names: Metadata,
    data_start: u64,
}

impl Tensors {
    /// Opens the file and reads its list of tensors.
    pub fn open(path: &Path) -> Result<Self, ConnectError> {
        let unreadable = |source| ConnectError::File { path: path.to_owned(), source };
        let broken = |reason: String| ConnectError::Model { path: path.to_owned(), reason };

        let mut file = BufReader::with_capacity(BUFFER_BYTES, File::open(path).map_err(unreadable)?);
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(unreadable)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER_BYTES {
            return Err(broken("this is not a safetensors file".into()));
        }
        let mut header = Vec::new();
        file.by_ref().take(length).read_to_end(&mut header).map_err(unreadable)?;
        let names = serde_json::from_slice(&header).map_err(|error| broken(error.to_string()))?;
        Ok(Self { path: path.to_owned(), file, names, data_start: 8 + length })
    }

    /// The numbers of one tensor, which must have this shape.
    pub fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ConnectError> {
        let tensor =
            self.names.info(name).ok_or_else(|| self.broken(format!("there is no tensor {name}")))?;
        if tensor.dtype != Dtype::F32 || tensor.shape != shape {
            let found =
                format!("{name} is {:?} {:?} and should be F32 {shape:?}", tensor.dtype, tensor.shape);
            return Err(self.broken(found));
        }
        let start = self.data_start + tensor.data_offsets.0 as u64;
        self.read_floats(start, shape.iter().product())
            .map_err(|source| ConnectError::File { path: self.path.clone(), source })
    }

    fn read_floats(&mut self, start: u64, count: usize) -> std::io::Result<Vec<f32>> {
        const SIZE: usize = size_of::<f32>();
        self.file.seek(SeekFrom::Start(start))?;
        let mut values = Vec::with_capacity(count);
        let mut bytes = [0; 4096 * SIZE];
        while values.len() < count {
            let chunk = &mut bytes[..SIZE * (count - values.len()).min(4096)];
            self.file.read_exact(chunk)?;
            let (numbers, _) = chunk.as_chunks::<SIZE>();
            values.extend(numbers.iter().map(|&number| f32::from_le_bytes(number)));
        }
        Ok(values)
    }

    fn broken(&self, reason: String) -> ConnectError {
        ConnectError::Model { path: self.path.clone(), reason }
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub fn fingerprint(path: &Path) -> Result<String, ConnectError> {
    let unreadable = |source| ConnectError::File { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(unreadable)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match file.read(&mut buffer).map_err(unreadable)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    let mut digits = String::with_capacity(64);
    for byte in hash.finalize() {
        write!(digits, "{byte:02x}").expect("writing to a string does not fail");
    }
    Ok(digits)
}
