//! The code: from any N of an object's N + K shares it makes the others, block by block.
//!
//! Reed-Solomon over GF(2^16) by additive FFTs (Lin, Han and Chung 2014), from the crate `reed-solomon-simd`. It works on each piece of 64 B on
//! its own, so that a byte range of N shares makes the same byte range of the others. The paper uses zfec (002, section 8.3.2), Reed-Solomon over
//! GF(2^8), which has the same parameters and tolerates the same losses; the two codes' shares differ.

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

use crate::ActorError;
use crate::layout::{Code, PIECE};

fn failed(error: &reed_solomon_simd::Error) -> ActorError {
    ActorError::System(format!("the code refuses: {error}"))
}

/// Bytes of all shares that are coded at a time, so that the coder's memory does not grow with the blocks' length times the number of shares.
const AT_ONCE: usize = 4 << 20;

/// Bytes of each share that are coded at a time.
fn slice_bytes(code: Code) -> usize {
    let piece = PIECE as usize;
    (AT_ONCE / usize::from(code.shares()) / piece * piece).max(piece)
}

/// Bytes of memory that [`make`] needs for blocks of `block` bytes, apart from its sources and its result: an encoder's and a decoder's, and what they
/// make. Each has room for the next power of two of shares.
pub(crate) fn work_bytes(code: Code, block: usize) -> usize {
    4 * usize::from(code.shares()) * slice_bytes(code).min(block)
}

/// Makes shares from others. `sources` are N different shares, whose bytes have one length, a multiple of 64; `wanted` are the shares to make,
/// each once.
///
/// # Errors
/// [`ActorError::Invalid`] if sources are too few, repeated, of different lengths or not of the code, or a wanted share is repeated or not of the code.
pub fn make(code: Code, sources: &[(u16, &[u8])], wanted: &[u16]) -> Result<Vec<Vec<u8>>, ActorError> {
    let bytes = check(code, sources, wanted)?;
    let mut made: Vec<Vec<u8>> = wanted.iter().map(|_| Vec::with_capacity(bytes)).collect();
    let (mut from, slice) = (0, slice_bytes(code));
    while from < bytes {
        let range = from..bytes.min(from + slice);
        let sources: Vec<(u16, &[u8])> = sources.iter().map(|(share, held)| (*share, &held[range.clone()])).collect();
        make_slice(code, &sources, wanted, &mut made)?;
        from = range.end;
    }
    debug_assert!(made.iter().all(|held| held.len() == bytes), "shares that are made are as long as the sources");
    Ok(made)
}

/// Makes a slice of shares from the same slice of others, and appends it to what was made.
fn make_slice(code: Code, sources: &[(u16, &[u8])], wanted: &[u16], made: &mut [Vec<u8>]) -> Result<(), ActorError> {
    let bytes = sources[0].1.len();
    let known = |share: u16| sources.iter().find(|(source, _)| *source == share).map(|(_, held)| *held);
    let restored = restore(code, sources, bytes, wanted)?;
    let data = |share: u16| {
        known(share).or_else(|| restored.iter().find(|(found, _)| *found == share).map(|(_, held)| &held[..]))
    };
    let mut encoder;
    let mut encoded = None;
    if wanted.iter().any(|share| *share >= code.data && known(*share).is_none()) {
        encoder =
            ReedSolomonEncoder::new(code.data.into(), code.parity.into(), bytes).map_err(|error| failed(&error))?;
        for share in 0..code.data {
            let held = data(share).expect("what is no source was restored");
            encoder.add_original_shard(held).map_err(|error| failed(&error))?;
        }
        encoded = Some(encoder.encode().map_err(|error| failed(&error))?);
    }
    let parity = |share: u16| encoded.as_ref()?.recovery(usize::from(share.checked_sub(code.data)?));
    for (share, made) in wanted.iter().zip(made) {
        let slice = known(*share).or_else(|| data(*share)).or_else(|| parity(*share));
        made.extend_from_slice(slice.expect("each share is known, restored or encoded"));
    }
    Ok(())
}

/// Restores the shares of data that are not sources; none if they are not needed.
fn restore(
    code: Code,
    sources: &[(u16, &[u8])],
    bytes: usize,
    wanted: &[u16],
) -> Result<Vec<(u16, Vec<u8>)>, ActorError> {
    let is_source = |share: u16| sources.iter().any(|(source, _)| *source == share);
    if (0..code.data).all(is_source) || wanted.iter().all(|share| is_source(*share)) {
        return Ok(Vec::new());
    }
    let mut decoder =
        ReedSolomonDecoder::new(code.data.into(), code.parity.into(), bytes).map_err(|error| failed(&error))?;
    for (share, held) in sources {
        let added = match share.checked_sub(code.data) {
            None => decoder.add_original_shard(usize::from(*share), held),
            Some(parity) => decoder.add_recovery_shard(usize::from(parity), held),
        };
        added.map_err(|error| failed(&error))?;
    }
    let made = decoder.decode().map_err(|error| failed(&error))?;
    let restored: Vec<(u16, Vec<u8>)> =
        made.restored_original_iter().map(|(share, held)| (share as u16, held.to_vec())).collect();
    let lacking = || (0..code.data).filter(|share| !is_source(*share)).count();
    debug_assert_eq!(restored.len(), lacking(), "the decoder restores each share of data that is no source");
    debug_assert!(restored.iter().all(|(_, held)| held.len() == bytes), "restored shares are as long as the sources");
    Ok(restored)
}

