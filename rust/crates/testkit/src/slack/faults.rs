//! Selects the deliberate fault of each call and each connection. A fault for calls with a certain
//! argument comes first, then the scripted faults in their order, then the random mixes. The same
//! seed and the same order of calls give the same faults.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The moment of a fault: before Slack executes the call, or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultMoment {
    Before,
    After,
}

/// A deliberate fault of one call or one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlackFault {
    /// No fault: lets one call of a script pass.
    Pass,
    /// Resets the next new connection before a byte is read. It applies to connections, whatever
    /// the method.
    Refuse,
    Reset(FaultMoment),
    /// No response until the client's timeout.
    Hang(FaultMoment),
    /// The response of a proxy or a failing server: this status and a body that is no JSON.
    Status(FaultMoment, u16),
    /// Delayed, but in order.
    Delay(FaultMoment, Duration),
    /// `ok: false` with this error.
    Error(FaultMoment, String),
    /// 429 with this `Retry-After`, in seconds. The call was not executed.
    RateLimited(u64),
    /// Executed, but the connection ends in the middle of the response's body.
    CutBody,
    /// Executed, with a whole HTTP response whose JSON is cut.
    BrokenJson,
    /// An HTML page with status 200, like from a captive portal. The call was not executed.
    Html,
}

/// A mix of random faults. With the remaining probability a call passes.
#[derive(Clone, Debug)]
pub struct FaultMix {
    seed: u64,
    faults: Vec<(f64, SlackFault)>,
}

impl FaultMix {
    /// Creates a mix without faults.
    pub fn seeded(seed: u64) -> FaultMix {
        FaultMix { seed, faults: Vec::new() }
    }

    /// Adds a fault. `probability` applies to one call, or for [`SlackFault::Refuse`] to one
    /// connection.
    #[track_caller]
    pub fn with(mut self, probability: f64, fault: SlackFault) -> FaultMix {
        self.faults.push((probability, fault));
        let of_calls = self.faults.iter().filter(|(_, fault)| *fault != SlackFault::Refuse);
        let sum: f64 = of_calls.map(|(probability, _)| probability).sum();
        assert!((0.0..=1.0 + 1e-9).contains(&sum), "the probabilities of a call add up to {sum}");
        self
    }
}

/// All future faults.
#[derive(Default)]
pub(super) struct FaultPlan {
    refusals: u32,
    any_method: VecDeque<SlackFault>,
    by_method: BTreeMap<String, VecDeque<SlackFault>>,
    mixes: Vec<RunningMix>,
    by_argument: Vec<ByArgument>,
}

struct ByArgument {
    method: String,
    argument: String,
    value: String,
    fault: SlackFault,
}

struct RunningMix {
    /// The method, or `None` for every method.
    method: Option<String>,
    faults: Vec<(f64, SlackFault)>,
    // Connections have a separate random sequence: a client's pooling must not change the faults of
    // its calls.
    calls: FaultRng,
    connections: FaultRng,
}

impl FaultPlan {
    /// Queues faults for one method, or for all with `*`.
    pub(super) fn push(&mut self, method: &str, faults: impl IntoIterator<Item = SlackFault>) {
        for fault in faults {
            match fault {
                SlackFault::Refuse => self.refusals += 1,
                _ if method == "*" => self.any_method.push_back(fault),
                _ => self.by_method.entry(method.to_owned()).or_default().push_back(fault),
            }
        }
    }

    /// Adds a fault for every call with this value of an argument.
    pub(super) fn push_where(
        &mut self,
        method: &str,
        argument: &str,
        value: &str,
        fault: SlackFault,
    ) {
        let [method, argument, value] = [method, argument, value].map(str::to_owned);
        self.by_argument.push(ByArgument { method, argument, value, fault });
    }

