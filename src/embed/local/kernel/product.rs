//! A matrix product whose right side, the weights of a model, is kept in half precision.
//!
//! A short text reads all weights once, so that their size is its time. They are converted once a batch, in the first
//! level cache, while the next are on their way from memory: a query of ten tokens takes two thirds of the time that
//! weights in single precision take, and a batch of 256 tokens the same. The sums are in single precision.

use rten_simd::ops::{BitOps, Extend, NumOps};
use rten_simd::{Isa, SimdOp, f16};

/// How many columns lie side by side: two vectors of eight numbers, or one of sixteen.
const PANEL: usize = 16;

/// How many rows are computed at once: with two vectors a row, their sums fill the registers of AVX2.
const TILE: usize = 6;

/// How many rows of the weights are converted at a time: with the left side's part they fit into the first level cache.
const BLOCK: usize = 256;

/// A matrix of weights, laid out in the order in which [`multiply_by`] reads it.
pub struct Matrix {
    depth: usize,
    columns: usize,
    /// Panel after panel of columns, each of them row after row. Columns that do not exist are zero.
    panels: Vec<f16>,
}

/// What [`multiply_by`] works with, kept from one call to the next.
#[derive(Default)]
pub struct Workspace {
    tiles: Vec<f32>,
    panel: Vec<f32>,
}

impl Matrix {
    /// Takes a matrix with `depth` rows, given column after column.
    pub fn from_columns(values: &[f32], depth: usize) -> Self {
        let columns = values.len() / depth;
        let mut panels = Vec::with_capacity(columns.next_multiple_of(PANEL) * depth);
        for first in (0..columns).step_by(PANEL) {
            for row in 0..depth {
                let value = |column: usize| values.get(column * depth + row).copied().unwrap_or(0.0);
                panels.extend((first..first + PANEL).map(|column| f16::from_f32(value(column))));
            }
        }
        Self { depth, columns, panels }
    }
}

/// What becomes of what is in the output.
#[derive(Clone, Copy, PartialEq)]
pub enum Keep {
    /// The product takes its place.
    Nothing,
    /// The product is added to it.
    Everything,
}

/// `output = input × weights + bias`, or this added to what is there. All shapes must agree.
pub fn multiply_by(
    workspace: &mut Workspace,
    output: &mut [f32],
    input: &[f32],
    weights: &Matrix,
    bias: &[f32],
    keep: Keep,
) {
    assert_eq!(input.len() / weights.depth * weights.columns, output.len(), "the shapes agree");
    assert_eq!(bias.len(), weights.columns, "there is a bias for each column");
    Product { workspace, output, input, weights, bias, keep }.dispatch();
}

struct Product<'a> {
    workspace: &'a mut Workspace,
    output: &'a mut [f32],
    input: &'a [f32],
    weights: &'a Matrix,
    bias: &'a [f32],
    keep: Keep,
}

impl SimdOp for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        match PANEL / isa.f32().len() {
            1 => self.run::<I, 1>(isa),
            2 => self.run::<I, 2>(isa),
            _ => self.run::<I, 4>(isa),
        }
    }
}

// Loops and no closures below: only what is inlined can use the instructions that it is dispatched for.
impl Product<'_> {
    /// With so many vectors a panel.
    #[inline(always)]
    fn run<I: Isa, const VECTORS: usize>(mut self, isa: I) {
        let depth = self.weights.depth;
        let mut first = 0;
        while first < depth {
            let block = BLOCK.min(depth - first);
            self.pack(first, block);
            let mut column = 0;
            for panel in self.weights.panels.chunks_exact(depth * PANEL) {
                let halves = &panel[first * PANEL..(first + block) * PANEL];
                convert(isa, halves, &mut self.workspace.panel);
                // A hint, which may point to where nothing is.
                let next = halves.as_ptr().wrapping_add(depth * PANEL);
                self.panel::<I, VECTORS>(isa, column, first == 0, block, next);
                column += PANEL;
            }
            first += block;
        }
    }

    /// Lays out a part of each row so that the numbers of a tile's rows that are used together lie together.
    #[inline(always)]
    fn pack(&mut self, first: usize, block: usize) {
        let depth = self.weights.depth;
        self.workspace.tiles.clear();
        for rows in self.input.chunks(TILE * depth) {
            let count = rows.len() / depth;
            let start = self.workspace.tiles.len();
            self.workspace.tiles.resize(start + block * count, 0.0);
            let tile = &mut self.workspace.tiles[start..];
            for (at, row) in rows.chunks_exact(depth).enumerate() {
                for (place, value) in tile[at..].iter_mut().step_by(count).zip(&row[first..first + block]) {
                    *place = *value;
                }
            }
        }
    }

    /// The columns of one panel, for all rows. Fetches the `next` meanwhile.
    #[inline(always)]
    fn panel<I: Isa, const VECTORS: usize>(
        &mut self,
        isa: I,
        column: usize,
        is_first: bool,
        block: usize,
        next: *const f16,
    ) {
        let columns = self.weights.columns;
        let width = PANEL.min(columns - column);
        let mut tiles = self.workspace.tiles.as_slice();
        let panel = self.workspace.panel.as_slice();
        let mut next = Some(next);
        for rows in self.output.chunks_mut(TILE * columns) {
            let count = rows.len() / columns;
            let (tile, others) = tiles.split_at(block * count);
            tiles = others;
            let mut sums = [[0.0; PANEL]; TILE];
            for (row, sums) in rows.chunks_exact(columns).zip(&mut sums) {
                if is_first {
                    sums[..width].copy_from_slice(&self.bias[column..column + width]);
                }
                if !is_first || self.keep == Keep::Everything {
                    for (sum, there) in sums[..width].iter_mut().zip(&row[column..column + width]) {
                        *sum += there;
                    }
                }
            }
            match count {
                6 => add_products::<I, VECTORS, 6>(isa, tile, panel, &mut sums, next),
                5 => add_products::<I, VECTORS, 5>(isa, tile, panel, &mut sums, next),
                4 => add_products::<I, VECTORS, 4>(isa, tile, panel, &mut sums, next),
                3 => add_products::<I, VECTORS, 3>(isa, tile, panel, &mut sums, next),
                2 => add_products::<I, VECTORS, 2>(isa, tile, panel, &mut sums, next),
                _ => add_products::<I, VECTORS, 1>(isa, tile, panel, &mut sums, next),
            }
            next = None;
            for (row, sums) in rows.chunks_exact_mut(columns).zip(&sums) {
                row[column..column + width].copy_from_slice(&sums[..width]);
            }
        }
    }
}