/// Checks the arguments; returns the length of the sources.
fn check(code: Code, sources: &[(u16, &[u8])], wanted: &[u16]) -> Result<usize, ActorError> {
    let wrong = |sentence: String| Err(ActorError::Invalid(sentence));
    code.checked()?;
    if sources.len() != usize::from(code.data) {
        return wrong(format!("{} shares to make others of: the code {code} takes {}", sources.len(), code.data));
    }
    for (place, (share, held)) in sources.iter().enumerate() {
        if sources[..place].iter().any(|(other, _)| other == share) {
            return wrong(format!("share {share} is given twice"));
        }
        if held.len() != sources[0].1.len() || !held.len().is_multiple_of(PIECE as usize) {
            return wrong(format!(
                "blocks of {} and {} B: one length, a multiple of {PIECE} B, is needed",
                sources[0].1.len(),
                held.len()
            ));
        }
    }
    for (place, share) in wanted.iter().enumerate() {
        if wanted[..place].contains(share) {
            return wrong(format!("share {share} is wanted twice"));
        }
    }
    let mut shares = sources.iter().map(|(share, _)| share).chain(wanted);
    match shares.find(|share| **share >= code.shares()) {
        Some(share) => wrong(format!("share {share}: the code {code} has shares 0 to {}", code.shares() - 1)),
        None => Ok(sources[0].1.len()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn data(code: Code, bytes: usize, seed: u64) -> Vec<Vec<u8>> {
        let byte = |share: u16, at: usize| {
            (seed ^ (u64::from(share) << 32) ^ at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) as u8
        };
        (0..code.data).map(|share| (0..bytes).map(|at| byte(share, at)).collect()).collect()
    }

    fn all(code: Code, held: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let sources: Vec<(u16, &[u8])> = (0..).zip(held.iter().map(Vec::as_slice)).collect();
        let wanted: Vec<u16> = (0..code.shares()).collect();
        make(code, &sources, &wanted).unwrap()
    }

    proptest! {
        #[test]
        fn any_n_shares_make_all_others(n in 1u16..9, k in 0u16..6, pieces in 1usize..5, seed: u64) {
            let code = Code { data: n, parity: k };
            let held = data(code, pieces * PIECE as usize, seed);
            let shares = all(code, &held);
            prop_assert_eq!(&shares[..usize::from(n)], &held[..]);
            let mut order: Vec<u16> = (0..code.shares()).collect();
            let mut draw = seed;
            for place in (1..order.len()).rev() {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                order.swap(place, (draw >> 33) as usize % (place + 1));
            }
            let sources: Vec<(u16, &[u8])> = order[..usize::from(n)].iter().map(|share| (*share, &shares[usize::from(*share)][..])).collect();
            let wanted = &order[usize::from(n)..];
            for (share, made) in wanted.iter().zip(make(code, &sources, wanted).unwrap()) {
                prop_assert_eq!(&made, &shares[usize::from(*share)]);
            }
        }

        #[test]
        fn a_byte_range_of_the_parities_is_made_of_that_range_alone(n in 1u16..9, k in 1u16..6, from in 0usize..4, pieces in 1usize..5, seed: u64) {
            let code = Code { data: n, parity: k };
            let held = data(code, 8 * PIECE as usize, seed);
            let shares = all(code, &held);
            let range = from * PIECE as usize..(from + pieces).min(8) * PIECE as usize;
            let cut: Vec<Vec<u8>> = held.iter().map(|share| share[range.clone()].to_vec()).collect();
            for (share, made) in all(code, &cut).iter().enumerate() {
                prop_assert_eq!(&made[..], &shares[share][range.clone()]);
            }
        }
    }

    #[test]
    fn blocks_that_are_coded_in_slices_are_the_same() {
        // Slices of 16,384 B for 256 shares: two whole ones, and a short one.
        let code = Code { data: 2, parity: 254 };
        assert_eq!(slice_bytes(code), 16_384);
        let held = data(code, 2 * 16_384 + 64, 7);
        let sources: Vec<(u16, &[u8])> = (0..).zip(held.iter().map(Vec::as_slice)).collect();
        let made = make(code, &sources, &[200, 1]).unwrap();
        assert_eq!(made[1], held[1]);
        let back = make(code, &[(200, &made[0]), (0, &held[0])], &[1]).unwrap();
        assert_eq!(back[0], held[1]);
    }

    #[test]
    fn what_cannot_be_coded_is_told() {
        let code = Code { data: 2, parity: 1 };
        let (one, other, odd) = ([0; 64], [0; 128], [0; 63]);
        type Case<'a> = (&'a [(u16, &'a [u8])], &'a [u16], &'a str);
        let table: [Case<'_>; 6] = [
            (&[(0, &one)], &[2], "takes 2"),
            (&[(0, &one), (0, &one)], &[2], "given twice"),
            (&[(0, &one), (1, &other)], &[2], "one length"),
            (&[(0, &odd), (1, &odd)], &[2], "a multiple of 64 B"),
            (&[(0, &one), (1, &one)], &[3], "has shares 0 to 2"),
            (&[(0, &one), (1, &one)], &[2, 0, 2], "share 2 is wanted twice"),
        ];
        for (sources, wanted, told) in table {
            let error = make(code, sources, wanted).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
