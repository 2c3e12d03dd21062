//! Numbers in blocks: little-endian, at fixed offsets.

/// Reads and writes numbers of these types.
macro_rules! numbers {
    ($($get:ident $put:ident $type:ty;)+) => { $(
        #[inline]
        pub(crate) fn $get(bytes: &[u8], at: usize) -> $type {
            let mut raw = [0; size_of::<$type>()];
            raw.copy_from_slice(&bytes[at..at + size_of::<$type>()]);
            <$type>::from_le_bytes(raw)
        }

        #[inline]
        pub(crate) fn $put(bytes: &mut [u8], at: usize, value: $type) {
            bytes[at..at + size_of::<$type>()].copy_from_slice(&value.to_le_bytes());
        }
    )+ };
}

numbers! {
    u16_at put_u16 u16;
    u32_at put_u32 u32;
    u64_at put_u64 u64;
    i64_at put_i64 i64;
}

/// Reads a stream of numbers, which may end too early.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// Whether nothing is left.
    pub(crate) const fn is_over(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|taken| u16_at(taken, 0))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|taken| u32_at(taken, 0))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take(8).map(|taken| u64_at(taken, 0))
    }
}

/// Writes a stream of numbers.
#[derive(Default)]
pub(crate) struct Writer(pub(crate) Vec<u8>);

impl Writer {
    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}
