//! Files of numbers without words. Any few columns of numbers look like requests, so a format asks here for all that its files are, and
//! files that people take for traces are known by what they are.

use std::collections::BTreeSet;

use super::Format;
use super::text::Words;

/// Most lines whose columns are looked at.
const ROWS_MAX: usize = 2000;

/// Fewest lines that show how the values of a column are distributed.
const ROWS_MIN: usize = 4;

/// Most sectors of a request in a trace of numbers alone, 32 MiB, nine times in ten.
const SECTORS_MAX: f64 = 65_536.0;

/// Addresses of a trace of numbers alone lie below this sector, 4 PiB.
const SECTORS_END: f64 = (1u64 << 43) as f64;

/// Seconds since 1970, of the years 2000 to 2100.
const UNIX_SECONDS: std::ops::Range<f64> = 946_684_800.0..4_102_444_800.0;

/// Number of a device above which it is rather a figure, if nearly each line has another.
const DEVICE_MAX: f64 = 255.0;

/// What stands between the cells of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    Blanks,
    /// A comma without a blank.
    Comma,
    Other,
}

/// The columns of a file whose lines are numbers alone, but for lines above the first number.
pub(super) struct Columns {
    gap: Gap,
    width: usize,
    rows: Vec<Vec<f64>>,
    /// The first line, in lower case, if it is no line of numbers.
    header: Option<String>,
}

