//! Deletion of an object: more drives than may be lost note that it is deleted, so that a returning drive cannot bring it back.

use futures_util::future::join_all;
use wane_units::excerpt;

use super::Cluster;
use crate::share::{Header, Version, check_name};
use crate::wire::Which;
use crate::{ActorError, RingId, auth};

impl Cluster {
    /// Deletes an object. With K + 1 notes, any N of its drives include one that has a note.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), ActorError> {
        check_name(name)?;
        let survey = self.find_everywhere(name).await;
        let known = match survey.readable(name) {
            Ok(found) => found.header.clone(),
            // An object that can no longer be decoded can still be deleted.
            Err(error @ ActorError::Lost(_)) => survey.versions.values().next_back().ok_or(error)?.header.clone(),
            Err(error) => return Err(error),
        };
        let code = known.layout.code;
        let version = Version { generation: survey.last_generation() + 1, upload: auth::random()? };
        let placed = self.peers.ring().place(RingId::of_object(name), code.shares())?;
        let noting = (0..).zip(&placed).map(|(share, drive)| {
            let (object_sha256, share_sha256) = (String::new(), String::new());
            let header = Header { version, share, deleted: true, object_sha256, share_sha256, ..(*known).clone() };
            async move { self.peers.tell::<()>(*drive, "/v1/bury", &header).await }
        });
        let results = join_all(noting).await;
        let noted = results.iter().filter(|result| result.is_ok()).count();
        if noted <= usize::from(code.parity) {
            let why: Vec<String> = results.into_iter().filter_map(Result::err).map(|error| error.to_string()).collect();
            let why = why.join("; ");
            let (name, needed) = (excerpt(name), code.parity + 1);
            return Err(ActorError::Lost(format!(
                "object {name} may be there again: {noted} of its drives noted that it is deleted, and {needed} are needed; {why}"
            )));
        }
        self.forget(RingId::of_object(name), version, Which::Before, &self.present()).await;
        Ok(())
    }
}