    /// Returns the fault of every call with such arguments, else the next fault of its method.
    pub(super) fn next_of(&mut self, method: &str, has: impl Fn(&str, &str) -> bool) -> SlackFault {
        let is_it =
            |it: &&ByArgument| it.method == method && has(it.argument.as_str(), it.value.as_str());
        let constant = self.by_argument.iter().find(is_it).map(|it| it.fault.clone());
        constant.unwrap_or_else(|| self.next(method))
    }

    /// Adds random faults for one method, or for all with `*`.
    pub(super) fn mix(&mut self, method: &str, mix: FaultMix) {
        self.mixes.push(RunningMix {
            method: (method != "*").then(|| method.to_owned()),
            faults: mix.faults,
            calls: FaultRng(mix.seed),
            connections: FaultRng(!mix.seed),
        });
    }

    pub(super) fn clear(&mut self) {
        *self = FaultPlan::default();
    }

    /// Returns whether the next new connection must be reset. A queued refusal is used up.
    pub(super) fn refuses_connection(&mut self) -> bool {
        if self.refusals > 0 {
            self.refusals -= 1;
            return true;
        }
        self.mixes.iter_mut().any(|mix| {
            let is_refusal = |(_, fault): &&(f64, SlackFault)| *fault == SlackFault::Refuse;
            let probability: f64 =
                mix.faults.iter().filter(is_refusal).map(|(probability, _)| probability).sum();
            probability > 0.0 && mix.connections.next_fraction() < probability
        })
    }

    fn next(&mut self, method: &str) -> SlackFault {
        let scripted = self.by_method.get_mut(method).and_then(VecDeque::pop_front);
        if let Some(fault) = scripted.or_else(|| self.any_method.pop_front()) {
            return fault;
        }
        for mix in &mut self.mixes {
            if mix.method.as_deref().is_none_or(|only| only == method) {
                let fault = mix.draw();
                if fault != SlackFault::Pass {
                    return fault;
                }
            }
        }
        SlackFault::Pass
    }
}

impl RunningMix {
    fn draw(&mut self) -> SlackFault {
        let mut left = self.calls.next_fraction();
        for (probability, fault) in &self.faults {
            if *fault == SlackFault::Refuse {
                continue;
            }
            if left < *probability {
                return fault.clone();
            }
            left -= probability;
        }
        SlackFault::Pass
    }
}

/// SplitMix64: a small generator without a dependency, whose numbers must only differ and repeat.
#[derive(Default)]
pub(super) struct FaultRng(u64);

impl FaultRng {
    /// Returns a number from 0 to below 1.
    pub(super) fn next_fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a UUID in the form of Slack's envelopes.
    pub(super) fn next_uuid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_methods_own_queue_comes_before_that_of_all_methods() {
        let mut plan = FaultPlan::default();
        plan.push("*", [SlackFault::Html]);
        plan.push("a", [SlackFault::Pass, SlackFault::CutBody]);
        let faults = ["a", "a", "b", "a"].map(|method| plan.next(method));
        assert_eq!(
            faults,
            [SlackFault::Pass, SlackFault::CutBody, SlackFault::Html, SlackFault::Pass]
        );
    }

    #[test]
    fn a_seed_repeats_its_faults_at_about_their_probabilities() {
        let draw = |seed| {
            let mut plan = FaultPlan::default();
            let mix =
                FaultMix::seeded(seed).with(0.2, SlackFault::Html).with(0.1, SlackFault::CutBody);
            plan.mix("a", mix.with(0.5, SlackFault::Refuse));
            assert_eq!(plan.next("b"), SlackFault::Pass);
            let refused = (0..1000).filter(|_| plan.refuses_connection()).count();
            assert!((400..600).contains(&refused), "{refused}");
            (0..1000).map(|_| plan.next("a")).collect::<Vec<_>>()
        };
        let faults = draw(7);
        assert_eq!(faults, draw(7));
        assert_ne!(faults, draw(8));
        let count = |fault| faults.iter().filter(|drawn| **drawn == fault).count();
        assert!((150..250).contains(&count(SlackFault::Html)));
        assert!((60..140).contains(&count(SlackFault::CutBody)));
    }
}