impl Columns {
    /// The columns of the first lines; `None` if they are not numbers alone, or too few of one width are.
    pub(super) fn of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut lines = lines.take(ROWS_MAX).map(<[u8]>::trim_ascii).peekable();
        let is_data = |line: &&[u8]| line[0].is_ascii_digit() || line[0] == b'-';
        let header =
            lines.next_if(|line| !is_data(line)).map(|line| String::from_utf8_lossy(line).to_ascii_lowercase());
        let lines: Vec<&[u8]> = lines.skip_while(|line| !is_data(line)).collect();
        let gap = match lines.first()? {
            line if line.contains(&b',') && !line.contains(&b' ') => Gap::Comma,
            line if line.iter().any(|byte| matches!(byte, b',' | b';' | b'|')) => Gap::Other,
            _ => Gap::Blanks,
        };
        let rows: Vec<Vec<f64>> = lines.iter().filter_map(|line| numbers(line)).collect();
        let width = rows.first()?.len();
        let (all, rows) = (lines.len(), rows.into_iter().filter(|row| row.len() == width).collect::<Vec<_>>());
        (rows.len() * 10 >= all * 9).then_some(Self { gap, width, rows, header })
    }

    fn column(&self, index: usize) -> impl Iterator<Item = f64> {
        self.rows.iter().map(move |row| row[index])
    }

    fn all(&self, index: usize, is_right: impl Fn(f64) -> bool) -> bool {
        self.column(index).all(is_right)
    }

    fn mostly(&self, index: usize, is_right: impl Fn(f64) -> bool) -> bool {
        self.column(index).filter(|value| is_right(*value)).count() * 10 >= self.rows.len() * 9
    }

    fn distinct(&self, index: usize) -> usize {
        self.column(index).map(f64::to_bits).collect::<BTreeSet<_>>().len()
    }

    /// Whether the values go back seldom.
    fn rises(&self, index: usize) -> bool {
        let backward = self.rows.windows(2).filter(|pair| pair[1][index] < pair[0][index]).count();
        backward <= 1 + self.rows.len() / 10
    }

    /// Whether columns can be first sectors and numbers of sectors.
    fn extents(&self, first: usize, count: usize) -> bool {
        self.mostly(first, |sector| (0.0..SECTORS_END).contains(&sector))
            && self.mostly(count, |sectors| (1.0..=SECTORS_MAX).contains(&sectors))
    }

    /// Whether a column can be numbers of devices, beside one of addresses: each device has several addresses.
    fn devices(&self, devices: usize, addresses: usize) -> bool {
        let rows = self.rows.len();
        let count = self.distinct(devices);
        rows < ROWS_MIN
            || (count <= self.distinct(addresses)
                && (count * 2 <= rows || self.all(devices, |device| device <= DEVICE_MAX)))
    }

    /// Whether the columns are all that a format of numbers alone asks for. Other formats ask for words.
    pub(super) fn could_be(&self, format: Format) -> bool {
        match format {
            Format::Mqsim | Format::Ssdsim | Format::Disksim => {
                self.width == 5 && self.rises(0) && self.extents(2, 3) && self.devices(1, 2)
            }
            Format::Tencent => {
                let is_named = |header: &String| {
                    ["offset", "sector", "lba", "address", "block"].iter().any(|name| header.contains(name))
                };
                self.gap == Gap::Comma
                    && self.width == 5
                    && self.header.as_ref().is_none_or(is_named)
                    && self.mostly(0, |seconds| UNIX_SECONDS.contains(&seconds))
                    && self.rises(0)
                    && self.extents(1, 2)
                    && (self.mostly(2, |sectors| sectors % 8.0 == 0.0) || !self.is_regular())
            }
            Format::CloudphysicsCsv => self.gap == Gap::Comma && self.width == 5 && self.rises(1),
            Format::Lis => {
                let counts = || self.rows.windows(2).all(|pair| pair[1][3] > pair[0][3]);
                let is_table = || self.groups().is_some() && self.distinct(1) > 1;
                self.width == 4
                    && self.mostly(2, |ignored| ignored == 0.0)
                    && (counts() || self.mostly(3, |number| number == 0.0))
                    && self.extents(0, 1)
                    && !is_table()
            }
            _ => true,
        }
    }

    /// Whether all that the format takes for sectors are multiples of 512, as bytes are.
    pub(super) fn is_in_bytes(&self, format: Format) -> bool {
        let first = if format == Format::Tencent { 1 } else { 2 };
        let is_multiple = |index: usize| index < self.width && self.all(index, |value| value % 512.0 == 0.0);
        self.rows.len() > 1 && is_multiple(first) && is_multiple(first + 1) && self.distinct(first) > 1
    }

    /// The lines of each time, if all times but the last are as far apart.
    fn groups(&self) -> Option<Vec<&[Vec<f64>]>> {
        let groups: Vec<&[Vec<f64>]> = self.rows.chunk_by(|one, other| one[0] == other[0]).collect();
        let steps: Vec<f64> = groups.windows(2).map(|pair| pair[1][0][0] - pair[0][0][0]).collect();
        let step = *steps.first()?;
        let is_even = |found: &f64| step > 0.0 && (found - step).abs() <= 0.02 * step;
        // The last group may be cut off.
        (groups.len() > ROWS_MIN && steps.iter().all(is_even)).then(|| groups[..groups.len() - 1].to_vec())
    }

    /// Whether each time, at even steps, has as many lines, and no two of them with the same last two cells: what is measured in
    /// turns, not what arrives.
    fn is_regular(&self) -> bool {
        self.groups().is_some_and(|groups| {
            groups.iter().all(|group| {
                let ends: BTreeSet<[u64; 2]> =
                    group.iter().map(|row| [row[self.width - 2], row[self.width - 1]].map(f64::to_bits)).collect();
                group.len() == groups[0].len() && ends.len() == group.len()
            })
        })
    }

    /// Whether each time, at even steps, has the same few numbers of directions in one order.
    fn is_by_direction(&self) -> bool {
        let Some(groups) = self.groups() else { return false };
        let directions =
            |column: usize| groups.iter().map(move |group| group.iter().map(|row| row[column]).collect::<Vec<_>>());
        groups[0].len() > 1
            && (1..self.width).any(|column| {
                let first: Vec<f64> = groups[0].iter().map(|row| row[column]).collect();
                let is_direction = |value: &f64| [0.0, 1.0, 2.0].contains(value);
                first.iter().all(is_direction)
                    && first.windows(2).any(|pair| pair[0] != pair[1])
                    && directions(column).all(|group| group == first)
            })
    }

    /// Whether it is a log of fio: milliseconds, one value or two, the direction, the size of a request and its offset, both 0 for
    /// averages, and what newer versions have after it.
    fn is_fio_log(&self) -> bool {
        let is_whole = |value: f64| value.fract() == 0.0 && value >= 0.0;
        let fits = |values: usize| {
            let (direction, size, offset) = (1 + values, 2 + values, 3 + values);
            (3 + values..=8 + values).contains(&self.width)
                // Two values come with all columns that there are.
                && self.width >= 3 * values
                && (self.width > 4 || self.gap != Gap::Blanks)
                && self.all(0, is_whole)
                && self.all(direction, |value| [0.0, 1.0, 2.0].contains(&value))
                && (self.all(size, |bytes| bytes >= 512.0 && bytes % 512.0 == 0.0)
                    || (self.all(size, |bytes| bytes == 0.0) && (offset >= self.width || self.all(offset, |bytes| bytes == 0.0))))
        };
        self.rises(0) && (fits(1) || fits(2))
    }

    /// What the file is, if that is as good as certain, as the end of a sentence.
    pub(super) fn certainly(&self) -> Option<&'static str> {
        match () {
            () if self.width > 50 && self.all(1, |value| [0.0, 1.0, 2.0].contains(&value)) => Some(
                "it is a log of fio's histograms (write_hist_log), which holds no requests; the requests are in write_iolog",
            ),
            () if self.is_fio_log() => Some(
                "it is a log of fio's figures over time (write_bw_log, write_iops_log or write_lat_log: milliseconds, value, direction, size), \
                 which is no list of requests; the requests are in write_iolog",
            ),
            () if self.is_by_direction() => Some(
                "its lines are figures for each direction at even steps of time, which hold no requests; what records requests is, for \
                 example, blktrace, or fio's write_iolog",
            ),
            () => None,
        }
    }

    /// What the file may be if it fits no format.
    pub(super) fn perhaps(&self) -> Option<&'static str> {
        let rises = self.rows.windows(2).all(|pair| pair[1][0] >= pair[0][0]);
        match () {
            () if self.width >= 3 && rises && self.all(2, |bytes| bytes > 0.0) => Some(
                "it may be the trace of a cache (time, object, bytes), which has neither addresses nor directions; of such traces \
                 oracle-general is read, into which libCacheSim's traceConv converts others",
            ),
            () if self.groups().is_some() => Some(
                "its first column rises in even steps, as that of a table of figures over time, which holds no requests",
            ),
            () => None,
        }
    }
}

/// The cells of a line; `None` if one is no number.
fn numbers(line: &[u8]) -> Option<Vec<f64>> {
    let cells = line.split(|byte| matches!(byte, b',' | b';' | b'|'));
    let words = cells.flat_map(Words);
    words.map(number).collect::<Option<Vec<f64>>>().filter(|cells| !cells.is_empty())
}

/// A number in decimal, or in hexadecimal if it has a digit.
fn number(cell: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(cell).ok().filter(|text| text.bytes().any(|byte| byte.is_ascii_digit()))?;
    let hexadecimal =
        || u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok().map(|value| value as f64);
    text.parse::<f64>().ok().filter(|value| value.is_finite()).or_else(hexadecimal)
}
