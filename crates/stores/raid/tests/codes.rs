//! Codes make the bytes that their definitions say, on every processor, and bring back what is lost.
//!
//! Products are compared with those of the crate `reed-solomon-erasure`, which has the same field in tables. P, Q and R are compared with sums by these
//! products, as H. P. Anvin defines them ("The mathematics of RAID-6"). Sums by any matrix are compared with the crate's encoder, whose matrix is another:
//! a code of this file asks it for the coefficients.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use reed_solomon_erasure::galois_8::{ReedSolomon, div, exp, mul};
use wane_raid::code::{CODES, Code, Coder, Kernel, PQ, PQR, XOR, add_change, add_scaled};
use wane_sim::{Stream, Streams};

const KERNELS: [Kernel; 2] = [Kernel::Fastest, Kernel::Portable];

/// Around all sizes of steps and blocks.
const LENGTHS: [usize; 17] = [0, 1, 15, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 513, 4096, 16_384 + 129, 65_537];

fn stream() -> Stream {
    Streams::new(46).stream("codes")
}

fn random(stream: &mut Stream, length: usize) -> Vec<u8> {
    (0..length).map(|_| stream.below(256) as u8).collect()
}

fn chunks(stream: &mut Stream, count: usize, length: usize) -> Vec<Vec<u8>> {
    (0..count).map(|_| random(stream, length)).collect()
}

fn shown(chunks: &[Vec<u8>]) -> Vec<&[u8]> {
    chunks.iter().map(Vec::as_slice).collect()
}

fn lent(chunks: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    chunks.iter_mut().map(Vec::as_mut_slice).collect()
}

/// Parities of chunks, in buffers that were full of something else.
fn parities(coder: &Coder, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut parities = vec![vec![0xa5; data[0].len()]; coder.parities()];
    coder.encode(&shown(data), &mut lent(&mut parities));
    parities
}

/// A whole stripe.
fn stripe(coder: &Coder, stream: &mut Stream, length: usize) -> Vec<Vec<u8>> {
    let mut stripe = chunks(stream, coder.data(), length);
    let parities = parities(coder, &stripe);
    stripe.extend(parities);
    stripe
}

fn coder(code: &'static dyn Code, width: usize, kernel: Kernel) -> Coder {
    Coder::new(code, width).unwrap().with_kernel(kernel)
}

/// All sets of numbers below `width` that have at most `most`.
fn losses(width: usize, most: usize) -> impl Iterator<Item = Vec<usize>> {
    (0u32..1 << width)
        .filter(move |set| set.count_ones() as usize <= most)
        .map(move |set| (0..width).filter(|chunk| set >> chunk & 1 == 1).collect())
}

#[test]
fn products_are_those_of_the_library() {
    let all: Vec<u8> = (0..=255).collect();
    for kernel in KERNELS {
        for factor in 0..=255u8 {
            let mut products = vec![0; 256];
            kernel.add_scaled(&mut products, factor, &all);
            for (element, product) in (0..=255u8).zip(products) {
                assert_eq!(product, mul(factor, element), "{kernel:?}: {factor} times {element}");
            }
        }
    }
}

#[test]
fn kernels_add_alike_at_every_length() {
    if Kernel::fastest() == "portable" {
        eprintln!("note: this processor has no AVX2: the portable kernel was compared with itself");
    }
    let mut stream = stream();
    for length in LENGTHS {
        let (target, old, new) =
            (random(&mut stream, length), random(&mut stream, length), random(&mut stream, length));
        for factor in [0, 1, 2, 0x1d, 0x80, 255] {
            for kernel in KERNELS {
                let (mut scaled, mut changed) = (target.clone(), target.clone());
                kernel.add_scaled(&mut scaled, factor, &old);
                kernel.add_change(&mut changed, factor, &old, &new);
                for at in 0..length {
                    assert_eq!(scaled[at], target[at] ^ mul(factor, old[at]), "{kernel:?} {factor}: {at} of {length}");
                    let change = mul(factor, old[at] ^ new[at]);
                    assert_eq!(changed[at], target[at] ^ change, "{kernel:?} {factor}: {at} of {length}");
                }
            }
        }
    }
}

