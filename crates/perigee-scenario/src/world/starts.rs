// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Start of a flow: its own key, else that of the run, where its scheme can have it.

use crate::file::error::{Problem, ScenarioError};
use crate::file::flow::FlowSpec;
use crate::file::scenario::Scenario;
use crate::file::tree::{values, Given};
use perigee_cc::{start_info, SchemeInfo};
use perigee_timeline::SlowStart;

/// The start of a flow under a scheme, which is `None` for a plug-in; `None` = that of the scheme.
///
/// # Errors
/// A start that the flow's own scheme cannot have, or parameters that contradict each other.
pub(super) fn of_flow(
    scenario: &Scenario,
    spec: &FlowSpec,
    scheme: Option<&SchemeInfo>,
) -> Result<Option<SlowStart>, ScenarioError> {
    let own = spec.slow_start.as_deref();
    let id = own.unwrap_or(&scenario.run.slow_start);
    let Some(info) = start_info(id).filter(|_| spec.app.is_tcp()) else { return Ok(None) };
    if !scheme.is_some_and(|s| info.suits(s)) {
        // A scheme that is only one of those compared keeps its own.
        if own.is_none() || spec.cc == "*" {
            return Ok(None);
        }
        return Err(unsuitable(spec, id, scheme).into());
    }
    let mut params = values(scenario.slow_start.get(id));
    if own.is_some() {
        params.extend(values(Some(&spec.slow_start_params)));
    }
    let given = scenario.slow_start.get(id).filter(|_| spec.slow_start_params.is_empty());
    info.params(params.clone()).map_err(|why| ScenarioError::from(contradictory(spec, id, given, why)))?;
    Ok(Some(SlowStart { id: id.into(), params }))
}

/// Parameters of a start that contradict each other, at the table that has them.
fn contradictory(spec: &FlowSpec, id: &str, given: Option<&Given>, why: String) -> Problem {
    match given.and_then(|g| g.values().next()) {
        Some((_, place)) => Problem::new(format!("slow_start.{id}"), why).at(place),
        None => Problem::new("flow.slow_start_params", why).at(&spec.place).found(format!("{id:?}")),
    }
}

fn unsuitable(spec: &FlowSpec, id: &str, scheme: Option<&SchemeInfo>) -> Problem {
    let why = format!("{} has its own slow start, which cannot be replaced by {id:?}", spec.cc);
    let allowed: Vec<_> =
        std::iter::once("own").chain(scheme.map(SchemeInfo::starts).unwrap_or_default()).collect();
    let p = Problem::new("flow.slow_start", why).at(&spec.place).found(format!("{id:?}"));
    p.allowed(allowed.join(", "))
}
