//! Some thousand mutated inputs for each parser. The same for as long as one likes: `examples/fuzz_parsers`.

#[path = "../examples/fuzz_parsers/mutation.rs"]
mod mutation;
#[path = "../examples/fuzz_parsers/random.rs"]
mod random;
#[path = "../examples/fuzz_parsers/seeds.rs"]
mod seeds;
#[path = "../examples/fuzz_parsers/targets.rs"]
mod targets;

use history::Format;

const INPUTS: u64 = 3000;

#[test]
fn each_parser_takes_whatever_it_is_given() {
    for format in Format::ALL {
        for seed in 0..INPUTS {
            let input = targets::input(format, seed);
            let ran = std::panic::catch_unwind(|| targets::run(format, &input));
            assert!(ran.is_ok(), "{format}, seed {seed}");
        }
    }
}