/// P is the sum of D(N), Q that of 2^N D(N), R that of 4^N D(N).
#[test]
fn parities_are_those_of_the_definition() {
    let mut stream = stream();
    let codes: [(&'static dyn Code, &[u8]); 3] = [(&XOR, &[1]), (&PQ, &[1, 2]), (&PQR, &[1, 2, 4])];
    for (code, generators) in codes {
        for (width, length) in (generators.len() + 1..=12).zip(LENGTHS.into_iter().cycle().skip(1)) {
            for kernel in KERNELS {
                let coder = coder(code, width, kernel);
                let data = chunks(&mut stream, coder.data(), length);
                for (parity, generator) in parities(&coder, &data).iter().zip(generators) {
                    let expected: Vec<u8> = (0..length)
                        .map(|at| (0..).zip(&data).fold(0, |sum, (n, chunk)| sum ^ mul(exp(*generator, n), chunk[at])))
                        .collect();
                    assert_eq!(*parity, expected, "{} of {width}, generator {generator}, {kernel:?}", code.name());
                }
            }
        }
    }
}

/// Worked out by hand: 2 times 0x80 leaves the field, and comes back as 0x1d; 4 times 0x80 is 2 times that.
#[test]
fn small_stripes_are_as_by_hand() {
    let data = [vec![0x01, 0x80, 0xff], vec![0x01, 0x80, 0x00], vec![0x01, 0x00, 0x80]];
    for kernel in KERNELS {
        let parities = parities(&coder(&PQR, 6, kernel), &data);
        assert_eq!(parities[0], [0x01, 0x00, 0x7f]);
        // 1 + 2 + 4; 0x80 + 0x1d; 0xff + 0x3a.
        assert_eq!(parities[1], [0x07, 0x9d, 0xc5]);
        // 1 + 4 + 16; 0x80 + 0x3a; 0xff + 16 times 0x80, which is 0xe8.
        assert_eq!(parities[2], [0x15, 0xba, 0x17]);
    }
}

/// Any pattern of as many losses as the code tolerates, parities among them.
#[test]
fn whatever_is_lost_comes_back() {
    let mut stream = stream();
    for code in CODES {
        for width in 2..=12 {
            for kernel in KERNELS {
                let Some(coder) = Coder::new(code, width).map(|coder| coder.with_kernel(kernel)) else { continue };
                let whole = stripe(&coder, &mut stream, 141);
                for lost in losses(width, code.tolerates()) {
                    let recovery = coder.recovery(&lost).unwrap();
                    assert!(lost.iter().all(|chunk| !recovery.sources().contains(chunk)));
                    let mut left = whole.clone();
                    for (number, chunk) in left.iter_mut().enumerate() {
                        if lost.contains(&number) {
                            chunk.fill(0xa5);
                        } else if !recovery.sources().contains(&number) {
                            chunk.clear();
                        }
                    }
                    recovery.fill(&mut lent(&mut left));
                    for chunk in &lost {
                        assert!(left[*chunk] == whole[*chunk], "{} of {width}: {lost:?}, {kernel:?}", code.name());
                    }
                }
            }
        }
    }
}

/// The order in which chunks are named is that of what is made.
#[test]
fn the_order_of_losses_does_not_matter() {
    let coder = coder(&PQR, 9, Kernel::Fastest);
    let whole = stripe(&coder, &mut stream(), 300);
    for lost in [[4, 1, 7], [8, 0, 5], [7, 6, 8]] {
        let mut left = whole.clone();
        lost.iter().for_each(|chunk| left[*chunk].fill(0));
        coder.recovery(&lost).unwrap().fill(&mut lent(&mut left));
        assert!(left == whole, "{lost:?}");
    }
}

#[test]
fn more_losses_than_parities_are_not_made_up() {
    for (code, width) in [(&XOR as &'static dyn Code, 5), (&PQ, 6), (&PQR, 7)] {
        let coder = coder(code, width, Kernel::Fastest);
        for lost in losses(width, width).filter(|lost| lost.len() > code.tolerates()) {
            assert!(coder.recovery(&lost).is_none(), "{} of {width}: {lost:?}", code.name());
        }
    }
}

/// Two data chunks X and Y of P+Q by Anvin's formula, with the library's arithmetic: D(X) = A (P + P') + B (Q + Q'), where P' and Q' are sums of what is
/// left, A is 2^(Y-X) / (2^(Y-X) + 1), and B is 2^-X / (2^(Y-X) + 1).
#[test]
fn two_lost_data_chunks_are_those_of_the_formula() {
    let coder = coder(&PQ, 8, Kernel::Fastest);
    let whole = stripe(&coder, &mut stream(), 257);
    for (x, y) in (0..6).flat_map(|x| (x + 1..6).map(move |y| (x, y))) {
        let mut left = whole.clone();
        left[x].fill(0);
        left[y].fill(0);
        let sums = parities(&coder, &left[..6]);
        let ratio = exp(2, y - x);
        let (a, b) = (div(ratio, ratio ^ 1), div(div(1, exp(2, x)), ratio ^ 1));
        let by_formula: Vec<u8> =
            (0..257).map(|at| mul(a, whole[6][at] ^ sums[0][at]) ^ mul(b, whole[7][at] ^ sums[1][at])).collect();
        coder.recovery(&[x, y]).unwrap().fill(&mut lent(&mut left));
        assert_eq!(left[x], by_formula, "chunks {x} and {y}");
        assert!(left == whole, "chunks {x} and {y}");
    }
}

/// One parity after the other, or all at once.
#[test]
fn parities_follow_a_change() {
    let mut stream = stream();
    for (code, kernel) in CODES.into_iter().flat_map(|code| KERNELS.map(|kernel| (code, kernel))) {
        let coder = (8..=12).find_map(|width| Coder::new(code, width)).unwrap().with_kernel(kernel);
        let mut whole = stripe(&coder, &mut stream, 1025);
        for chunk in 0..coder.data() {
            let (old, new) = (whole[chunk].clone(), random(&mut stream, 1025));
            let mut one_by_one = whole[coder.data()..].to_vec();
            for (number, parity) in one_by_one.iter_mut().enumerate() {
                add_change(parity, coder.coefficient(number, chunk), &old, &new);
            }
            coder.follow(chunk, &old, &new, &mut lent(&mut whole[coder.data()..]));
            whole[chunk] = new;
            let expected = parities(&coder, &whole[..coder.data()]);
            assert!(whole[coder.data()..] == expected, "{}: {chunk}, {kernel:?}", code.name());
            assert!(one_by_one == expected, "{}: {chunk}, one by one", code.name());
        }
    }
}

#[test]
fn copies_on_the_way_are_the_data() {
    let mut stream = stream();
    for code in CODES {
        for length in LENGTHS {
            let coder = (8..=12).find_map(|width| Coder::new(code, width)).unwrap();
            let data = chunks(&mut stream, coder.data(), length);
            let mut copies = vec![vec![0xa5; length]; coder.data()];
            let mut made = vec![vec![0xa5; length]; coder.parities()];
            coder.encode_and_copy(&shown(&data), &mut lent(&mut copies), &mut lent(&mut made));
            assert!(copies == data, "{}: {length}", code.name());
            assert!(made == parities(&coder, &data), "{}: {length}", code.name());
        }
    }
}

/// The library's code for six data chunks and five parities.
#[derive(Debug)]
struct OfLibrary;

static OF_LIBRARY: OfLibrary = OfLibrary;

impl Code for OfLibrary {
    fn name(&self) -> &'static str {
        "of-library"
    }

    fn tolerates(&self) -> usize {
        5
    }

    fn data(&self, width: usize) -> Option<usize> {
        (width == 11).then_some(6)
    }

    /// What it makes of a stripe with a single 1.
    fn coefficient(&self, parity: usize, data: usize, of: usize) -> u8 {
        let mut stripe = vec![[0u8]; of + 5];
        stripe[data] = [1];
        ReedSolomon::new(of, 5).unwrap().encode(&mut stripe).unwrap();
        stripe[of + parity][0]
    }
}

/// Sums by a matrix without any pattern, and elimination in it.
#[test]
fn any_matrix_does_what_the_library_does() {
    let library = ReedSolomon::new(6, 5).unwrap();
    let mut stream = stream();
    for kernel in KERNELS {
        let coder = coder(&OF_LIBRARY, 11, kernel);
        for length in LENGTHS.into_iter().skip(1) {
            let whole = stripe(&coder, &mut stream, length);
            assert!(library.verify(&whole).unwrap(), "{kernel:?}: {length}");
        }
        let whole = stripe(&coder, &mut stream, 141);
        for lost in losses(11, 5) {
            let mut theirs: Vec<Option<Vec<u8>>> =
                (0..).zip(&whole).map(|(number, chunk)| (!lost.contains(&number)).then(|| chunk.clone())).collect();
            library.reconstruct(&mut theirs).unwrap();
            let mut ours = whole.clone();
            lost.iter().for_each(|chunk| ours[*chunk].fill(0));
            coder.recovery(&lost).unwrap().fill(&mut lent(&mut ours));
            assert!((0..11).all(|chunk| theirs[chunk].as_ref() == Some(&ours[chunk])), "{kernel:?}: {lost:?}");
        }
    }
}

#[test]
fn chunks_may_begin_at_any_address() {
    let mut stream = stream();
    let source = random(&mut stream, 1000);
    for (to, from, length) in [(0, 1, 1), (3, 8, 128), (5, 5, 511), (33, 64, 700)] {
        for kernel in KERNELS {
            let before = random(&mut stream, 1000);
            let mut target = before.clone();
            kernel.add_scaled(&mut target[to..to + length], 7, &source[from..from + length]);
            for at in 0..1000 {
                let is_covered = (to..to + length).contains(&at);
                let added = if is_covered { mul(7, source[at - to + from]) } else { 0 };
                assert_eq!(target[at], before[at] ^ added, "{kernel:?}: {at}, {length} from {to} and {from}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "chunks are of one length")]
fn chunks_of_two_lengths_are_refused() {
    let mut target = [0; 3];
    add_scaled(&mut target, 2, &[0; 4]);
}
