// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Placement of round-trip times: computes the delay of each link from the RTT of each flow.

use super::{FlowPath, Hop, Placement, TopologyError};
use perigee_timeline::LinkId;
use perigee_units::Nanos;

/// Rules for the conversion of round-trip times to link delays.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DelayPlan {
    pub placement: Placement,
    pub bottleneck_delay: Nanos,
    /// Nominal round-trip times at time zero: one for all flows, or one per flow.
    pub rtts: Vec<Nanos>,
    /// Factor of each flow's nominal round-trip time; empty = 1.
    pub factors: Vec<f64>,
    /// Further paths of flows, with the same delays: the flow, and the hops of its data and its
    /// ACKs.
    pub others: Vec<(usize, [Vec<Hop>; 2])>,
    /// Delays that links have in addition.
    pub added: Vec<(LinkId, Nanos)>,
}

impl DelayPlan {
    pub fn new(placement: Placement, bottleneck_delay: Nanos, rtts: &[Nanos]) -> Self {
        DelayPlan {
            placement,
            bottleneck_delay,
            rtts: rtts.to_vec(),
            factors: Vec::new(),
            others: Vec::new(),
            added: Vec::new(),
        }
    }

    /// Delay of every link for these nominal round-trip times: one for all flows, or one per flow.
    ///
    /// # Errors
    /// If the number of values is wrong, or one is shorter than the fixed delays.
    pub fn delays(
        &self,
        flows: &[FlowPath],
        links: usize,
        rtts: &[Nanos],
    ) -> Result<Vec<Nanos>, TopologyError> {
        let mut rtts = match rtts {
            [one] => vec![*one; flows.len()],
            many if many.len() == flows.len() => many.to_vec(),
            many => {
                let text = format!(
                    "{} round-trip times for {} flows: give one, or one each",
                    many.len(),
                    flows.len()
                );
                return Err(TopologyError(text));
            }
        };
        for (rtt, factor) in rtts.iter_mut().zip(&self.factors) {
            *rtt = Nanos((rtt.0 as f64 * factor).round() as u64);
        }
        let smallest = rtts.iter().copied().min().unwrap_or(Nanos::ZERO);
        let mut delays = vec![Nanos::ZERO; links];
        for (flow, &rtt) in flows.iter().zip(&rtts) {
            self.place(&mut delays, &flow.hops, rtt, smallest)?;
        }
        for (flow, hops) in &self.others {
            self.place(&mut delays, hops, rtts[*flow], smallest)?;
        }
        for (link, delay) in &self.added {
            delays[link.ix()] += *delay;
        }
        Ok(delays)
    }

    fn place(
        &self,
        delays: &mut [Nanos],
        hops: &[Vec<Hop>; 2],
        rtt: Nanos,
        smallest: Nanos,
    ) -> Result<(), TopologyError> {
        let [data, acks] = hops;
        let inner = |way: &[Hop]| way[1..way.len() - 1].to_vec();
        let ends = [data, acks].map(|way| vec![way[0], way[way.len() - 1]]);
        match self.placement {
            Placement::Even => spread(delays, hops, rtt),
            Placement::Forward => delays[data[0].link.ix()] = rtt,
            Placement::AckPath => {
                delays[data[1].link.ix()] = smallest / 2;
                delays[acks[acks.len() - 1].link.ix()] = rtt - smallest / 2;
            }
            Placement::Bottleneck => {
                spread(delays, &[inner(data), inner(acks)], smallest);
                spread(delays, &ends, rtt - smallest);
            }
            Placement::Access => {
                let shared: Vec<Hop> = [inner(data), inner(acks)].concat();
                let fixed = self.bottleneck_delay * shared.len() as u64;
                if fixed > rtt {
                    return Err(TopologyError(format!(
                        "a round-trip time of {rtt} is shorter than the {fixed} of its bottlenecks"
                    )));
                }
                for hop in shared {
                    delays[hop.link.ix()] = self.bottleneck_delay;
                }
                spread(delays, &ends, rtt - fixed);
            }
        }
        Ok(())
    }
}

/// Spreads half of `rtt` over the hops of each direction; the remainder of the division goes to the
/// first hops, so that the sum is exact.
fn spread(delays: &mut [Nanos], hops: &[Vec<Hop>; 2], rtt: Nanos) {
    for (way, half) in [rtt / 2, rtt - rtt / 2].into_iter().enumerate() {
        let n = hops[way].len() as u64;
        for (i, hop) in hops[way].iter().enumerate() {
            delays[hop.link.ix()] = Nanos(half.0 / n + u64::from((i as u64) < half.0 % n));
        }
    }
}
