//! Embeddings that are safe to store and to compare.

use half::f16;

/// A direction in the space of a model: finite, of unit length, and storable in half precision.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Vec<f32>);

impl Embedding {
    /// The embedding with the direction of `values`.
    ///
    /// Nothing comes of values that have no direction (all zero) or that the store refuses: NaN, infinities,
    /// and numbers out of the range of half precision.
    pub fn new(mut values: Vec<f32>) -> Option<Self> {
        let storable = |value: &f32| value.abs() <= f16::MAX.to_f32();
        if !values.iter().all(storable) {
            return None;
        }
        let length = values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if length == 0.0 {
            return None;
        }
        for value in &mut values {
            *value = narrow(f64::from(*value) / length);
        }
        Some(Self(values))
    }

    /// How many numbers it has.
    pub fn dimensions(&self) -> usize {
        self.0.len()
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }
}

/// What came of embedding one text.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The embedding; absent when the model has no usable vector for this text.
    pub embedding: Option<Embedding>,
    /// The model saw only the beginning of the text.
    pub truncated: bool,
}

#[expect(clippy::cast_possible_truncation, reason = "a component of a unit vector is in the range of f32")]
fn narrow(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn vectors_without_a_direction_or_out_of_range_are_refused() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 70_000.0] {
            assert_eq!(Embedding::new(vec![0.1, bad, 0.3]), None, "{bad}");
        }
        assert_eq!(Embedding::new(vec![0.0; 3]), None);
        assert_eq!(Embedding::new(Vec::new()), None);
    }

    #[test]
    fn the_smallest_numbers_still_have_a_direction() {
        let embedding = Embedding::new(vec![f32::from_bits(1), 0.0]).expect("not zero");
        assert_eq!(embedding.as_slice(), [1.0, 0.0]);
    }

    proptest! {
        #[test]
        fn an_embedding_has_unit_length(values in prop::collection::vec(-60_000.0_f32..60_000.0, 1..50)) {
            if let Some(embedding) = Embedding::new(values) {
                let length: f32 = embedding.as_slice().iter().map(|value| value * value).sum::<f32>().sqrt();
                prop_assert!((length - 1.0).abs() < 1e-5);
            }
        }
    }
}
