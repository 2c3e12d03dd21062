//! The bench, small: it runs, and its results are what they were.

#[path = "../benches/errors.rs"]
mod errors;

#[test]
fn the_bench_draws_what_it_always_drew() {
    assert_eq!(errors::small(), GOLDEN);
}

const GOLDEN: [u64; 11] = [
    370742923457846827,
    9811316799387900384,
    10152500383878331932,
    2553509957469274612,
    5095974922900979428,
    17337611941572284358,
    13598247418211192906,
    12993045677804279729,
    10199224091011379683,
    4965933460519760422,
    6956262139483363328,
];
