//! Detects the second report of an event that two registrations report.
//!
//! With both the plugin and settings.json installed, Claude runs both hooks for every event, in
//! parallel, with byte-identical input. Each call stores (payload hash, origin) here. A payload
//! that is already stored with the *other* origin is the same event, and the stored entry is
//! removed. The same payload twice from one origin is two events.

use std::collections::VecDeque;

/// The limit of stored entries. Twins arrive within some 30 ms, so 64 is far more than are open.
pub const RING: usize = 64;

/// The entry of one hook call for an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenEvent {
    pub payload: u64,
    pub origin: String,
}

/// The stored entries, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SeenEvents(VecDeque<SeenEvent>);

/// Whether an event is reported for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// This call processes the event.
    First,
    /// The other registration processes the event, or has processed it.
    Duplicate,
}

impl SeenEvents {
    /// Returns `First` and stores the call's entry, or returns `Duplicate` and removes the entry of
    /// the other registration for the same event.
    pub fn note(&mut self, claim: SeenEvent) -> Occurrence {
        let twin = self
            .0
            .iter()
            .position(|other| other.payload == claim.payload && other.origin != claim.origin);
        if let Some(position) = twin {
            self.0.remove(position);
            return Occurrence::Duplicate;
        }
        while self.0.len() >= RING {
            self.0.pop_front();
        }
        self.0.push_back(claim);
        Occurrence::First
    }

    /// Returns whether this call's entry is stored, and no twin has come since.
    pub fn holds(&self, claim: &SeenEvent) -> bool {
        self.0.contains(claim)
    }

    /// Removes a claim, so that its event is processed again.
    pub fn withdraw(&mut self, claim: &SeenEvent) {
        if let Some(position) = self.0.iter().rposition(|other| other == claim) {
            self.0.remove(position);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &SeenEvent> {
        self.0.iter()
    }
}

impl FromIterator<SeenEvent> for SeenEvents {
    fn from_iter<I: IntoIterator<Item = SeenEvent>>(claims: I) -> SeenEvents {
        SeenEvents(claims.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(calls: &[(u64, &str)]) -> Vec<Occurrence> {
        let mut claims = SeenEvents::default();
        let claim = |(payload, origin): &(u64, &str)| {
            claims.note(SeenEvent { payload: *payload, origin: (*origin).to_owned() })
        };
        calls.iter().map(claim).collect()
    }

    #[test]
    fn the_second_registration_of_an_event_does_nothing_in_either_order_x7() {
        use Occurrence::{Duplicate, First};
        assert_eq!(run(&[(1, "plugin"), (1, "settings")]), [First, Duplicate]);
        assert_eq!(run(&[(1, "settings"), (1, "plugin")]), [First, Duplicate]);
        assert_eq!(
            run(&[(1, "plugin"), (2, "settings"), (2, "plugin"), (1, "settings")]),
            [First, First, Duplicate, Duplicate]
        );
    }

    #[test]
    fn equal_payloads_of_one_origin_are_different_events() {
        use Occurrence::{Duplicate, First};
        assert_eq!(
            run(&[(1, "plugin"), (1, "plugin"), (1, "settings"), (1, "settings"), (1, "settings")]),
            [First, First, Duplicate, Duplicate, First]
        );
    }

    #[test]
    fn a_claim_that_is_taken_back_makes_no_twin_and_the_others_stay() {
        let claim = |payload, origin: &str| SeenEvent { payload, origin: origin.into() };
        let mut claims: SeenEvents = [claim(1, "plugin"), claim(2, "plugin")].into_iter().collect();
        claims.withdraw(&claim(1, "settings"));
        assert!(claims.holds(&claim(1, "plugin")), "another's claim");
        claims.withdraw(&claim(1, "plugin"));
        assert!(!claims.holds(&claim(1, "plugin")));
        assert!(claims.holds(&claim(2, "plugin")));
        assert_eq!(claims.note(claim(1, "settings")), Occurrence::First, "it is processed again");
        assert_eq!(claims.note(claim(2, "settings")), Occurrence::Duplicate);
    }

    #[test]
    fn the_ring_forgets_the_oldest() {
        let mut claims = SeenEvents::default();
        for payload in 0..=RING as u64 {
            claims.note(SeenEvent { payload, origin: "plugin".into() });
        }
        assert_eq!(claims.iter().count(), RING);
        let other = |payload| SeenEvent { payload, origin: "settings".into() };
        assert_eq!(claims.note(other(1)), Occurrence::Duplicate);
        assert_eq!(claims.note(other(0)), Occurrence::First);
    }
}