#[inline(always)]
fn convert<I: Isa>(isa: I, halves: &[f16], singles: &mut Vec<f32>) {
    let (half, single) = (isa.f16(), isa.f32());
    let lanes = single.len();
    singles.resize(halves.len(), 0.0);
    for (halves, singles) in halves.chunks_exact(2 * lanes).zip(singles.chunks_exact_mut(2 * lanes)) {
        let (low, high) = singles.split_at_mut(lanes);
        let halves = half.load(halves);
        single.store(half.extend_low(halves), low);
        single.store(half.extend_high(halves), high);
    }
}

/// Adds the products of a tile of rows with a panel of columns.
#[inline(always)]
fn add_products<I: Isa, const VECTORS: usize, const ROWS: usize>(
    isa: I,
    tile: &[f32],
    panel: &[f32],
    sums: &mut [[f32; PANEL]; TILE],
    next: Option<*const f16>,
) {
    let (half, single) = (isa.f16(), isa.f32());
    // What is there already costs nothing to fetch, and no branch is needed in the loop.
    let (mut ahead, step) = next.map_or((panel.as_ptr().cast(), 0), |next| (next, PANEL));
    let lanes = PANEL / VECTORS;
    let mut vectors = [[single.zero(); VECTORS]; ROWS];
    for (row, vectors) in vectors.iter_mut().enumerate() {
        for (at, vector) in vectors.iter_mut().enumerate() {
            *vector = single.load(&sums[row][at * lanes..]);
        }
    }
    for (values, weights) in tile.as_chunks::<ROWS>().0.iter().zip(panel.as_chunks::<PANEL>().0) {
        half.prefetch(ahead);
        ahead = ahead.wrapping_add(step);
        let mut columns = [single.zero(); VECTORS];
        for (at, column) in columns.iter_mut().enumerate() {
            *column = single.load(&weights[at * lanes..]);
        }
        for (value, vectors) in values.iter().zip(&mut vectors) {
            let value = single.splat(*value);
            for (vector, column) in vectors.iter_mut().zip(&columns) {
                *vector = single.mul_add(value, *column, *vector);
            }
        }
    }
    for (row, vectors) in vectors.iter().enumerate() {
        for (at, vector) in vectors.iter().enumerate() {
            single.store(*vector, &mut sums[row][at * lanes..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that half precision holds exactly, so that the sums are exact as well.
    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        (0..count).map(|at| ((at * 37 + seed * 11) % 23) as f32 / 8.0 - 1.25).collect()
    }

    #[test]
    fn products_of_every_shape_are_those_of_the_definition() {
        let mut workspace = Workspace::default();
        for rows in [1, 2, 3, 4, 5, 6, 7, 12, 17] {
            for (depth, columns) in [(1, 1), (7, 5), (16, 16), (255, 17), (257, 33), (600, 48)] {
                let (input, weights) = (numbers(rows * depth, 1), numbers(depth * columns, 2));
                let (bias, before) = (numbers(columns, 3), numbers(rows * columns, 4));
                let matrix = Matrix::from_columns(&weights, depth);
                for keep in [Keep::Nothing, Keep::Everything] {
                    let mut output = before.clone();
                    multiply_by(&mut workspace, &mut output, &input, &matrix, &bias, keep);
                    for (at, found) in output.iter().enumerate() {
                        let (row, column) = (at / columns, at % columns);
                        let pairs = input[row * depth..].iter().zip(&weights[column * depth..]).take(depth);
                        let product: f32 = pairs.map(|(one, other)| one * other).sum();
                        let kept = if keep == Keep::Everything { before[at] } else { 0.0 };
                        assert_eq!(
                            *found,
                            product + bias[column] + kept,
                            "{rows} × {depth} × {columns} at {at}"
                        );
                    }
                }
            }
        }
    }
}
