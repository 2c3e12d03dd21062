//! What the operating system reports of memory and cores. Every figure may be unknown.

/// Most memory that this process has held, in bytes.
pub fn peak_memory() -> Option<u64> {
    kibibytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Memory that could be had now without swapping, in bytes.
pub fn available_memory() -> Option<u64> {
    kibibytes(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The value of a `Name:   123 kB` line.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_are_read() {
        let text = "Name: x\nVmHWM:\t  1234 kB\n";
        assert_eq!((kibibytes(text, "VmHWM:"), kibibytes(text, "VmRSS:")), (Some(1234 * 1024), None));
    }
}
