//! A mixture: each request comes from one of several sources, drawn at random.

use wane_archive::{Archive, ArchiveError};
use wane_sim::Stream;

use crate::source::SHARE_MIN;
use crate::{Batch, Drawn, Source, SourceError};

/// Sources with their shares of the requests. The mixture ends when the drawn source ends.
pub struct Mix {
    parts: Vec<(f64, Box<dyn Source>)>,
    stream: Stream,
    /// The part whose request is not finished.
    current: Option<usize>,
}

impl Mix {
    /// Makes a mixture of parts whose shares add up to 1.
    ///
    /// # Panics
    /// There is no part.
    pub fn new(parts: Vec<(f64, Box<dyn Source>)>, stream: Stream) -> Self {
        assert!(!parts.is_empty(), "a mixture has parts");
        let sum: f64 = parts.iter().map(|(share, _)| share).sum();
        debug_assert!((sum - 1.0).abs() < 1e-6, "the shares add up to 1, or the last part would take the rest: {sum}");
        Self { parts, stream, current: None }
    }

    fn draw(&mut self) -> usize {
        let mut left = self.stream.unit();
        for (number, (share, _)) in self.parts.iter().enumerate() {
            left -= share;
            if left < 0.0 {
                return number;
            }
        }
        self.parts.len() - 1
    }
}

impl Source for Mix {
    fn next(&mut self, batch: &mut Batch, pages_max: usize, requests_max: u64) -> Result<Drawn, SourceError> {
        let number = self.current.take().unwrap_or_else(|| self.draw());
        let progress = self.parts[number].1.next(batch, pages_max, requests_max.min(1))?;
        if batch.requests == 0 && progress == Drawn::More {
            self.current = Some(number);
        }
        Ok(progress)
    }

    fn never_writes(&self) -> bool {
        self.parts.iter().all(|(share, part)| *share <= SHARE_MIN || part.never_writes())
    }

    fn notes(&self) -> Vec<String> {
        self.parts.iter().flat_map(|(_, part)| part.notes()).collect()
    }

    fn try_clone(&self) -> Result<Box<dyn Source>, SourceError> {
        let part = |(share, part): &(f64, Box<dyn Source>)| Ok((*share, part.try_clone()?));
        let parts = self.parts.iter().map(part).collect::<Result<_, SourceError>>()?;
        Ok(Box::new(Self { parts, stream: self.stream.clone(), current: self.current }))
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("mix.parts", &(self.parts.len() as u32))?;
        archive.field("mix.stream", &mut self.stream)?;
        archive.field("mix.current", &mut self.current)?;
        self.parts.iter_mut().try_for_each(|(_, part)| part.archive(archive))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{PatternConfig, PatternSource, Shape};
    use wane_sim::Streams;

    #[test]
    fn each_part_gets_its_share_of_whole_requests() {
        let streams = Streams::new(1);
        let part = |footprint_pages, request_pages, name| -> Box<dyn Source> {
            let config = PatternConfig {
                shape: Shape::Uniform,
                footprint_pages,
                request_pages,
                read_share: 0.0,
                trim_share: 0.0,
            };
            Box::new(PatternSource::new(config, streams.stream(name)))
        };
        let mut mix = Mix::new(vec![(0.7, part(10, 1, "a")), (0.3, part(100, 3, "b"))], streams.stream("mix"));
        let mut batch = Batch::default();
        let (mut single, mut pages, requests) = (0u32, 0usize, 20_000);
        for _ in 0..requests {
            mix.next(&mut batch, 64, 5).unwrap();
            assert_eq!(batch.requests, 1);
            single += u32::from(batch.pages.len() == 1);
            pages += batch.pages.len();
        }
        assert!(single.abs_diff(14_000) < 260, "{single}");
        assert_eq!(pages, single as usize + 3 * (requests - single) as usize);
    }
}
