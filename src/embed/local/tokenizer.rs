//! From text to the tokens of a model.

use std::path::Path;

use tokenizers::{Tokenizer, TruncationParams};

use super::super::{ConnectError, head};
use super::shape::Shape;
use crate::error::{Error, Result};

/// What the model was trained to read; it is cut here even if it has more positions.
pub const MAX_TOKENS: usize = 256;

/// The tokens of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    /// At least one and at most [`MAX_TOKENS`] numbers of the vocabulary.
    pub ids: Vec<u32>,
    /// The text went on after them.
    pub truncated: bool,
}

/// A tokenizer whose tokens fit the model beside it.
pub struct TextTokenizer(Box<Tokenizer>);

impl TextTokenizer {
    /// Reads the tokenizer of the model in `folder`.
    pub fn read(folder: &Path, shape: &Shape) -> Result<Self, ConnectError> {
        let path = folder.join("tokenizer.json");
        let broken = |reason: String| ConnectError::Model { path: path.clone(), reason };

        let mut tokenizer = Tokenizer::from_file(&path).map_err(|error| broken(error.to_string()))?;
        if tokenizer.get_vocab_size(true) > shape.vocab_size {
            return Err(broken("it has more tokens than the model".into()));
        }
        // As shipped it pads every text to one length, which would be work for nothing.
        tokenizer.with_padding(None);
        let truncation =
            TruncationParams { max_length: MAX_TOKENS.min(shape.positions), ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| broken(error.to_string()))?;
        Ok(Self(Box::new(tokenizer)))
    }

    /// The tokens of a text, from the mark of its beginning to that of its end.
    pub fn tokens(&self, text: &str) -> Result<Tokens> {
        let (text, cut) = head(text);
        let encoding = self.0.encode_fast(text, true).map_err(Error::internal)?;
        let truncated = cut || !encoding.get_overflowing().is_empty();
        Ok(Tokens { ids: encoding.get_ids().to_vec(), truncated })
    }
}
