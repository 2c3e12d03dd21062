//! GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11d), as Linux md has it.

use super::{Coder, Terms};

/// The product of two elements.
pub(super) const fn multiply(a: u8, b: u8) -> u8 {
    let (mut product, mut a, mut b) = (0, a, b);
    while b > 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ (if a >> 7 == 1 { 0x1d } else { 0 });
        b >>= 1;
    }
    product
}

/// A power of an element.
pub(super) fn power(base: u8, exponent: usize) -> u8 {
    (0..exponent).fold(1, |power, _| multiply(power, base))
}

/// The element that makes 1 of one above 0.
fn inverse(element: u8) -> u8 {
    power(element, 254)
}

/// See [`Coder::solve`]: elimination over the rows of what is there.
pub(super) fn solve(coder: &Coder, lost: &[usize], have: &[usize]) -> Option<Vec<Terms>> {
    let data = coder.data();
    // Each row: what data chunks are multiplied with; and of which chunks it was made.
    let mut rows: Vec<(usize, Vec<u8>, Terms)> = Vec::new();
    let reduce = |rows: &[(usize, Vec<u8>, Terms)], row: &mut Vec<u8>, terms: &mut Terms| {
        for (pivot, other, made_of) in rows {
            let factor = row[*pivot];
            if factor != 0 {
                row.iter_mut().zip(other).for_each(|(entry, other)| *entry ^= multiply(factor, *other));
                for (chunk, times) in made_of {
                    let times = multiply(factor, *times);
                    match terms.iter_mut().find(|term| term.0 == *chunk) {
                        Some(term) => term.1 ^= times,
                        None => terms.push((*chunk, times)),
                    }
                }
            }
        }
        terms.retain(|term| term.1 != 0);
    };
    for chunk in have {
        if rows.len() == data {
            break;
        }
        let (mut row, mut terms) = (coder.row(*chunk), vec![(*chunk, 1)]);
        reduce(&rows, &mut row, &mut terms);
        if let Some(pivot) = row.iter().position(|entry| *entry != 0) {
            let factor = inverse(row[pivot]);
            row.iter_mut().for_each(|entry| *entry = multiply(*entry, factor));
            terms.iter_mut().for_each(|term| term.1 = multiply(term.1, factor));
            rows.push((pivot, row, terms));
        }
    }
    let sum_of = |chunk: &usize| {
        let (mut row, mut terms) = (coder.row(*chunk), Vec::new());
        // Later rows may hold pivots of earlier ones: as many rounds as there are rows are enough.
        for _ in 0..=rows.len() {
            reduce(&rows, &mut row, &mut terms);
        }
        row.iter().all(|entry| *entry == 0).then_some(terms)
    };
    lost.iter().map(sum_of).collect()
}
