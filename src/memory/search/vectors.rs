//! Pure: the vectors of one namespace, compared with a question in memory.

use std::cmp::Ordering;

use half::f16;
use memtide_kernel::inner_products;

use crate::embed::Embedding;
use crate::id::MemoryId;

/// Vectors in half precision, as they are stored.
#[derive(Debug)]
pub struct Vectors {
    /// In order, to be looked up.
    ids: Vec<MemoryId>,
    rows: Vec<memtide_kernel::f16>,
    lengths: Vec<f32>,
    width: usize,
}

/// How close each vector comes to a question.
#[derive(Debug)]
pub struct Cosines<'a> {
    ids: &'a [MemoryId],
    values: Vec<f32>,
}

impl Vectors {
    /// Takes vectors of one length.
    pub fn new(mut vectors: Vec<(MemoryId, &[f16])>) -> Self {
        vectors.sort_unstable_by_key(|(id, _)| *id);
        let width = vectors.first().map_or(0, |(_, vector)| vector.len());
        let mut rows = Vec::with_capacity(width * vectors.len());
        let (mut ids, mut lengths) = (Vec::with_capacity(vectors.len()), Vec::with_capacity(vectors.len()));
        for (id, vector) in vectors.into_iter().filter(|(_, vector)| vector.len() == width) {
            ids.push(id);
            lengths.push(length(vector.iter().map(|value| value.to_f32())));
            rows.extend(vector.iter().map(|value| memtide_kernel::f16::from_bits(value.to_bits())));
        }
        Self { ids, rows, lengths, width }
    }

    /// What it takes of memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.rows) + size_of_val(&*self.ids) + size_of_val(&*self.lengths)
    }

    /// Compares all with a question, in the precision in which Postgres does.
    pub fn cosines(&self, question: &Embedding) -> Cosines<'_> {
        let question: Vec<f32> =
            question.as_slice().iter().map(|value| f16::from_f32(*value).to_f32()).collect();
        let length = length(question.iter().copied());
        if question.len() != self.width {
            return Cosines { ids: &[], values: Vec::new() };
        }
        let products = inner_products(&question, &self.rows, self.width);
        let cosine = |(product, of_row): (f32, &f32)| product / (of_row * length);
        Cosines { ids: &self.ids, values: products.into_iter().zip(&self.lengths).map(cosine).collect() }
    }
}

fn length(values: impl Iterator<Item = f32>) -> f32 {
    values.map(|value| value * value).sum::<f32>().sqrt()
}

impl Cosines<'_> {
    /// How many vectors there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The cosine of one record, if it has a vector.
    pub fn of(&self, id: MemoryId) -> Option<f64> {
        self.ids.binary_search(&id).ok().map(|at| f64::from(self.values[at]))
    }

    /// The records that come closest, best first, at most so many.
    pub fn nearest(&self, count: usize) -> Vec<MemoryId> {
        let closer = |one: &usize, other: &usize| -> Ordering {
            self.values[*other].total_cmp(&self.values[*one]).then(one.cmp(other))
        };
        let mut places: Vec<usize> = (0..self.values.len()).collect();
        if count < places.len() {
            places.select_nth_unstable_by(count, closer);
            places.truncate(count);
        }
        places.sort_unstable_by(closer);
        places.into_iter().map(|at| self.ids[at]).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn halves(values: &[f32]) -> Vec<f16> {
        values.iter().map(|value| f16::from_f32(*value)).collect()
    }

    fn embedding(values: &[f32]) -> Embedding {
        Embedding::new(values.to_vec()).expect("it is not zero")
    }

    fn plain(one: &[f16], other: &[f32]) -> f64 {
        let other: Vec<f16> = halves(other);
        let pairs = || one.iter().zip(&other).map(|(one, other)| (one.to_f64(), other.to_f64()));
        let (of_one, of_other) = (pairs().map(|(one, _)| one * one), pairs().map(|(_, other)| other * other));
        let product: f64 = pairs().map(|(one, other)| one * other).sum();
        product / (of_one.sum::<f64>() * of_other.sum::<f64>()).sqrt()
    }

    proptest! {
        #[test]
        fn every_cosine_is_the_plain_one(
            width in 1_usize..70,
            rows in 1_usize..20,
            seed in proptest::collection::vec(-1.0_f32..1.0, 70 * 21),
        ) {
            let question = &seed[..width];
            prop_assume!(question.iter().any(|value| value.abs() > 0.1));
            let vectors: Vec<(MemoryId, Vec<f16>)> = (1..=rows)
                .map(|row| (MemoryId::new(), halves(&seed[70 * row..][..width])))
                .filter(|(_, vector)| vector.iter().any(|value| value.to_f32().abs() > 0.1))
                .collect();
            let held = Vectors::new(vectors.iter().map(|(id, vector)| (*id, vector.as_slice())).collect());
            let question = embedding(question);
            let cosines = held.cosines(&question);
            for (id, vector) in &vectors {
                let found = cosines.of(*id).expect("it is held");
                prop_assert!((found - plain(vector, question.as_slice())).abs() < 1e-5);
            }
            let all = cosines.nearest(usize::MAX);
            prop_assert_eq!(all.len(), vectors.len());
            prop_assert!(all.is_sorted_by(|one, next| cosines.of(*one) >= cosines.of(*next)));
            prop_assert_eq!(&cosines.nearest(3)[..], &all[..all.len().min(3)]);
        }
    }

    #[test]
    fn a_question_of_another_length_and_no_vectors_give_nothing() {
        let id = MemoryId::new();
        let vector = halves(&[1.0, 0.0]);
        let held = Vectors::new(vec![(id, &vector)]);
        assert!(held.cosines(&embedding(&[1.0])).nearest(5).is_empty());
        assert_eq!(Vectors::new(Vec::new()).cosines(&embedding(&[1.0])).len(), 0);
        assert_eq!(held.cosines(&embedding(&[1.0, 0.0])).of(MemoryId::new()), None);
    }
}
