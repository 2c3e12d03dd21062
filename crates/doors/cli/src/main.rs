//! The `wane` command.

fn main() {
    std::process::exit(wane_cli::main(std::env::args_os()));
}
